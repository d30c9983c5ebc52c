package haproxy_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/haproxy"
)

// TestHeadersAreThoseOfRealHAProxy replays the answers that led to each recorded state.
func TestHeadersAreThoseOfRealHAProxy(t *testing.T) {
	recorded := readRecorded(t)
	full := []int{200, 200}
	both := func(own, peer []int) [2][]int { return [2][]int{append(full, own...), append(full, peer...)} }
	for state, codes := range map[string][2][]int{
		"starting":                  {},
		"up":                        both(nil, nil),
		"going down 1":              both([]int{503}, nil),
		"going down 2":              both([]int{503, 503}, nil),
		"down":                      both([]int{503, 503, 503}, nil),
		"coming up":                 both([]int{503, 503, 503, 200}, nil),
		"up again":                  both([]int{503, 503, 503, 200, 200}, nil),
		"going down 2, then 200":    both([]int{503, 503, 200}, nil),
		"going down 1, then 404":    both([]int{503, 404}, nil),
		"starting, then 404":        {{404}, full},
		"starting, then 503":        {{503}, full},
		"down, then 404":            both([]int{503, 503, 503, 404}, nil),
		"coming up, then 404":       both([]int{503, 503, 503, 200, 404}, nil),
		"both down":                 both([]int{503, 503, 503}, []int{503, 503, 503}),
		"nolb":                      both([]int{404}, nil),
		"both nolb":                 both([]int{404}, []int{404}),
		"back from nolb, peer nolb": both([]int{404, 200}, []int{404}),
		"nolb, peer down":           both([]int{404}, []int{503, 503, 503}),
		"nolb, going down 1":        both([]int{404, 503}, nil),
		"nolb, then down":           both([]int{404, 503, 503, 503}, nil),
		"slowstart":                 both([]int{503, 503, 503, 200, 200}, nil),
		"slowstart after nolb":      both([]int{404, 200}, nil),
		"slowstart of both":         both([]int{404, 200}, []int{404, 200}),
		"unused backup":             both(nil, nil),
		"used backup, peer nolb":    both(nil, []int{404}),
		"backup nolb, peer down":    both([]int{404}, []int{503, 503, 503}),
		"the only server":           both(nil, nil),
		"the only server nolb":      both([]int{404}, nil),
	} {
		t.Run(state, func(t *testing.T) {
			b := &haproxy.Backend{Settings: haproxy.Settings{Fall: 3, Rise: 2, DisableOn404: true}, Node: "lb1"}
			if strings.HasPrefix(state, "slowstart") {
				b.Slowstart = time.Hour
			}
			for _, name := range []string{"own", "peer"} {
				s := &haproxy.Server{Name: name, Weight: 100, Backup: name == "own" && strings.Contains(state, "backup")}
				if name == "own" || !strings.HasPrefix(state, "the only") {
					b.Servers = append(b.Servers, s)
				}
			}
			b.Start()
			for i, s := range b.Servers {
				for _, code := range codes[i] {
					b.Answered(s, code)
				}
			}
			for i, s := range b.Servers {
				if got, want := essence(b.Header(s)), recorded[state][i]; got != want {
					t.Errorf("%s: %s, want %s", s.Name, got, want)
				}
			}
		})
	}
}

// essence returns the state and the weights of a header.
func essence(header string) string {
	state, _, _ := strings.Cut(header, ";")
	_, rest, _ := strings.Cut(header, "weight=")
	weight, _, _ := strings.Cut(rest, ";")
	return state + " " + weight
}

// readRecorded returns the essence of the headers of own and peer in each state.
func readRecorded(t *testing.T) map[string][]string {
	data, err := os.ReadFile("../../balancer/testdata/haproxy.txt")
	if err != nil {
		t.Fatal(err)
	}
	recorded, state := map[string][]string{}, ""
	for line := range strings.Lines(string(data)) {
		_, header, isServer := strings.Cut(strings.TrimSpace(line), "): ")
		switch {
		case strings.HasPrefix(line, "#"):
		case isServer:
			recorded[state] = append(recorded[state], essence(header))
		default:
			state = strings.TrimSpace(line)
		}
	}
	return recorded
}
