package haproxy_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/haproxy"
)

// TestHeadersAreThoseOfRealHAProxy replays the answers that led to each recorded state, and compares the state and
// the weights.
func TestHeadersAreThoseOfRealHAProxy(t *testing.T) {
	data, err := os.ReadFile("../../balancer/testdata/haproxy.txt")
	if err != nil {
		t.Fatal(err)
	}
	down := []int{503, 503, 503}
	after := func(first []int, codes ...int) []int { return append(append([]int{200, 200}, first...), codes...) }
	answers := map[string][2][]int{ // to own and to its peer
		"starting":                  {},
		"up":                        {after(nil), after(nil)},
		"going down 1":              {after(nil, 503), after(nil)},
		"going down 2":              {after(nil, 503, 503), after(nil)},
		"down":                      {after(down), after(nil)},
		"coming up":                 {after(down, 200), after(nil)},
		"up again":                  {after(down, 200, 200), after(nil)},
		"going down 2, then 200":    {after(nil, 503, 503, 200), after(nil)},
		"going down 1, then 404":    {after(nil, 503, 404), after(nil)},
		"starting, then 404":        {{404}, after(nil)},
		"starting, then 503":        {{503}, after(nil)},
		"down, then 404":            {after(down, 404), after(nil)},
		"coming up, then 404":       {after(down, 200, 404), after(nil)},
		"both down":                 {after(down), after(down)},
		"nolb":                      {after(nil, 404), after(nil)},
		"both nolb":                 {after(nil, 404), after(nil, 404)},
		"back from nolb, peer nolb": {after(nil, 404, 200), after(nil, 404)},
		"nolb, peer down":           {after(nil, 404), after(down)},
		"nolb, going down 1":        {after(nil, 404, 503), after(nil)},
		"nolb, then down":           {after(nil, 404, 503, 503, 503), after(nil)},
		"slowstart":                 {after(down, 200, 200), after(nil)},
		"slowstart after nolb":      {after(nil, 404, 200), after(nil)},
		"slowstart of both":         {after(nil, 404, 200), after(nil, 404, 200)},
		"unused backup":             {after(nil), after(nil)},
		"used backup, peer nolb":    {after(nil), after(nil, 404)},
		"backup nolb, peer down":    {after(nil, 404), after(down)},
		"the only server":           {after(nil)},
		"the only server nolb":      {after(nil, 404)},
	}
	essence := regexp.MustCompile(`^([^;]+);.*weight=([^;]+)`)
	state := regexp.MustCompile(`(?m)^([^ #].*)\n  own \(.+\): (.+)(?:\n  peer \(.+\): (.+))?$`)
	for _, m := range state.FindAllStringSubmatch(string(data), -1) {
		codes, known := answers[m[1]]
		if !known {
			continue
		}
		delete(answers, m[1])
		b := &haproxy.Backend{Settings: haproxy.Settings{Fall: 3, Rise: 2, DisableOn404: true}, Node: "lb1"}
		if strings.HasPrefix(m[1], "slowstart") {
			b.Slowstart = time.Hour
		}
		b.Servers = append(b.Servers, &haproxy.Server{Weight: 100, Backup: strings.Contains(m[1], "backup")})
		if m[3] != "" {
			b.Servers = append(b.Servers, &haproxy.Server{Weight: 100})
		}
		b.Start()
		for i, s := range b.Servers {
			for _, code := range codes[i] {
				b.Answered(s, code)
			}
		}
		for i, s := range b.Servers {
			got, want := essence.FindStringSubmatch(b.Header(s)), essence.FindStringSubmatch(m[2+i])
			if !slices.Equal(got[1:], want[1:]) {
				t.Errorf("%s, server %d: %q, want %q", m[1], i, got[1:], want[1:])
			}
		}
	}
	for state := range answers {
		t.Errorf("%s is not recorded", state)
	}
}
