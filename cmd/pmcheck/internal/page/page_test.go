package page_test

import (
	"html"
	"net/http/httptest"
	"net/netip"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/front"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/page"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

func render(t testing.TB, s status.Status) string {
	t.Helper()
	document, err := page.New().Render(s)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	document.Write(w, 200)
	return w.Body.String()
}

var tags = regexp.MustCompile(`<[^>]*>`)

// section returns the text of the section that an element labels, one space between words.
func section(t testing.TB, page, label string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, `aria-labelledby="`+label+`"`)
	if !found {
		t.Fatalf("no section %s", label)
	}
	text, _, _ := strings.Cut(rest[strings.Index(rest, ">")+1:], "</section>")
	return strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(text, " "))), " ")
}

func master(mode drain.Mode, h check.Health) status.Status {
	code := 503
	if mode == drain.Ready && h.Serves() {
		code = 200
	}
	return status.Status{Certname: "m1", Services: []status.ServiceStatus{{
		Name:    "server",
		Mode:    mode,
		Verdict: check.Verdict{Health: h},
		Answer:  status.Answer{Code: code, Body: "told"},
	}}}
}

func TestTitleSaysTheState(t *testing.T) {
	stopped := check.Verdict{Health: check.Unhealthy, Reason: check.UnitStopped, Detail: "x.service is stopped"}
	for _, tt := range []struct {
		mode    drain.Mode
		leaving drain.Leaving
		verdict check.Verdict
		want    string
	}{
		{drain.Ready, drain.Firm, check.Verdict{Health: check.Healthy}, "in service"},
		{drain.Ready, drain.Firm, check.Verdict{Health: check.Warming, Reason: check.JRubyWarming},
			"OUT of service: warming: jruby-warming"},
		{drain.Ready, drain.Firm, check.Verdict{Health: check.Unknown, Reason: check.OK}, "OUT of service: unknown"},
		{drain.Ready, drain.Firm, stopped, "STOPPED: x.service is stopped"},
		{drain.Drain, drain.LeavingInTurn, stopped, "leaving: held in drain"},
		{drain.Maint, drain.Firm, stopped, "OUT of service: held in maint"},
	} {
		s := master(tt.mode, tt.verdict.Health)
		s.Services[0].Departure.Leaving, s.Services[0].Verdict = tt.leaving, tt.verdict
		if title := "<title>" + tt.want + "; no balancer asks · m1</title>"; !strings.Contains(render(t, s), title) {
			t.Errorf("no %s", title)
		}
	}
}

func TestSectionsSayWhatIsTrue(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.Local)
	lb1 := netip.MustParseAddr("192.0.2.5")
	needed := status.Blocker{Kind: blocker.Needed, Text: "lb1 misses a server"}
	for _, tt := range []struct {
		name    string
		mode    drain.Mode
		health  check.Health
		change  func(s *status.Status, v *status.ServiceStatus)
		section string
		want    string
	}{
		{"idle", drain.Drain, check.Healthy, nil, "headline", "Idle: it may be restarted now."},
		{"a balancer sends", drain.Drain, check.Healthy, func(_ *status.Status, v *status.ServiceStatus) {
			for _, name := range strings.Fields("lb1 lb1 lb2 lb3 lb4 lb5 lb6") {
				v.Departure.Blockers = append(v.Departure.Blockers, blocker.New(blocker.Balancer, "%s sends", name))
			}
		}, "headline", "lb1 sends lb2 sends lb3 sends lb4 sends lb5 sends and 1 more"},
		{"leaving", drain.Drain, check.Healthy, func(_ *status.Status, v *status.ServiceStatus) {
			v.Departure = status.Departure{Leaving: drain.LeavingInTurn, Blockers: []status.Blocker{needed}}
		}, "headline", "It has not left yet: do not restart it. lb1 misses a server"},
		{"the last server", drain.Ready, check.Healthy, func(_ *status.Status, v *status.ServiceStatus) {
			last := []status.Blocker{{Kind: blocker.OnlyServer, Text: "no other server"}}
			v.Departure = status.Departure{OnlyServer: true, Blockers: last}
		}, "headline", "It must stay in service: no other server"},
		{"a busy moment", drain.Ready, check.Busy, func(_ *status.Status, v *status.ServiceStatus) {
			v.InServiceSince, v.Verdict.Since = now.Add(-3*time.Hour), now.Add(-27*time.Second)
		}, "headline", "in service; no balancer asks For 3h , since"},
		{"a warning", drain.Ready, check.Healthy, func(s *status.Status, _ *status.ServiceStatus) {
			s.Warnings = []string{"lb1 was refused"}
		}, "headline", "in service; no balancer asks Drain it before a restart. Warning: lb1 was refused"},
		{"holds", drain.Drain, check.Healthy, func(s *status.Status, _ *status.ServiceStatus) {
			s.Holds = []drain.Hold{
				{Holder: "op", Mode: drain.Drain, Reason: "CHG-1", Until: now.Add(52 * time.Minute)},
				{Holder: "guard", Service: "ca", Mode: drain.Maint, Leaving: drain.LeavingInTurn},
			}
		}, "holds", "drain by op: CHG-1, until " + text.Clock(now.Add(52*time.Minute)) + " " +
			"maint by guard, leaving on ca, no end"},
		{"a budget", drain.Ready, check.Healthy, func(s *status.Status, _ *status.ServiceStatus) {
			slot := budget.Slot{Master: "puppet2", Since: now.Add(-3 * time.Hour), By: "alice", Reason: "<kernel>"}
			s.Budget = &status.BudgetStatus{Pool: "puppet", Usage: budget.Usage{Out: 1, Allowed: 1, Slots: []budget.Slot{slot}}}
		}, "holds", "Budget of the pool puppet: 1 out, 1 allowed; the database does not answer " +
			"puppet2 is out since 2026-11-20 09:00 (alice: <kernel>)"},
		{"a balancer that stopped", drain.Ready, check.Healthy, func(s *status.Status, _ *status.ServiceStatus) {
			s.Silent = []status.Balancer{{Node: "lb1", Source: lb1, Seen: now.Add(-time.Hour)}}
			s.Believed = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		}, "balancers", "lb1 has stopped asking , 1h ago 192.0.2.5 Believed: balancers of 192.0.2.0/24"},
		{"a balancer that is refused", drain.Ready, check.Healthy, func(s *status.Status, _ *status.ServiceStatus) {
			s.Refused.From = []front.RefusedClient{
				{Source: lb1, By: front.ByRequest, Code: 400, Asked: "GET /<b>", Balancer: true, Count: 3, Since: now},
				{Source: lb1.Next(), By: front.ByRequest, Code: 400, Asked: "GET /scan", Count: 99, Since: now},
			}
		}, "balancers", "No balancer asks for this master. refused 192.0.2.5 was refused since 2026-11-20 12:00:00, 3×: " +
			`it asks "GET /<b>", which is answered 400 Believed`},
		{"a pool", drain.Ready, check.Healthy, func(_ *status.Status, v *status.ServiceStatus) {
			pool := &check.Pool{Size: 4, Borrowed: make([]check.Loan, 1)}
			v.Checks = []check.Finding{{Pool: pool}}
		}, "jrubies", "1 of 4 at work, 0 waiting 1 h ago 30 min now In the last hour at most 1 at work, 0 waiting."},
		{"no pool", drain.Ready, check.Healthy, nil, "jrubies", "not known 1 h ago 30 min now JRubies at work"},
		{"an expired CRL", drain.Ready, check.Unhealthy, func(s *status.Status, _ *status.ServiceStatus) {
			s.Probe.Expiries = []check.Expiry{{Of: "crl", Name: "Puppet CA", Until: now.Add(-time.Hour)}}
		}, "certificates", "crl Puppet CA expiry 1h ago"},
		{"another service", drain.Ready, check.Healthy, func(s *status.Status, _ *status.ServiceStatus) {
			s.Services = append(s.Services, status.ServiceStatus{Name: "ca", Answer: status.Answer{Code: 404}})
		}, "checks", "Service ca : 404"},
	} {
		s := master(tt.mode, tt.health)
		if s.Time = now; tt.change != nil {
			tt.change(&s, &s.Services[0])
		}
		if got := section(t, render(t, s), tt.section); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// everywhere returns a status in which each string is text.
func everywhere(text string) status.Status {
	var s status.Status
	fill(reflect.ValueOf(&s).Elem(), text)
	return s
}

func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() { // the others are closed vocabularies
			v.SetString(text)
		}
	case reflect.Int, reflect.Int64:
		v.SetInt(2)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i), text)
			}
		}
	}
}

// markup returns the structure of a page: it replaces the text by spaces.
func markup(page string) string {
	page = regexp.MustCompile(`[A-Z2-7]{26}`).ReplaceAllString(page, "nonce")
	return regexp.MustCompile(`[^<>"]+`).ReplaceAllString(page, " ")
}

func FuzzPageEscapesEverything(f *testing.F) {
	for _, text := range []string{
		"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "</title></style></script><b>", "{{.}}",
		"' onmouseover='x", "javascript:alert(1)", "-->", "]]>", "&lt;", "\x00\xff<", "$(reboot)",
	} {
		f.Add(text)
	}
	plain := markup(render(f, everywhere("X Y")))
	f.Fuzz(func(t *testing.T, text string) {
		if text == "" {
			return // what is empty has no element
		}
		if got := markup(render(t, everywhere(text))); got != plain {
			t.Errorf("%q changes the page's structure", text)
		}
	})
}
