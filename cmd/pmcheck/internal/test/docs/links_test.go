package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

const root = "../../../../.."

var (
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchors returns the fragments that GitHub makes of the headings of a document.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		name := dropped.ReplaceAllString(strings.ToLower(m[1]), "")
		found[strings.ReplaceAll(name, " ", "-")] = true
	}
	return found
}

func TestLinksLeadToFilesAndHeadings(t *testing.T) {
	for _, path := range files(t, ".md") {
		if filepath.Base(path) == "REFERENCE.md" { // Puppet Strings generates it, with anchors of its own
			continue
		}
		text := lab.Read(t, path)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if problem := follow(path, text, m[1]); problem != "" {
				t.Errorf("%s: link to %s: %s", path, m[1], problem)
			}
		}
	}
}

// follow returns what is wrong with a relative link in a document.
func follow(path, text, target string) string {
	file, fragment, _ := strings.Cut(target, "#")
	if file != "" {
		file = filepath.Join(filepath.Dir(path), file)
		info, err := os.Stat(file)
		if err != nil {
			return "no such file"
		}
		if info.IsDir() || fragment == "" {
			return ""
		}
		other, err := os.ReadFile(file)
		if err != nil {
			return err.Error()
		}
		text = string(other)
	}
	if fragment != "" && !anchors(text)[fragment] {
		return "no such heading"
	}
	return ""
}

func files(t *testing.T, extensions ...string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch name := filepath.Base(path); {
		case err != nil:
			return err
		case entry.IsDir() && (name == ".git" || name == "dist"):
			return fs.SkipDir
		case !entry.IsDir() && slices.Contains(extensions, filepath.Ext(path)):
			list = append(list, path)
		}
		return nil
	})
	lab.Must(t, err)
	return list
}
