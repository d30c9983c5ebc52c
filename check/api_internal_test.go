package check

import (
	"testing"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// answerOf returns a master's answer.
func answerOf(api API, status int, body []byte) answer {
	return answer{puppetclient.Answer{Status: status, Body: body}, api}
}

func TestOnlyRunningIsOK(t *testing.T) {
	tests := []struct {
		name   string
		answer answer
		want   Reason
	}{
		{"running", answerOf(APISimpleServer, 200, []byte("running")), OK},
		{"running with a line end", answerOf(APISimpleServer, 200, []byte("running\r\n")), OK},
		{"empty", answerOf(APISimpleServer, 200, nil), BadAnswer},
		{"200 with the state error", answerOf(APISimpleServer, 200, []byte("error")), BadAnswer},
		{"running inside a page", answerOf(APISimpleServer, 200, []byte("<p>not running</p>")), BadAnswer},
		{"503 with running", answerOf(APISimpleServer, 503, []byte("running")), HTTPError},
		{"503 unknown", answerOf(APISimpleMaster, 503, []byte("unknown")), StateUnknown},
		{"redirect", answerOf(APISimpleServer, 302, []byte("running")), HTTPError},
		{"alive", answerOf(APIPuppet3, 200, []byte(`{"is_alive":true,"version":"3.8.7"}`)), OK},
		{"not alive", answerOf(APIPuppetV3, 200, []byte(`{"is_alive":false}`)), BadAnswer},
		{"alive as a string", answerOf(APIPuppetV3, 200, []byte(`{"is_alive":"true"}`)), BadAnswer},
		{"not JSON", answerOf(APIPuppetV3, 200, []byte("running")), BadAnswer},
		{"the pool of a running server", answerOf(APIPool, 200, []byte(`{"state":"running"}`)), OK},
		{"the pool of no state", answerOf(APIPool, 200, []byte(`{"status":"running"}`)), BadAnswer},
		{"the pool as a word", answerOf(APIPoolPE, 200, []byte("running")), BadAnswer},
		{"denied", answerOf(APIPuppet3, 403, nil), AuthDenied},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fault := tt.answer.interpret()
			got := OK
			if fault != nil {
				got = fault.Reason
			}
			if got != tt.want {
				t.Errorf("%s, want %s (%v)", got, tt.want, fault)
			}
		})
	}
}

// FuzzInterpret: only a 200 is OK, whatever the body contains.
func FuzzInterpret(f *testing.F) {
	for _, body := range []string{"running", "error", "", `{"is_alive":true,"version":"3.8.7"}`, `[[[[`} {
		f.Add(200, []byte(body))
		f.Add(503, []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		for _, api := range generations() {
			fault := answerOf(api, status, body).interpret()
			if fault == nil && status != 200 {
				t.Errorf("%s: status %d with %q counts as OK", api, status, body)
			}
			if fault != nil && (fault.Reason == "" || fault.Error() == "") {
				t.Errorf("%s: fault without a reason for status %d with %q", api, status, body)
			}
		}
	})
}
