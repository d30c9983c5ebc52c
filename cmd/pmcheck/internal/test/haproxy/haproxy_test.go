package haproxy_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/haproxy"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestHeadersAreThoseOfRealHAProxy replays the answers that led to each recorded state, and compares the state, the
// weights and the throttle.
func TestHeadersAreThoseOfRealHAProxy(t *testing.T) {
	data := lab.ReadFile(t, "cmd/pmcheck/internal/balancer/testdata/haproxy.txt")
	recorded := map[string][]string{}
	state := regexp.MustCompile(`(?m)^([^ #].*)\n  own \(.+\): (.+)(?:\n  peer \(.+\): (.+))?$`)
	for _, m := range state.FindAllStringSubmatch(data, -1) {
		recorded[m[1]] = m[2:]
	}
	now := time.Now()
	essence := regexp.MustCompile(`^([^;]+);.*weight=([^;]+)(?:.*(throttle=[^;]+))?`)
	for _, c := range haproxy.Cases() {
		if c.Command != "" {
			continue // the model has no administrator
		}
		b := &haproxy.Backend{Settings: haproxy.Settings{Fall: 3, Rise: 2, DisableOn404: true}, Node: "lb1"}
		weight := 100
		if strings.HasPrefix(c.Options, "slowstart") {
			b.Slowstart = 10000 * time.Second
		}
		if strings.HasSuffix(c.Options, "weight 1") {
			weight = 1
		}
		b.Servers = append(b.Servers, &haproxy.Server{Weight: weight, Backup: c.Options == "backup"})
		if !c.Alone {
			b.Servers = append(b.Servers, &haproxy.Server{Weight: weight})
		}
		b.Start(now)
		for i, s := range b.Servers {
			for _, code := range [][]int{c.Own, c.Peer}[i] {
				b.Answered(s, code, now)
			}
		}
		for i, s := range b.Servers {
			if recorded[c.State] == nil {
				t.Fatalf("%s is not recorded", c.State)
			}
			got, want := essence.FindStringSubmatch(b.Header(s, now)), essence.FindStringSubmatch(recorded[c.State][i])
			if !slices.Equal(got[1:], want[1:]) {
				t.Errorf("%s, server %d: %q, want %q", c.State, i, got[1:], want[1:])
			}
		}
	}
}
