package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
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

// documents returns the paths of all documents that are written by hand.
func documents(t *testing.T) []string {
	t.Helper()
	list := slices.DeleteFunc(files(t, ".md"), func(path string) bool {
		return filepath.Base(path) == "REFERENCE.md" // Puppet Strings generates it, with anchors of its own
	})
	if len(list) < 10 {
		t.Fatalf("only %d documents found", len(list))
	}
	return list
}

func TestLinksLeadToFilesAndHeadings(t *testing.T) {
	for _, path := range documents(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if problem := follow(path, string(text), m[1]); problem != "" {
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

// The README must stay short; details belong in packaging/doc.
func TestReadmeIsOnePage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n > 250 {
		t.Errorf("README.md has %d lines, want 250 at most", n)
	}
}
