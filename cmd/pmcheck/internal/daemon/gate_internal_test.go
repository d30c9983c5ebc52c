package daemon

import (
	"slices"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
)

// TestOthersAreSortedByWhatTheySaid looks at a fleet again and again.
func TestOthersAreSortedByWhatTheySaid(t *testing.T) {
	says := func(code int) *api.Status {
		return &api.Status{Services: []api.ServiceStatus{{Name: monitor.Server, Answer: api.Answer{Code: code}}}}
	}
	start := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	history := map[string]memory{}
	for _, look := range []struct {
		name                           string
		after                          time.Duration
		m2                             api.Member
		serving, out, unknown, missing []string
	}{
		{"it serves", 0, api.Member{Status: says(200)}, []string{"m2"}, nil, nil, nil},
		{"one refusal", 5 * time.Second, api.Member{Status: says(503)}, []string{"m2"}, nil, nil, []string{"m2"}},
		{"a second one", 10 * time.Second, api.Member{Status: says(503)}, nil, []string{"m2"}, nil, []string{"m2"}},
		{"no answer", 15 * time.Second, api.Member{Silent: true}, nil, []string{"m2"}, nil, []string{"m2"}},
		{"it does not tell", 20 * time.Second, api.Member{}, nil, nil, []string{"m2"}, []string{"m2"}},
		{"out for long", 15*time.Minute + time.Second, api.Member{Silent: true}, nil, []string{"m2"}, nil, nil},
		{"back", 16 * time.Minute, api.Member{Status: says(200)}, []string{"m2"}, nil, nil, nil},
	} {
		look.m2.Host = "m2"
		members := []api.Member{{Host: "m1", Status: says(503)}, look.m2}
		o := sortOthers(members, []string{"m1.example.com", "m1"}, history, start.Add(look.after))
		for _, list := range [][2][]string{
			{look.serving, o.Serving}, {look.out, o.Out}, {look.unknown, o.Unknown}, {look.missing, o.Missing},
		} {
			if !slices.Equal(list[0], list[1]) {
				t.Errorf("%s: %+v", look.name, o)
				break
			}
		}
	}
}
