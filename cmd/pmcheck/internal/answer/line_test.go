package answer

import (
	"testing"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/drain"
)

func TestLineHasBothWords(t *testing.T) {
	tests := []struct {
		mode   drain.Mode
		health check.Health
		reason check.Reason
		weight int
		want   string
	}{
		{drain.Ready, check.Healthy, check.OK, 100, "ready up 100% # ok"},
		{drain.Ready, check.Busy, check.JRubyBusy, 7, "ready up 7% # jruby-busy"},
		{drain.Ready, check.Warming, check.JRubyWarming, 10, "ready down 10% # jruby-warming"},
		{drain.Ready, check.Unhealthy, check.Refused, 73, "ready down 73% # refused"},
		{drain.Ready, check.Unknown, check.Stale, 100, "ready down 100% # stale"},
		{drain.Ready, "", "", 100, "ready down 100% # "},
		{drain.Ready, check.Healthy, check.OK, 0, "ready up 1% # ok"},
		{drain.Ready, check.Healthy, check.OK, -5, "ready up 1% # ok"},
		{drain.Ready, check.Healthy, check.OK, 101, "ready up 100% # ok"},
		{drain.Drain, check.Healthy, check.OK, 73, "drain up # ok"},
		{drain.Drain, check.Busy, check.JRubyBusy, 73, "drain up # jruby-busy"},
		{drain.Drain, check.Warming, check.StateStarting, 73, "drain down # state-starting"},
		{drain.Drain, check.Unhealthy, check.Refused, 73, "drain down # refused"},
		{drain.Drain, check.Unknown, check.Stale, 73, "drain down # stale"},
		{drain.Maint, check.Healthy, check.OK, 73, "maint up # ok"},
		{drain.Maint, check.Busy, check.JRubyBusy, 73, "maint up # jruby-busy"},
		{drain.Maint, check.Warming, check.StateStarting, 73, "maint down # state-starting"},
		{drain.Maint, check.Unhealthy, check.Refused, 73, "maint down # refused"},
		{drain.Maint, check.Unknown, check.Stale, 73, "maint down # stale"},
		{"", check.Healthy, check.OK, 73, "maint up # ok"},
		{"redy", check.Unhealthy, check.Refused, 73, "maint down # refused"},
	}
	for _, tt := range tests {
		if got := Line(tt.mode, check.Verdict{Health: tt.health, Reason: tt.reason}, tt.weight); got != tt.want {
			t.Errorf("%s, %s, %d: got %q, want %q", tt.mode, tt.health, tt.weight, got, tt.want)
		}
	}
}
