package page_test

import (
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/page"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// render returns the page of a status.
func render(t testing.TB, s status.Status, samples []page.Sample) string {
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
			s := status.Status{Certname: "m1", Services: []status.ServiceStatus{{
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
		if text == "" {
			return // what is empty has no element
		}
		if got := markup(render(t, everywhere(text), nil)); got != plain {
			t.Errorf("%q changes the page's structure", text)
		}
	})
}
