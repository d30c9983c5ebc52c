package docs_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/check"
)

// commands are the commands of Puppet that documents name, with their actions: puppet ssl has
// these in Puppet 7 and 8, and puppetserver ca in puppetserver-ca 2.
var commands = map[string][]string{
	"puppet ssl": {"bootstrap", "clean", "download_cert", "generate_request", "show", "submit_request", "verify"},
	"puppetserver ca": {"clean", "delete", "enable", "generate", "import", "list", "migrate", "prune", "revoke", "setup",
		"sign"},
}

var command = regexp.MustCompile(`\b(puppet ssl|puppetserver ca) ([a-z_]+)`)

// unknown returns the commands in the text that Puppet does not have, and how many it names.
func unknown(text string) (bad []string, named int) {
	text = strings.Join(strings.Fields(text), " ") // a line may end in a command
	for _, m := range command.FindAllStringSubmatch(text, -1) {
		named++
		if !slices.Contains(commands[m[1]], m[2]) {
			bad = append(bad, m[1]+" "+m[2])
		}
	}
	return bad, named
}

// texts returns every text that tells an operator what to type, by where it is found.
func texts(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, c := range check.All() {
		for _, cause := range c.Reasons {
			all["reason "+string(cause.Reason)] = cause.Hint
		}
	}
	for _, path := range files(t, ".md", ".5", ".8", ".pp", ".yaml", ".libsonnet") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[path] = string(text)
	}
	return all
}

func TestCommandsOfPuppetExist(t *testing.T) {
	all, total := texts(t), 0
	for _, where := range slices.Sorted(maps.Keys(all)) {
		bad, named := unknown(all[where])
		total += named
		for _, b := range bad {
			t.Errorf("%s names %q, which Puppet does not have", where, b)
		}
	}
	if total < 10 {
		t.Errorf("%d commands found, want 10 at least", total)
	}
}

func TestUnknownCommandsAreFound(t *testing.T) {
	const text = "puppet ssl clean, then `puppetserver\nca  clean`; puppet ssl renew and puppetserver ca renew"
	bad, named := unknown(text)
	if want := []string{"puppet ssl renew", "puppetserver ca renew"}; !slices.Equal(bad, want) || named != 4 {
		t.Errorf("%q of %d, want %q of 4", bad, named, want)
	}
}

// files returns the paths of the repository's files with one of the extensions.
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
	if err != nil {
		t.Fatal(err)
	}
	return list
}
