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
// metrics and in an alert. One that sends no request is, too, once three of its checks have timed out. A check that
// only connects is not: HAProxy resets it before the kernel has a connection to accept.
func TestRefusedHAProxyIsSeenWithin10Seconds(t *testing.T) {
	const puppet = `"GET /puppet HTTP/1.0", which is answered 400`
	for _, tt := range []struct {
		name, check, server, by, says string
		within                        time.Duration
	}{
		{
			name:   "with its view",
			check:  "option httpchk GET /puppet;http-check send-state",
			by:     "request",
			says:   "it asks " + puppet,
			within: 10 * time.Second,
		},
		{
			name:   "without a view",
			check:  "option httpchk GET /puppet",
			by:     "request",
			says:   "it asks " + puppet,
			within: 10 * time.Second,
		},
		{
			name:   "PROXY",
			check:  "option httpchk GET /",
			server: " check-send-proxy",
			by:     "request",
			says:   `it asks "PROXY TCP4 `,
			within: 10 * time.Second,
		},
		{
			name:   "no request",
			check:  "option tcp-check;tcp-check expect string 200",
			by:     "silence",
			says:   "it connects and sends no request",
			within: 20 * time.Second,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lab.Real(t)
			t.Parallel()
			n := network(t, first)
			d := lab.StartDemo(t, n, "0.0.0.0") // Prometheus asks first, and loopback sees the status
			p := startPrometheus(t, n, "127.0.0.1:9090")
			p.waitForData(`count_over_time(pmcheck_refused_connections_total{by="` + tt.by + `"}[1m]) > 1`)

			n.StartHAProxy(t, "backend puppet\n    "+strings.ReplaceAll(tt.check, ";", "\n    ")+
				"\n    server puppet1 "+first+":8140 check port 9200 inter 2s"+tt.server+"\n")
			began := time.Now()
			see := func(where, want string, look func() (string, error)) {
				t.Helper()
				lab.WaitFor(t, tt.within-lab.Since(began), 50*time.Millisecond, func() error {
					got, err := look()
					if err == nil && !strings.Contains(got, want) {
						err = fmt.Errorf("%s does not say %s", where, want)
					}
					return err
				})
				t.Logf("measured: %s: in the %s after %v", tt.name, where, time.Since(began).Round(100*time.Millisecond))
			}

			get := func(path string, header http.Header) func() (string, error) {
				return func() (string, error) {
					_, body, err := d.Get(path, header)
					return body, err
				}
			}
			see("status", `"reason": "`+tt.by+`"`, get("/status", nil))
			see("warnings", strings.ReplaceAll(tt.says, `"`, `\"`), get("/status", nil))
			see("page", strings.ReplaceAll(tt.says, `"`, "&#34;"), get("/", http.Header{"Accept": {"text/html"}}))
			see("metrics", "counted", func() (string, error) {
				_, body, err := d.Get("/metrics", nil)
				if regexp.MustCompile(`pmcheck_refused_connections_total\{by="` + tt.by + `"\} [1-9]`).MatchString(body) {
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
