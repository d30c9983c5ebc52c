package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestCommandsOfPuppetExist compares them with those of Puppet 7 and 8, and of puppetserver-ca 2.
func TestCommandsOfPuppetExist(t *testing.T) {
	actions := map[string][]string{
		"puppet ssl": {"bootstrap", "clean", "download_cert", "generate_request", "show", "submit_request", "verify"},
		"puppetserver ca": {"clean", "delete", "enable", "generate", "import", "list", "migrate", "prune", "revoke", "setup",
			"sign"},
	}
	command, named := regexp.MustCompile(`\b(puppet ssl|puppetserver ca) ([a-z_]+)`), 0
	for _, path := range files(t, ".md", ".5", ".8", ".pp", ".yaml", ".libsonnet", ".go") {
		joined := strings.Join(strings.Fields(lab.Read(t, path)), " ") // a line may end in a command
		for _, m := range command.FindAllStringSubmatch(joined, -1) {
			if named++; !slices.Contains(actions[m[1]], m[2]) {
				t.Errorf("%s names %q, which Puppet does not have", path, m[0])
			}
		}
	}
	if named < 10 {
		t.Errorf("%d commands found, want 10 at least", named)
	}
}
