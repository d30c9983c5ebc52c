package cli

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/pmcheck/pmcheck"

// owners names, for each module that is linked into pmcheck, the only package
// that may import it. Whoever wants to replace a module has one place to go.
var owners = map[string]string{
	"github.com/spf13/viper":              "/cmd/pmcheck/internal/config",
	"go.yaml.in/yaml/v3":                  "/cmd/pmcheck/internal/config",
	"github.com/prometheus/client_golang": "/cmd/pmcheck/internal/agent",
	"github.com/prometheus/common":        "/cmd/pmcheck/internal/config",
	"github.com/coreos/go-systemd/v22":    "/systemd",
	"github.com/urfave/cli/v2":            "/cmd/pmcheck/internal/cli",
	"github.com/google/renameio/v2":       "/drain",
	"github.com/fsnotify/fsnotify":        "/drain",
	"github.com/vishvananda/netlink":      "/drain",
	"github.com/prometheus/procfs":        "/cmd/pmcheck/internal/test/lab",
	"github.com/rogpeppe/go-internal":     "",
	"github.com/google/go-cmp":            "",
}

// ignorant names what a package must not know of.
var ignorant = map[string][]string{
	"/check":              {"/drain", "/systemd", "/cmd", "github.com/"},
	"/check/puppetclient": {"/check", "/drain", "/systemd", "/cmd", "github.com/"},
	"/check/text":         {"/check", "/drain", "/systemd", "/cmd", "github.com/"},
	"/drain":              {"/check", "/systemd", "/cmd", "net/http", "github.com/prometheus", "github.com/spf13", "github.com/coreos"},
}

// shared modules are small helpers that more than one package may use.
var shared = []string{"github.com/agext/levenshtein", "golang.org/x/"}

func TestEachModuleHasOneImporter(t *testing.T) {
	for _, p := range packages(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		for _, imported := range p.Imports {
			if !strings.Contains(strings.Split(imported, "/")[0], ".") || strings.HasPrefix(imported, module) {
				continue
			}
			if slices.ContainsFunc(shared, func(s string) bool { return strings.HasPrefix(imported, s) }) {
				continue
			}
			owner, known := ownerOf(imported)
			if !known {
				t.Errorf("%s imports %s, which no package owns: name one here, or do without", path, imported)
			} else if owner != path {
				t.Errorf("%s imports %s, which belongs to %s", path, imported, owner)
			}
		}
	}
}

func ownerOf(imported string) (string, bool) {
	for m, owner := range owners {
		if imported == m || strings.HasPrefix(imported, m+"/") {
			return owner, true
		}
	}
	return "", false
}

func TestLibrariesKnowNothingOfTheirUsers(t *testing.T) {
	for _, p := range packages(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		for _, forbidden := range ignorant[path] {
			for _, imported := range p.Imports {
				imported = strings.TrimPrefix(imported, module)
				if imported == forbidden || strings.HasPrefix(imported, strings.TrimSuffix(forbidden, "/")+"/") {
					t.Errorf("%s imports %s", path, imported)
				}
			}
		}
	}
}

type goPackage struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	if len(list) < 5 {
		t.Fatalf("only %d packages found", len(list))
	}
	return list
}
