package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/drain"
)

// explained lists the names that Explain takes.
func explained() []string {
	names := append([]string{"all", drain.Unreadable}, check.Names()...)
	for _, reason := range check.Reasons() {
		names = append(names, string(reason))
	}
	return names
}

// Explain writes what to do about a reason, which may be given as balancers are told it,
// "unhealthy: refused"; for the name of a check it does so for each of its reasons, and for "all"
// it lists the checks. It returns an error if there is neither a check nor a reason with that name.
func Explain(w io.Writer, name string) error {
	if _, told, is := strings.Cut(name, ": "); is {
		name, _, _ = strings.Cut(told, ":")
	}
	if name == "all" {
		for _, c := range check.All() {
			fmt.Fprintf(w, "%-10s %s\n", c.Name, c.Title)
		}
		return nil
	}
	if c, known := check.All().Lookup(name); known {
		fmt.Fprintf(w, "%s: %s; %s by default\n", c.Name, c.Title, c.Severity)
		for _, cause := range c.Reasons {
			writeHint(w, cause.Reason)
		}
		return nil
	}
	if name == drain.Unreadable {
		_, err := fmt.Fprintf(w, "%s: a file of a hold cannot be read, so it counts as maint: repair the file, or lift the "+
			"hold with pmcheck ready --hold HOLDER; pmcheck status shows both\n", name)
		return err
	}
	reason := check.Reason(name)
	if !slices.Contains(check.Reasons(), reason) {
		if near := config.Nearest(name, explained()); near != "" {
			return fmt.Errorf("unknown check or reason %q; did you mean %s?", name, near)
		}
		return fmt.Errorf("unknown check or reason %q; the checks are %s", name, strings.Join(check.Names(), ", "))
	}
	writeHint(w, reason)
	return nil
}

func writeHint(w io.Writer, r check.Reason) {
	fmt.Fprintf(w, "%s: %s\n", r, cmp.Or(r.Hint(), "the detail beside it says what is wrong"))
}
