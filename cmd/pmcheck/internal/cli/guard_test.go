package cli

import (
	"reflect"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
)

// TestUnitTimeoutsExceedTheLargestSettings compares the timeouts of the unit, which
// systemd enforces, with the largest values that the settings of the guard may have.
func TestUnitTimeoutsExceedTheLargestSettings(t *testing.T) {
	most := map[string]time.Duration{}
	guard := reflect.TypeFor[config.Guard]()
	for i := range guard.NumField() {
		tag := guard.Field(i).Tag
		bound, err := config.ParseDuration(tag.Get("max"))
		if err != nil {
			t.Fatal(err)
		}
		most[tag.Get("yaml")] = bound
	}
	unit := read(t, "../../../../systemd/pmcheck-guard@.service")
	timeout := func(name string) time.Duration { return timeoutOf(t, unit, name) }
	const margin = time.Minute
	longest := most["turn"] + rotation.Overtime + most["wait"]
	if stop := timeout("TimeoutStopSec"); longest+margin > stop || most["shutdown"]+margin > stop {
		t.Errorf("TimeoutStopSec=%v, but the guard may wait %v: %v", stop, longest, most)
	}
	if start := timeout("TimeoutStartSec"); most["return"]+margin > start {
		t.Errorf("TimeoutStartSec=%v, but the guard may wait %v", start, most)
	}
	if total := most["turn"] + most["wait"]; total > 2*time.Hour {
		t.Errorf("a stop may wait %v", total)
	}
}

// timeoutOf reads a timeout in seconds from the text of a unit.
func timeoutOf(t *testing.T, unit, name string) time.Duration {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + name + `=(\d+)$`).FindStringSubmatch(unit)
	if m == nil {
		t.Fatalf("the unit has no %s=", name)
	}
	seconds, _ := strconv.Atoi(m[1])
	return time.Duration(seconds) * time.Second
}

// TestReloadTimeoutExceedsItsWaits: systemd leaves a command that it cuts at the limit running,
// beside the reload that it should have ended before.
func TestReloadTimeoutExceedsItsWaits(t *testing.T) {
	unit := read(t, "../../../../systemd/pmcheck-guard-reload@.service")
	m := regexp.MustCompile(`(?m)^ExecReload=.* --in-turn --wait=(\S+)$`).FindStringSubmatch(unit)
	if m == nil {
		t.Fatal("no ExecReload= with --wait")
	}
	wait, err := config.ParseDuration(m[1])
	if err != nil {
		t.Fatal(err)
	}
	longest := wait + rotation.Overtime + wait // for the turn, then for agents
	if limit := timeoutOf(t, unit, "TimeoutStartSec"); limit < longest+time.Minute {
		t.Errorf("TimeoutStartSec=%v, but the drain may wait %v", limit, longest)
	}
}
