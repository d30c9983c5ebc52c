package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/pmcheck/pmcheck"

// layers returns the rooms (packages) from main down. A package may import packages of
// lower layers only.
func layers() [][]string {
	return [][]string{
		{"cmd/pmcheck"},
		{"cli"},
		{"demo", "gate"},
		{"daemon"},
		{"leave"},
		{"page", "metrics"},
		{"client"},
		{"status", "fleet"},
		{"front"},
		{"balancer", "budget", "monitor"},
		{"config", "blocker", "check/checktest"},
		{"answer", "puppetconf"},
		{"check", "drain", "systemd"},
		{"sockets"},
		{"check/puppetclient"},
		{"check/text", "check/bounded", "mistake"},
	}
}

// independent returns, for the libraries that other programs may import, what they must not import although it is in
// a lower layer, or in the standard library.
func independent() map[string][]string {
	return map[string][]string{
		"drain":   {"check", "check/puppetclient", "net/http"},
		"systemd": {"check", "check/puppetclient", "drain"},
	}
}

// owners returns, for each module that is linked into pmcheck, the package that may import it, or the packages.
// Replacing the module then changes these only.
func owners() map[string]string {
	return map[string]string{
		"github.com/spf13/viper":               "config",
		"github.com/go-viper/mapstructure/v2":  "config",
		"github.com/prometheus/procfs":         "check",
		"go.yaml.in/yaml/v3":                   "config",
		"github.com/prometheus/client_golang":  "metrics",
		"github.com/coreos/go-systemd/v22":     "systemd",
		"github.com/urfave/cli/v2":             "cli",
		"github.com/prometheus/common/version": "daemon",
		"github.com/prometheus/common/model":   "config",
		"github.com/google/renameio/v2":        "drain systemd",
		"github.com/fsnotify/fsnotify":         "drain",
		"github.com/mdlayher/netlink":          "sockets",
		"github.com/jackc/pgx/v5":              "budget",
		"github.com/google/nftables":           "gate",
	}
}

// TestImportsRunOneWay prints the imports of every package, and fails for an import of a
// higher layer or of another package in the same one.
func TestImportsRunOneWay(t *testing.T) {
	depth := map[string]int{}
	for i, layer := range layers() {
		for _, room := range layer {
			depth[room] = i + 1
		}
	}
	for _, p := range packages(t) {
		if depth[p.room] == 0 {
			t.Errorf("%s is in no layer", p.room)
		}
		for _, imported := range p.Imports {
			to := room(imported)
			for _, forbidden := range independent()[p.room] {
				if to == forbidden {
					t.Errorf("%s imports %s, which it must not know", p.room, to)
				}
			}
			if !strings.HasPrefix(imported, module) {
				continue
			}
			t.Logf("%-16s → %s", p.room, to)
			if depth[to] <= depth[p.room] {
				t.Errorf("%s imports %s, which is not in a lower layer", p.room, to)
			}
		}
	}
}

func TestEachModuleIsImportedByItsOwners(t *testing.T) {
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			host, _, _ := strings.Cut(imported, "/")
			own := strings.HasPrefix(imported, module) || strings.HasPrefix(imported, "golang.org/x/")
			if !own && strings.Contains(host, ".") && !slices.Contains(strings.Fields(owner(imported)), p.room) {
				t.Errorf("%s imports %s, which belongs to %q: add it here, or do without", p.room, imported, owner(imported))
			}
		}
	}
}

func owner(imported string) string {
	for m, owner := range owners() {
		if imported == m || strings.HasPrefix(imported, m+"/") {
			return owner
		}
	}
	return ""
}

// goPackage describes a package that ships, as go list prints it.
type goPackage struct {
	ImportPath string
	Dir        string
	Imports    []string
	GoFiles    []string

	room string
}

func room(importPath string) string {
	importPath = strings.TrimPrefix(importPath, module+"/")
	return strings.TrimPrefix(importPath, "cmd/pmcheck/internal/")
}

// packages lists the packages of the program and of its libraries, without the
// suites below internal/test.
func packages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,GoFiles", module+"/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var p goPackage
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		p.room = room(p.ImportPath)
		if p.room != "test" && !strings.HasPrefix(p.room, "test/") {
			list = append(list, p)
		}
	}
	if len(list) < 10 {
		t.Fatalf("only %d packages found", len(list))
	}
	return list
}
