package peers_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestRefusedHAProxyIsSeenWithin10Seconds: a HAProxy whose check pmcheck refuses is in the status, on the page, in the
// metrics and in an alert, with or without its view.
func TestRefusedHAProxyIsSeenWithin10Seconds(t *testing.T) {
	for name, state := range map[string]string{"with its view": "    http-check send-state\n", "without": ""} {
		t.Run(name, func(t *testing.T) {
			lab.Real(t)
			t.Parallel()
			n := network(t, first)
			d := lab.StartDemo(t, n, "0.0.0.0") // Prometheus asks first, and loopback sees the status
			p := startPrometheus(t, n, "127.0.0.1:9090")
			p.waitForData(`count_over_time(pmcheck_refused_connections_total{by="request"}[1m]) > 1`)

			n.StartHAProxy(t, "backend puppet\n    option httpchk GET /puppet\n"+state+
				"    server puppet1 "+first+":8140 check port 9200 inter 2s\n")
			began := time.Now()
			see := func(where, want string, look func() (string, error)) {
				t.Helper()
				lab.WaitFor(t, 10*time.Second-time.Since(began), 50*time.Millisecond, func() error {
					got, err := look()
					if err == nil && !strings.Contains(got, want) {
						err = fmt.Errorf("%s does not say %s", where, want)
					}
					return err
				})
				t.Logf("measured: %s: in the %s after %v", name, where, time.Since(began).Round(100*time.Millisecond))
			}

			const asked = `it asks "GET /puppet HTTP/1.0", which is answered 400`
			get := func(path string, header http.Header) func() (string, error) {
				return func() (string, error) {
					_, body, err := d.Get(path, header)
					return body, err
				}
			}
			see("status", `"asked": "GET /puppet HTTP/1.0"`, get("/status", nil))
			see("warnings", strings.ReplaceAll(asked, `"`, `\"`), get("/status", nil))
			see("page", strings.ReplaceAll(asked, `"`, "&#34;"), get("/", http.Header{"Accept": {"text/html"}}))
			see("metrics", "counted", func() (string, error) {
				_, body, err := d.Get("/metrics", nil)
				if regexp.MustCompile(`pmcheck_refused_connections_total\{by="request"\} [1-9]`).MatchString(body) {
					return "counted", err
				}
				return body, err
			})
			see("alert", "firing", func() (string, error) {
				list, err := p.query(`ALERTS{alertname="PmcheckRefusesBalancer",alertstate="firing"}`)
				if len(list) > 0 {
					return "firing", err
				}
				return "", err
			})
		})
	}
}
