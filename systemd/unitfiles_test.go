package systemd_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/go-systemd/v22/unit"
)

// options returns the values of each option of a unit file in this directory, by section and name.
// Lists of units have a value for each unit.
func options(t *testing.T, name string) map[string][]string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := unit.DeserializeOptions(f)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	values := map[string][]string{}
	for _, o := range list {
		key := o.Section + "." + o.Name
		if o.Section == "Unit" && o.Name != "Description" {
			values[key] = append(values[key], strings.Fields(o.Value)...)
		} else {
			values[key] = append(values[key], o.Value)
		}
	}
	return values
}

// A unit before Puppet Server's that waits for the daemon would have Puppet Server wait for it too.
func TestNothingBeforeTheServerWaitsForTheDaemon(t *testing.T) {
	names, err := filepath.Glob("*.service")
	if err != nil || len(names) == 0 {
		t.Fatalf("%v, %v", names, err)
	}
	for _, name := range names {
		unit := options(t, name)
		before := slices.ContainsFunc(unit["Unit.Before"], func(other string) bool {
			return other == "%i.service" || strings.HasSuffix(other, "puppetserver.service")
		})
		if before && slices.Contains(unit["Unit.After"], "pmcheck.service") {
			t.Errorf("%s is before the server and after pmcheck.service", name)
		}
	}
}

func TestAReloadIsGuarded(t *testing.T) {
	const server, drain, back = "%i.service", "pmcheck-guard-reload@.service", "pmcheck-guard-reloaded@.service"
	started := options(t, "pmcheck-guard@.service")["Unit.Wants"]
	for name, order := range map[string]string{drain: "Unit.Before", back: "Unit.After"} {
		unit := options(t, name)
		if !slices.Contains(unit["Unit.ReloadPropagatedFrom"], server) || !slices.Contains(unit[order], server) {
			t.Errorf("%s: not ordered around a reload of the server: %v", name, unit)
		}
		if of := strings.ReplaceAll(name, "@", "@%i"); !slices.Contains(started, of) {
			t.Errorf("the guard starts %v, not %s", started, of)
		}
		if !slices.Contains(unit["Unit.PartOf"], "pmcheck-guard@%i.service") {
			t.Errorf("%s does not stop with the guard: %v", name, unit)
		}
	}
	for name, want := range map[string]string{
		drain: "-/usr/bin/pmcheck guard reload %i",
		back:  "-/usr/bin/pmcheck guard reloaded %i",
	} {
		if got := options(t, name)["Service.ExecReload"]; !slices.Equal(got, []string{want}) {
			t.Errorf("%s runs %q, want %q, whose failure does not prevent the reload", name, got, want)
		}
	}
}
