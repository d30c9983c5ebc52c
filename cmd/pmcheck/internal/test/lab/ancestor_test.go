//go:build linux

package lab_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

func TestAncestorAnswersWithTheMastersStatus(t *testing.T) {
	lab.Real(t)
	var status atomic.Value // a string: the master's answer
	status.Store("running")
	master := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/status/v1/simple" {
			io.WriteString(w, status.Load().(string))
		}
	}))
	defer master.Close()
	a := lab.StartAncestor(t, master.Listener.Addr().String())

	tests := []struct {
		name, status string
		code         int
		body         string
	}{
		{"healthy", "running", 200, "Puppet Server is running.\r\n"},
		{"error", "error", 503, "Puppet Server has failed.\r\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status.Store(tt.status)
			resp, err := http.Get("http://" + a.Address())
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if resp.StatusCode != tt.code || string(body) != tt.body || err != nil {
				t.Errorf("answers %d %q, %v; want %d %q", resp.StatusCode, body, err, tt.code, tt.body)
			}
		})
	}
	t.Run("uses CPU time in its children", func(t *testing.T) {
		status.Store("running")
		before := lab.CPUTime(t, a.Pid())
		load := lab.Wrk{URL: "http://" + a.Address(), Connections: 2, Duration: time.Second, Reconnect: true}.Run(t)
		spent := lab.CPUTime(t, a.Pid()) - before
		t.Logf("%+v, %v of CPU", load, spent)
		if load.Requests == 0 || spent <= 0 {
			t.Errorf("%d requests took %v of CPU time, want both above zero", load.Requests, spent)
		}
	})
	t.Run("does not answer once killed", func(t *testing.T) {
		a.Kill()
		if _, err := http.Get("http://" + a.Address()); err == nil {
			t.Error("a killed xinetd answers")
		}
	})
}

const wrkReport = `Running 1s test @ http://127.0.0.1:9200/
  1 threads and 2 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     7.26ms   19.60ms 146.16ms   92.88%
    Req/Sec     1.53k   847.05     2.69k    70.00%
  Latency Distribution
     50%  704.00us
     75%    3.41ms
     90%   17.84ms
     99%    1.50s
  1532 requests in 1.07s, 778.15KB read
  Socket errors: connect 1, read 2, write 3, timeout 4
  Non-2xx or 3xx responses: 1500
Requests/sec:   1425.88
Transfer/sec:    724.25KB
`

func TestParseWrkReadsAReportOrFails(t *testing.T) {
	got, err := lab.ParseWrk(wrkReport)
	if err != nil {
		t.Fatal(err)
	}
	want := lab.WrkResult{
		Requests: 1532, RequestsPerSecond: 1425.88, Errors: 1510,
		P50: 704 * time.Microsecond, P75: 3410 * time.Microsecond,
		P90: 17840 * time.Microsecond, P99: 1500 * time.Millisecond,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, report := range []string{"", "Requests/sec: 12\n", "unable to connect to 127.0.0.1:1 Connection refused\n"} {
		if r, err := lab.ParseWrk(report); err == nil {
			t.Errorf("ParseWrk(%q) = %+v, want an error", report, r)
		}
	}
}
