package rotation_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/rotation"
	"github.com/pmcheck/pmcheck/drain"
)

func TestToldIsWhatRealBalancersAreTold(t *testing.T) {
	asking := func(drainCode, maintCode int, change ...func(*api.Balancer)) api.Balancer {
		b := api.Balancer{Service: "server", DrainCode: drainCode, MaintCode: maintCode, View: &api.View{State: "UP"}}
		for _, c := range change {
			c(&b)
		}
		return b
	}
	classic, graceful, healthOnly := asking(503, 503), asking(404, 503), asking(200, 200)
	browser := asking(503, 503, func(b *api.Balancer) {
		b.View, b.Source, b.Checks = nil, netip.MustParseAddr("198.51.100.7"), 1
	})
	ofCA := asking(404, 503, func(b *api.Balancer) { b.Service = "ca" })
	telling := func(code int, body string, n int, asks ...string) rotation.Telling {
		return rotation.Telling{Answer: api.Answer{Code: code, Body: body}, Balancers: n, Asks: asks}
	}
	const running = "Puppet Server is running."
	for _, tt := range []struct {
		name      string
		mode      drain.Mode
		balancers []api.Balancer
		want      []rotation.Telling
	}{
		{"no balancer asks", drain.Drain, nil, nil},
		{"a browser asks", drain.Drain, []api.Balancer{browser}, nil},
		{"another service is asked for", drain.Drain, []api.Balancer{ofCA}, nil},
		{"classic", drain.Drain, []api.Balancer{classic}, []rotation.Telling{telling(503, "drain", 1, "/")}},
		{"graceful", drain.Drain, []api.Balancer{graceful}, []rotation.Telling{telling(404, "drain", 1, "/?drain=404")}},
		{"graceful in maint", drain.Maint, []api.Balancer{graceful}, []rotation.Telling{
			telling(503, "maint", 1, "/?drain=404"),
		}},
		{"the same in maint", drain.Maint, []api.Balancer{graceful, classic, graceful}, []rotation.Telling{
			telling(503, "maint", 3, "/?drain=404", "/"),
		}},
		{"different in drain", drain.Drain, []api.Balancer{classic, healthOnly, graceful, classic}, []rotation.Telling{
			telling(200, running, 1, "/?drain=200&maint=200"),
			telling(404, "drain", 1, "/?drain=404"),
			telling(503, "drain", 2, "/"),
		}},
		{"ready", drain.Ready, []api.Balancer{classic, graceful}, []rotation.Telling{
			telling(200, running, 2, "/", "/?drain=404"),
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := status(tt.mode)
			s.Services[0].Verdict = check.Verdict{Health: check.Healthy, Reason: check.OK}
			s.Balancers = tt.balancers
			if diff := cmp.Diff(tt.want, rotation.Told(s, "server")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
