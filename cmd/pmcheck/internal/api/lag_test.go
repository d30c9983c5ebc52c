package api_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
)

func TestLagsNameMastersWithOlderCode(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	const minute = time.Minute
	// env is an environment that has had its id for so long.
	env := func(name, id string, age time.Duration) check.Environment {
		return check.Environment{Name: name, ID: id, Since: now.Add(-age)}
	}
	member := func(host string, environments ...check.Environment) api.Member {
		return api.Member{Host: host, Status: &api.Status{
			Time:    now,
			CodeLag: 1800,
			Services: []api.ServiceStatus{{Name: "server", Checks: []api.CheckStatus{
				{Finding: check.Finding{Check: check.CheckDisk}},
				{Finding: check.Finding{Check: check.CheckCode, Code: environments}},
			}}},
		}}
	}
	for _, tt := range []struct {
		name    string
		members []api.Member
		want    []string
	}{
		{"nobody", nil, nil},
		{"one master", []api.Member{member("m1", env("production", "a", 90*minute))}, nil},
		{"the same code", []api.Member{
			member("m1", env("production", "a", 90*minute)),
			member("m2", env("production", "a", 40*minute)),
		}, nil},
		{"one lags", []api.Member{
			member("m1", env("production", "b", 40*minute)),
			member("m2", env("production", "a", 90*minute)),
			member("m3", env("production", "b", 35*minute)),
		}, []string{"m2 production a b 40m0s"}},
		{"a deployment that is under way", []api.Member{
			member("m1", env("production", "b", 30*minute)),
			member("m2", env("production", "a", 90*minute)),
		}, nil},
		{"one is ahead", []api.Member{
			member("m1", env("production", "a", 90*minute)),
			member("m2", env("production", "a", 95*minute)),
			member("m3", env("production", "b", 31*minute)),
		}, []string{"m1 production a b 31m0s", "m2 production a b 31m0s"}},
		{"each environment for itself", []api.Member{
			member("m1", env("production", "b", 60*minute), env("test", "c", 90*minute)),
			member("m2", env("production", "a", 90*minute), env("test", "d", 60*minute), env("only", "e", minute)),
		}, []string{"m1 test c d 1h0m0s", "m2 production a b 1h0m0s"}},
		{"a master without a status, and one without ids", []api.Member{
			{Host: "m1", Error: "refused"},
			member("m2", env("production", "a", 90*minute)),
			member("m3", check.Environment{Name: "production", Reason: check.NotKnown}),
		}, nil},
		{"an older daemon does not say since when", []api.Member{
			member("m1", check.Environment{Name: "production", ID: "a"}),
			member("m2", env("production", "b", 90*minute)),
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, l := range api.Lags(tt.members) {
				got = append(got, fmt.Sprintln(l.Host, l.Environment, l.ID, l.Newest, l.For))
			}
			for i := range tt.want {
				tt.want[i] += "\n"
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}
