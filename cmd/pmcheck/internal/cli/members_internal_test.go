package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

// TestAMemberIsWhatTheReferenceSays: its names are in reference.md, which is made from the types of a status alone.
func TestAMemberIsWhatTheReferenceSays(t *testing.T) {
	for _, tt := range []struct {
		member member
		begins string
	}{
		{member{Host: "m1", Error: "refused"}, `{"host":"m1","error":"refused"}`},
		{member{Host: "m1", Status: &status.Status{}}, `{"host":"m1","status":{"version":`},
	} {
		got, err := json.Marshal(tt.member)
		if err != nil || !strings.HasPrefix(string(got), tt.begins) {
			t.Errorf("%s, %v; want %s", got, err, tt.begins)
		}
	}
}

func TestManyMembersAreAskedAFewAtATime(t *testing.T) {
	var asking, most atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for n := asking.Add(1); ; {
			if old := most.Load(); n <= old || most.CompareAndSwap(old, n) {
				break
			}
		}
		io.WriteString(w, "{}")
		asking.Add(-1)
	}))
	defer server.Close()
	const pool = 400
	hosts := slices.Repeat([]string{server.Listener.Addr().String()}, pool)
	hosts[7] = "127.0.0.1:1"
	for i, m := range askMembers(t.Context(), hosts) {
		if m.Host != hosts[i] || (m.Status == nil) != (i == 7) || (m.Error != "") != (i == 7) {
			t.Errorf("member %d is %+v", i, m)
		}
	}
	if most.Load() > 128 {
		t.Errorf("%d at a time", most.Load())
	}
}
