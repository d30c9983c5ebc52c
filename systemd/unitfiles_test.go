package systemd_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/coreos/go-systemd/v22/unit"
)

// options returns the values of each option of a unit file in this directory, by name.
// Lists of units have a value for each unit.
func options(t *testing.T, name string) map[string][]string {
	t.Helper()
	f, err := os.Open(name)
	must(t, err)
	defer f.Close()
	list, err := unit.DeserializeOptions(f)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	values := map[string][]string{}
	for _, o := range list {
		parts := []string{o.Value}
		if o.Section == "Unit" {
			parts = strings.Fields(o.Value)
		}
		values[o.Name] = append(values[o.Name], parts...)
	}
	return values
}

// systemd runs nothing after a command that fails. A daemon that did not hear of a reload with
// a mistake would go on saying that its configuration is the current one.
func TestReloadSignalsTheDaemonBeforeItCanFail(t *testing.T) {
	for _, command := range options(t, "pmcheck.service")["ExecReload"] {
		if command == "/bin/kill -HUP $MAINPID" {
			return
		}
		if !strings.HasPrefix(strings.TrimLeft(command, "@:+!"), "-") {
			t.Fatalf("%s may fail and comes before the signal", command)
		}
	}
	t.Error("no signal")
}

// systemd applies drop-ins in the order of their names. What systemctl edit writes must be able to undo these.
func TestDropInsComeBeforeThoseOfTheAdministrator(t *testing.T) {
	names, err := filepath.Glob("*.d/*.conf")
	must(t, err)
	for _, name := range names {
		if filepath.Base(name) > "override.conf" {
			t.Errorf("%s comes after override.conf", name)
		}
	}
	if len(names) == 0 {
		t.Error("no drop-ins")
	}
}

// The guard is root, and the gate has the daemon's user: neither needs the keys of the CA and of eyaml.
func TestNoUnitSeesWhatTheDaemonDoesNot(t *testing.T) {
	const hidden = "InaccessiblePaths"
	daemon, others := options(t, "pmcheck.service")[hidden], options(t, "pmcheck-.service.d/10-sandbox.conf")[hidden]
	if len(daemon) == 0 || !slices.Equal(daemon, others) {
		t.Errorf("hidden from the daemon: %q, from the others: %q", daemon, others)
	}
}

// The figures of proof.md are those of a daemon with these.
func TestDaemonUsesOneCPU(t *testing.T) {
	if got := strings.Join(options(t, "pmcheck.service")["Environment"], " "); got != "GOMAXPROCS=1 GOGC=50" {
		t.Errorf("its environment is %q", got)
	}
}

// A unit before Puppet Server's that waits for the daemon would have Puppet Server wait for it too.
func TestNothingBeforeTheServerWaitsForTheDaemon(t *testing.T) {
	names, err := filepath.Glob("*.service")
	if err != nil || len(names) == 0 {
		t.Fatalf("%v, %v", names, err)
	}
	for _, name := range names {
		unit := options(t, name)
		before := slices.ContainsFunc(unit["Before"], func(other string) bool {
			return other == "%i.service" || strings.HasSuffix(other, "puppetserver.service")
		})
		if before && slices.Contains(unit["After"], "pmcheck.service") {
			t.Errorf("%s is before the server and after pmcheck.service", name)
		}
	}
}

// Both units run beside a reload of the server, in order, and their failure does not prevent it.
func TestAReloadIsGuarded(t *testing.T) {
	const server = "%i.service"
	for name, order := range map[string]string{"reload": "Before", "reloaded": "After"} {
		unit := options(t, "pmcheck-guard-"+name+"@.service")
		for option, value := range map[string]string{
			"ReloadPropagatedFrom": server,
			order:                  server,
			"PartOf":               "pmcheck-guard@%i.service",
			"ExecReload":           "-/usr/bin/pmcheck guard " + name + " %i",
		} {
			if !slices.Contains(unit[option], value) {
				t.Errorf("%s: %s=%q, want %s", name, option, unit[option], value)
			}
		}
		want := "pmcheck-guard-" + name + "@%i.service"
		if started := options(t, "pmcheck-guard@.service")["Wants"]; !slices.Contains(started, want) {
			t.Errorf("the guard starts %v, not %s", started, want)
		}
	}
}
