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
	timeout := func(name string) time.Duration {
		m := regexp.MustCompile(`(?m)^` + name + `=(\d+)$`).FindStringSubmatch(unit)
		if m == nil {
			t.Fatalf("the unit has no %s=", name)
		}
		seconds, _ := strconv.Atoi(m[1])
		return time.Duration(seconds) * time.Second
	}
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
