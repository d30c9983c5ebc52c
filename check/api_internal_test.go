package check

import (
	"testing"
)

func TestInterpret(t *testing.T) {
	tests := []struct {
		name   string
		answer answer
		want   Reason
	}{
		{"the word", answer{api: APISimpleServer, status: 200, body: []byte("running")}, OK},
		{"the word and a line end", answer{api: APISimpleServer, status: 200, body: []byte("running\r\n")}, OK},
		{"empty", answer{api: APISimpleServer, status: 200}, BadAnswer},
		{"200 with an ill state", answer{api: APISimpleServer, status: 200, body: []byte("error")}, BadAnswer},
		{"the word inside a page", answer{api: APISimpleServer, status: 200, body: []byte("<p>not running</p>")}, BadAnswer},
		{"503 with the word", answer{api: APISimpleServer, status: 503, body: []byte("running")}, HTTPError},
		{"503 unknown", answer{api: APISimpleMaster, status: 503, body: []byte("unknown")}, StateUnknown},
		{"redirect", answer{api: APISimpleServer, status: 302, body: []byte("running")}, HTTPError},
		{"too long", answer{api: APISimpleServer, status: 200, body: []byte("running"), tooBig: true}, BadAnswer},
		{"alive", answer{api: APIPuppet3, status: 200, body: []byte(`{"is_alive":true,"version":"3.8.7"}`)}, OK},
		{"not alive", answer{api: APIPuppetV3, status: 200, body: []byte(`{"is_alive":false}`)}, BadAnswer},
		{"alive as a string", answer{api: APIPuppetV3, status: 200, body: []byte(`{"is_alive":"true"}`)}, BadAnswer},
		{"not JSON", answer{api: APIPuppetV3, status: 200, body: []byte("running")}, BadAnswer},
		{"denied", answer{api: APIPuppet3, status: 403}, AuthDenied},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, fault := tt.answer.interpret()
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

// FuzzInterpret: whatever a server says, only a 200 is good news.
func FuzzInterpret(f *testing.F) {
	for _, body := range []string{"running", "error", "", `{"is_alive":true,"version":"3.8.7"}`, `[[[[`} {
		f.Add(200, []byte(body))
		f.Add(503, []byte(body))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		for _, api := range generations() {
			_, fault := answer{api: api, status: status, body: body}.interpret()
			if fault == nil && status != 200 {
				t.Errorf("%s: status %d with %q is good news", api, status, body)
			}
			if fault != nil && (fault.Reason == "" || fault.Error() == "") {
				t.Errorf("%s: a fault without a reason for status %d with %q", api, status, body)
			}
		}
	})
}
