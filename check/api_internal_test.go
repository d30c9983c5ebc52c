package check

import (
	"testing"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// answerOf returns a master's answer to a question of a generation.
func answerOf(api API, status int, body []byte) answer {
	for _, q := range questions() {
		if q.api == api {
			return answer{puppetclient.Answer{Status: status, Body: body}, q}
		}
	}
	panic("no such generation: " + api)
}

func TestOnlyRunningIsOK(t *testing.T) {
	for _, tt := range []struct {
		name   string
		api    API
		status int
		body   string
		want   Reason
	}{
		{"running", APISimpleServer, 200, "running", OK},
		{"empty", APISimpleServer, 200, "", puppetclient.BadAnswer},
		{"running inside a page", APISimpleServer, 200, "<p>not running</p>", puppetclient.BadAnswer},
		{"503 with running", APISimpleServer, 503, "running", HTTPError},
		{"503 with a word of no state", APISimpleServer, 503, "busy", HTTPError},
		{"starting", APISimpleServer, 503, "starting", StateStarting},
		{"stopping", APIPool, 503, `{"state":"stopping"}`, StateStopping},
		{"redirect", APISimpleServer, 302, "running", HTTPError},
		{"alive", APIPuppet3, 200, `{"is_alive":true,"version":"3.8.7"}`, OK},
		{"not alive", APIPuppetV3, 200, `{"is_alive":false}`, puppetclient.BadAnswer},
		{"the pool of a running server", APIPool, 200, `{"state":"running"}`, OK},
		{"the pool of no state", APIPool, 200, `{"status":"running"}`, puppetclient.BadAnswer},
		{"denied", APIPuppet3, 403, "", AuthDenied},
	} {
		got := OK
		if fault := answerOf(tt.api, tt.status, []byte(tt.body)).fault(); fault != nil {
			got = fault.Reason
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// FuzzAnswer: only a 200 is OK, whatever the body contains.
func FuzzAnswer(f *testing.F) {
	for _, body := range []string{"running", "error", "", `{"is_alive":true,"version":"3.8.7"}`, `[[[[`} {
		f.Add(200, []byte(body))
		f.Add(503, []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		for _, q := range questions() {
			fault := answer{puppetclient.Answer{Status: status, Body: body}, q}.fault()
			if fault == nil && status != 200 {
				t.Errorf("%s: status %d with %q counts as OK", q.api, status, body)
			}
			if fault != nil && (fault.Reason == "" || fault.Error() == "") {
				t.Errorf("%s: fault without a reason for status %d with %q", q.api, status, body)
			}
		}
	})
}
