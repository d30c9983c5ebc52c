package cli

import (
	"reflect"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/leave"
)

func TestUnitTimeoutsExceedTheLargestSettings(t *testing.T) {
	most := func(setting string) time.Duration {
		field, _ := reflect.TypeFor[config.Guard]().FieldByName(setting)
		bound, err := config.ParseDuration(field.Tag.Get("max"))
		if err != nil {
			t.Fatal(err)
		}
		return bound
	}
	const margin = time.Minute
	out, back := leave.LongestTurn+most("Wait")+margin, most("Return")+margin
	for _, tt := range []struct {
		unit, timeout string
		least         time.Duration
	}{
		{"pmcheck-guard@", "TimeoutStopSec", out},
		{"pmcheck-guard@", "TimeoutStartSec", back},
		{"pmcheck-guard-reload@", "TimeoutStartSec", out},
		{"pmcheck-guard-reloaded@", "TimeoutStartSec", back},
	} {
		unit := read(t, "../../../../systemd/"+tt.unit+".service")
		m := regexp.MustCompile(`(?m)^` + tt.timeout + `=(\d+)$`).FindStringSubmatch(unit)
		if m == nil {
			t.Fatalf("%s has no %s=", tt.unit, tt.timeout)
		}
		if seconds, _ := strconv.Atoi(m[1]); time.Duration(seconds)*time.Second < tt.least {
			t.Errorf("%s of %s is %d s, but it may wait %v", tt.timeout, tt.unit, seconds, tt.least)
		}
	}
}
