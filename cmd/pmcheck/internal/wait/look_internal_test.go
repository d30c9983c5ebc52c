package wait

import (
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/drain"
)

// A daemon that does not act on a hold knows others, such as one of a directory that was replaced,
// which the files do not show.
func TestADaemonThatIsLateSaysWhoHolds(t *testing.T) {
	held := func(holder, service string, mode drain.Mode) api.HoldStatus {
		return api.HoldStatus{Hold: drain.Hold{Holder: holder, Service: service, Mode: mode}}
	}
	services := []api.ServiceStatus{{Name: "server", Mode: drain.Maint}}
	for _, tt := range []struct {
		last api.Status
		want string
	}{
		{api.Status{}, "the daemon has not answered for 7s"},
		{api.Status{Services: services, Holds: []api.HoldStatus{
			held(drain.Directory, "", drain.Maint),
			held(drain.Operator, "", drain.Drain),
			held("upgrade", "ca", drain.Maint),
		}}, "the daemon is still in mode maint after 7s, held by directory; see pmcheck status"},
		{api.Status{
			Services: []api.ServiceStatus{{Name: "server", Mode: drain.Ready}},
			Holds:    []api.HoldStatus{held(drain.Guard, "", drain.Ready)},
		}, "the daemon is still in mode ready after 7s; see pmcheck status"},
	} {
		if got := late(tt.last, "server").Error(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
