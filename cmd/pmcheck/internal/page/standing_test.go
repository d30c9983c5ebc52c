package page_test

import (
	"html"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/balancer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/page"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

var tags = regexp.MustCompile(`<[^>]*>`)

// section returns the text of the section that an element labels, one space
// between words.
func section(t testing.TB, page, label string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, `aria-labelledby="`+label+`"`)
	if !found {
		t.Fatalf("no section %s", label)
	}
	text, _, _ := strings.Cut(rest[strings.Index(rest, ">")+1:], "</section>")
	return strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(text, " "))), " ")
}

// master returns the status of a master in a mode, with a verdict.
func master(mode drain.Mode, h check.Health, r check.Reason) status.Status {
	code := 503
	if mode == drain.Ready && h.Serves() {
		code = 200
	}
	return status.Status{Certname: "m1", Services: []status.ServiceStatus{{
		Name:    "server",
		Mode:    mode,
		Verdict: check.Verdict{Health: h, Reason: r},
		Answer:  status.Answer{Code: code, Body: "told"},
	}}}
}

func obstacles(kind balancer.ObstacleKind, texts ...string) (list []status.Obstacle) {
	for _, text := range texts {
		list = append(list, status.Obstacle{Kind: kind, Text: text})
	}
	return list
}

func TestHeroSaysWhetherTheMasterMayBeRestarted(t *testing.T) {
	const idle = "Idle: it may be restarted now."
	tests := []struct {
		name       string
		mode       drain.Mode
		health     check.Health
		obstacles  []status.Obstacle
		last       []status.Obstacle
		want, lack string
	}{
		{"idle", drain.Drain, check.Healthy, nil, nil, idle, "Not idle yet"},
		{"idle in maint", drain.Maint, check.Unhealthy, nil, nil, idle, "Not idle yet"},
		{"restarted already", drain.Drain, check.Warming, nil, nil, "Idle: no agent is at work on it.", "may be restarted"},
		{"a balancer sends", drain.Drain, check.Healthy,
			obstacles(balancer.ObstacleSending, "lb2 still sends (UP, 3 sessions)"), nil,
			"Not idle yet: do not restart it. lb2 still sends (UP, 3 sessions)", idle},
		{"many requests", drain.Drain, check.Healthy,
			obstacles(balancer.ObstacleRequest, "a", "b", "c", "d", "e", "f", "g"), nil,
			"Not idle yet: do not restart it. a b c d e and 2 more", " f "},
		{"returning", drain.Ready, check.Healthy, obstacles(balancer.ObstacleNotSending, "lb1 does not send yet"), nil,
			"Not in service everywhere yet: lb1 does not send yet", idle},
		{"the last server", drain.Ready, check.Healthy, nil,
			obstacles(balancer.ObstacleLast, "balancer lb1 has no other server"),
			"It must stay in service: balancer lb1 has no other server", idle},
		{"in service", drain.Ready, check.Busy, nil, nil, "Drain it before a restart.", idle},
		{"down", drain.Ready, check.Unhealthy, obstacles(balancer.ObstacleAnswer, "/server is unhealthy: refused"), nil,
			"Out of service: unhealthy", "/server is unhealthy: refused"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := master(tt.mode, tt.health, check.OK)
			s.Services[0].Obstacles, s.Services[0].Keeps = tt.obstacles, tt.last
			got := section(t, render(t, s, nil), "headline")
			if !strings.Contains(got, tt.want) || strings.Contains(got, tt.lack) {
				t.Errorf("%s\nwant %q, and not %q", got, tt.want, tt.lack)
			}
		})
	}
}

func TestHoldsAreNamed(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.Local)
	s := master(drain.Drain, check.Healthy, check.OK)
	s.Time = now
	s.Holds = []status.HoldStatus{
		{Hold: drain.Hold{Holder: "operator", Mode: drain.Drain, Reason: "CHG-4711", Until: now.Add(52 * time.Minute)}},
		{Hold: drain.Hold{Holder: "backup", Service: "ca", Mode: drain.Drain, Reason: "nightly"}},
	}
	got := section(t, render(t, s, nil), "holds")
	for _, want := range []string{"drain by operator : CHG-4711 ends in 52m", "drain by backup on ca: nightly no end"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

func TestLeavingMasterHasNotLeft(t *testing.T) {
	s := master(drain.Drain, check.Healthy, check.OK)
	s.Services[0].Leaving = drain.LeavingInTurn
	s.Services[0].Keeps = obstacles(balancer.ObstacleTurn, "balancer lb1 has been missing a server for 20s")
	s.Holds = []status.HoldStatus{{Hold: drain.Hold{Holder: "guard", Mode: drain.Drain, Leaving: drain.LeavingInTurn}}}
	html := render(t, s, nil)
	for label, want := range map[string]string{
		"headline": "It has not left yet: do not restart it. balancer lb1 has been missing a server for 20s",
		"holds":    "drain, leaving by guard",
	} {
		if got := section(t, html, label); !strings.Contains(got, want) || strings.Contains(got, "Out of service: drain") {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// A busy moment changes the verdict, but the master has been in service all the time.
func TestTimeInServiceOutlastsABusyMoment(t *testing.T) {
	now := time.Now()
	s := master(drain.Ready, check.Healthy, check.OK)
	s.Time, s.Services[0].ServingSince = now, now.Add(-3*time.Hour)
	s.Services[0].Verdict.Since = now.Add(-27 * time.Second)
	got := section(t, render(t, s, nil), "headline")
	if !strings.Contains(got, "In service for 3h") || strings.Contains(got, "for 27s") {
		t.Errorf("%s", got)
	}
	s.Services[0].Mode, s.Services[0].Answer.Code = drain.Drain, 503
	s.Services[0].ServingSince = now.Add(-8 * time.Minute)
	if got := section(t, render(t, s, nil), "headline"); !strings.Contains(got, "Out of service for 8m") {
		t.Errorf("%s", got)
	}
}

func TestHeroQuotesWhatBalancersWereTold(t *testing.T) {
	client := func(node string, code int, body string) status.Balancer {
		b := status.Balancer{Node: node, Source: netip.MustParseAddr("192.0.2.1"), Service: "server", Checks: 9, Interval: 2}
		b.Answer.Code, b.Answer.Body = code, body
		return b
	}
	monitoring := client("", 200, "old")
	monitoring.Checks = 1
	tests := []struct {
		name      string
		balancers []status.Balancer
		want      string
	}{
		{"no balancer", nil, "A balancer would be told 503 told"},
		{"monitoring only", []status.Balancer{monitoring}, "A balancer would be told 503 told"},
		{"graceful", []status.Balancer{client("lb1", 404, "drain"), client("lb2", 404, "drain"), monitoring},
			"Balancers were told 404 drain Verdict"},
		{"two kinds", []status.Balancer{client("lb1", 404, "drain"), client("lb2", 503, "drain")},
			"Balancers were told 404 drain lb1 503 drain lb2 Verdict"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := master(drain.Drain, check.Healthy, check.OK)
			s.Balancers = tt.balancers
			if got := section(t, render(t, s, nil), "headline"); !strings.Contains(got, tt.want) {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestHoldsAndBalancersComeDirectlyBelowTheHero(t *testing.T) {
	html := render(t, master(drain.Drain, check.Healthy, check.OK), nil)
	var got []string
	for _, m := range regexp.MustCompile(`<section[^>]* aria-labelledby="(\w+)"`).FindAllStringSubmatch(html, -1) {
		got = append(got, m[1])
	}
	if want := "headline holds balancers jrubies checks"; strings.Join(got, " ") != want {
		t.Errorf("sections %v, want %s", got, want)
	}
}

// What the page says of the JRubies is one reading, wherever it says it.
func TestNumbersOfJRubiesAgree(t *testing.T) {
	s := master(drain.Drain, check.Healthy, check.OK)
	s.Services[0].Checks = []status.CheckStatus{{Finding: check.Finding{
		Check: check.CheckJRuby,
		Value: "4 of 4 ready, 0 at work, 0 waiting",
		Pool:  &check.Pool{Size: 4, Free: 4},
	}}}
	html := render(t, s, []page.Sample{{Size: 4, Working: 3}, {Size: 4, Working: 4}}) // in the last ten seconds
	if got := section(t, html, "headline"); !strings.Contains(got, "Idle: it may be restarted now.") {
		t.Errorf("%s", got)
	}
	got := section(t, html, "jrubies")
	if !strings.HasPrefix(got, "JRubies 0 of 4 at work, 0 waiting") || !strings.Contains(got, "at most 3 at work") {
		t.Errorf("%s", got)
	}
	if n := strings.Count(html, "it may be restarted"); n != 1 {
		t.Errorf("the page says %d times whether it may be restarted", n)
	}
}

func TestOtherServicesSayWhatTheirBalancersAreTold(t *testing.T) {
	s := master(drain.Ready, check.Healthy, check.OK)
	s.Services = append(s.Services, status.ServiceStatus{
		Name:    "ca",
		Mode:    drain.Ready,
		Verdict: check.Verdict{Health: check.Healthy, Reason: check.OK},
		Answer:  status.Answer{Code: 200, Body: "Puppet Server is running."},
		Keeps:   obstacles(balancer.ObstacleLast, "balancer lb1 has no other server"),
	})
	const want = "ca : 200 Puppet Server is running. healthy: ok, ready " +
		"It has to stay in service: balancer lb1 has no other server"
	if got := section(t, render(t, s, nil), "others"); !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
}
