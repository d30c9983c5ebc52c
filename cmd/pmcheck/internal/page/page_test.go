package page_test

import (
	"html"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/page"
	"github.com/pmcheck/pmcheck/drain"
)

// render returns the page of a status.
func render(t testing.TB, s api.Status, samples []page.Sample) string {
	t.Helper()
	w := httptest.NewRecorder()
	if err := page.New().Write(w, 200, s, samples); err != nil {
		t.Fatal(err)
	}
	return w.Body.String()
}

func TestPageTitleSaysTheState(t *testing.T) {
	tests := []struct {
		mode   drain.Mode
		health check.Health
		want   string
	}{
		{drain.Ready, check.Healthy, "In service"},
		{drain.Ready, check.Busy, "In service, busy"},
		{drain.Ready, check.Warming, "Out of service: warming"},
		{drain.Ready, check.Unhealthy, "Out of service: unhealthy"},
		{drain.Ready, check.Unknown, "Out of service: unknown"},
		{drain.Ready, "", "Out of service: unknown"},
		{drain.Drain, check.Healthy, "Out of service: drain"},
		{drain.Maint, check.Unhealthy, "Out of service: maint"},
		{"", check.Healthy, "Out of service: maint"},
	}
	for _, tt := range tests {
		t.Run(string(tt.mode)+" "+string(tt.health), func(t *testing.T) {
			s := api.Status{Certname: "m1", Services: []api.ServiceStatus{{
				Name:    "server",
				Mode:    tt.mode,
				Verdict: check.Verdict{Health: tt.health},
			}}}
			page := render(t, s, nil)
			for _, want := range []string{"<title>" + tt.want + " · m1</title>", `<h1 id="headline">` + tt.want + "</h1>"} {
				if !strings.Contains(page, want) {
					t.Errorf("no %s", want)
				}
			}
		})
	}
}

// everywhere returns a status in which each string is text.
func everywhere(text string) api.Status {
	var s api.Status
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

// FuzzPageEscapesEverything: no text of a status changes the structure of the page.
func FuzzPageEscapesEverything(f *testing.F) {
	for _, text := range []string{
		"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "</title></style></script><b>", "{{.}}",
		"' onmouseover='x", "javascript:alert(1)", "-->", "]]>", "&lt;", "\x00\xff<", "$(reboot)",
	} {
		f.Add(text)
	}
	plain := markup(render(f, everywhere("X Y"), nil))
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := api.MemberURL(text); err == nil || text == "" || drain.CheckName(text) == nil {
			return // a valid holder or host adds elements to the page
		}
		if got := markup(render(t, everywhere(text), nil)); got != plain {
			t.Errorf("%q changes the page's structure", text)
		}
	})
}

var commands = regexp.MustCompile(`<li><code>(.*?)</code><small>`)

// suggested returns the commands that a page suggests.
func suggested(t testing.TB, s api.Status) (list []string) {
	t.Helper()
	for _, c := range commands.FindAllStringSubmatch(render(t, s, nil), -1) {
		list = append(list, html.UnescapeString(c[1]))
	}
	return list
}

func TestCommandsAreSafeToPaste(t *testing.T) {
	s := api.Status{Services: []api.ServiceStatus{{Name: "server", Mode: drain.Maint}}}
	bad := func(name string) api.HoldStatus {
		return api.HoldStatus{Hold: drain.Hold{
			Holder: name,
			Mode:   drain.Maint,
			Path:   "/var/lib/pmcheck/holds/" + name + ".json",
			Code:   drain.Unreadable,
		}}
	}
	s.Holds = []api.HoldStatus{bad("x'; reboot"), bad("y\x1b[2J"), bad("z\nreboot")}
	forged := bad("z")
	forged.Code, forged.Service = "", "$(reboot)"
	s.Holds = append(s.Holds, forged)
	s.Config = api.ConfigStatus{File: "/etc/$(reboot).yaml", Error: "line 1: nonsense"}
	want := []string{
		`ls -l '/var/lib/pmcheck/holds/x'\''; reboot.json'`,
		"ls -lb /var/lib/pmcheck/holds",
		"ls -l /var/lib/pmcheck/holds/z.json",
		"pmcheck config --check '/etc/$(reboot).yaml'",
	}
	got := suggested(t, s)
	if diff := cmp.Diff(want, got[:min(len(want), len(got))]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// For a hold file that cannot be read, the advice is to mend or remove it, or to lift it
// by name. Lifting all holds would return a master that another holder works on.
func TestAdviceOnABadFileDoesNotLiftTheOtherHolds(t *testing.T) {
	bad := drain.Hold{
		Holder: "upgrade",
		Mode:   drain.Maint,
		Path:   "/var/lib/pmcheck/holds/upgrade.json",
		Code:   drain.Unreadable,
		Error:  "unexpected end",
	}
	s := master(drain.Maint, check.Healthy, check.OK)
	s.Holds = []api.HoldStatus{{Hold: bad}, {Hold: drain.Hold{Holder: "operator", Mode: drain.Drain}}}
	want := []string{"pmcheck ready --hold upgrade", "pmcheck ready", "pmcheck status"}
	if diff := cmp.Diff(want, suggested(t, s)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, text := range []string{bad.Path, bad.Error} {
		if !strings.Contains(section(t, render(t, s, nil), "next"), text) {
			t.Errorf("the advice does not name %s", text)
		}
	}
}

func TestAdviceFitsTheState(t *testing.T) {
	server := func(mode drain.Mode, h check.Health, r check.Reason) api.Status {
		return api.Status{Services: []api.ServiceStatus{{
			Name:    "server",
			Mode:    mode,
			Verdict: check.Verdict{Health: h, Reason: r},
		}}}
	}
	held := func(s api.Status, holders ...string) api.Status {
		for _, name := range holders {
			holder, service, _ := strings.Cut(name, "@")
			s.Holds = append(s.Holds, api.HoldStatus{Hold: drain.Hold{Holder: holder, Service: service, Mode: drain.Drain}})
		}
		return s
	}
	announced := func(s api.Status) api.Status {
		s.Holds = []api.HoldStatus{{Hold: drain.Hold{Holder: "guard", Mode: drain.Ready}}}
		return s
	}
	last := func(s api.Status, at int) api.Status {
		s.Services = append(s.Services, api.ServiceStatus{Name: "ca"})
		s.Services[at].LastServer = obstacles(api.ObstacleLast, "balancer lb1 has no other server")
		return s
	}
	const drained = `pmcheck drain --reason "…" --for 1h --wait`
	const guardLog = "journalctl -u 'pmcheck-guard@*' -n 20"
	tests := []struct {
		name   string
		status api.Status
		want   []string
	}{
		{"healthy", server(drain.Ready, check.Healthy, check.OK), []string{drained}},
		{"the last server", last(server(drain.Ready, check.Healthy, check.OK), 0), []string{drained}},
		{"the only CA", last(server(drain.Ready, check.Healthy, check.OK), 1),
			[]string{`pmcheck drain --service server --reason "…" --for 1h --wait`}},
		{"busy", server(drain.Ready, check.Busy, check.JRubyBusy), []string{"pmcheck check --explain jruby", drained}},
		{"warming", server(drain.Ready, check.Warming, check.JRubyWarming),
			[]string{"pmcheck check", "pmcheck wait --for ready"}},
		{"unhealthy", server(drain.Ready, check.Unhealthy, check.Refused),
			[]string{"pmcheck check", "pmcheck wait --for ready", `pmcheck maint --reason "…"`}},
		{"stale", server(drain.Ready, check.Unknown, check.Stale),
			[]string{"journalctl -u pmcheck -n 50", "systemctl restart pmcheck"}},
		{"drain", held(server(drain.Drain, check.Healthy, check.OK), "operator"), []string{"pmcheck ready"}},
		{"two holds", held(server(drain.Drain, check.Healthy, check.OK), "operator", "backup@ca"),
			[]string{"pmcheck ready", "pmcheck ready --hold backup --service ca"}},
		{"many holds", held(server(drain.Drain, check.Healthy, check.OK), "a", "b", "c", "d"),
			[]string{"pmcheck ready --hold a", "pmcheck ready --all"}},
		{"the guard", held(server(drain.Drain, check.Healthy, check.OK), "guard"), []string{guardLog}},
		{"the guard and others", held(server(drain.Drain, check.Healthy, check.OK), "a", "b", "guard", "c", "d"),
			[]string{guardLog, "pmcheck ready --hold a", "pmcheck ready --hold b"}},
		{"a stop waits", announced(server(drain.Ready, check.Healthy, check.OK)), []string{guardLog, drained}},
		{"busy and held", held(server(drain.Drain, check.Busy, check.JRubyBusy), "operator"),
			[]string{"pmcheck ready", "pmcheck check --explain jruby"}},
		{"no directory", held(server(drain.Maint, check.Unhealthy, check.Refused), drain.Directory),
			[]string{"pmcheck check", "pmcheck wait --for ready"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(append(tt.want, "pmcheck status"), suggested(t, tt.status)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
