package checktest

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
)

// The paths that a master answers besides those of the probe.
const (
	poolPath     = "/status/v1/services/jruby-metrics"
	puppetdbPath = "/status/v1/services/puppetdb-status"
	simplePath   = "/status/v1/simple/"
)

// canned is a fixed answer.
type canned struct {
	status int
	body   string
}

// SetAnswer sets the answer to requests for a path, whatever their query. What a state answers by
// itself, as Denied, Failing, Garbage, Flood and Drip do, goes before it, as does the pool of
// JRubyStuck. The status 0 removes the answer.
func (m *Master) SetAnswer(path string, status int, body string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.answers == nil {
		m.answers = map[string]canned{}
	}
	m.answers[path] = canned{status, body}
	if status == 0 {
		delete(m.answers, path)
	}
}

// SetPool sets the pool that the service jruby-metrics reports. By default there are
// four JRubies, all of them free. A server that has not locked its pool reports as LockSince
// when it started.
func (m *Master) SetPool(p check.Pool) { m.SetAnswer(poolPath, http.StatusOK, poolAnswer(p)) }

// SetService sets the state that the Status API reports for a service. Any state but
// running is answered with 503; an empty state removes the service. By default only
// ca exists, and is running.
func (m *Master) SetService(name, state string) {
	status := http.StatusServiceUnavailable
	switch state {
	case "running":
		status = http.StatusOK
	case "":
		status, state = http.StatusNotFound, "not found: "+name
	}
	m.SetAnswer(simplePath+name, status, state)
}

// SetPuppetDB makes the master answer as PuppetDB too. A PuppetDB that cannot read
// or write its database reports the state error.
func (m *Master) SetPuppetDB(maintenance, read, write bool) {
	status, state := http.StatusOK, "running"
	switch {
	case maintenance:
		status, state = http.StatusServiceUnavailable, "starting"
	case !read || !write:
		status, state = http.StatusServiceUnavailable, "error"
	}
	m.SetAnswer(puppetdbPath, status, marshal(map[string]any{
		"service_version": "7.12.1", "service_status_version": 1, "detail_level": "info", "state": state,
		"status": map[string]any{"maintenance_mode?": maintenance, "queue_depth": 0, "read_db_up?": read,
			"write_db_up?": write},
	}))
}

// otherAnswer returns the answer to a request other than the probe's, if there is one.
func (m *Master) otherAnswer(path string) (canned, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state == JRubyStuck && path == poolPath {
		return canned{http.StatusOK, poolAnswer(stuckPool(time.Since(m.since)))}, true
	}
	if a, ok := m.answers[path]; ok {
		return a, true
	}
	switch {
	case path == poolPath && m.api == check.APIPool:
		status := http.StatusOK
		if m.state == Starting || m.state == Stopping || m.state == Error {
			status = http.StatusServiceUnavailable
		}
		return canned{status, poolAnswer(check.Pool{Size: 4, Free: 4, Lock: "not-in-use"})}, true
	case path == simplePath+"ca" && knows(m.api, simplePath+"master"):
		return canned{http.StatusOK, "running"}, true
	}
	return canned{}, false
}

// serve answers a request other than the probe's.
func (a canned) serve(w http.ResponseWriter) {
	if strings.HasPrefix(a.body, "{") {
		w.Header().Set("Content-Type", "application/json;charset=utf-8")
	}
	w.WriteHeader(a.status)
	io.WriteString(w, a.body)
}

// stuckPool returns a pool whose JRubies have all been borrowed for d.
func stuckPool(d time.Duration) check.Pool {
	loans := func(n int, request string) []check.Loan {
		list := make([]check.Loan, n)
		for i := range list {
			list[i] = check.Loan{Request: request, Seconds: d.Seconds()}
		}
		return list
	}
	return check.Pool{
		Size: 4, Lock: "not-in-use",
		Borrowed: loans(4, "POST /puppet/v3/catalog/stuck.example.test"),
		Waiting:  loans(9, "GET /puppet/v3/node/waiting.example.test"),
	}
}

// poolAnswer formats a pool the way Puppet Server 7.9.5 does.
func poolAnswer(p check.Pool) string {
	loans := func(list []check.Loan) []any {
		out := []any{}
		for _, l := range list {
			method, uri, _ := strings.Cut(l.Request, " ")
			out = append(out, map[string]any{
				"duration-millis": int64(l.Seconds * 1000),
				"reason":          map[string]any{"request": map[string]any{"uri": uri, "request-method": strings.ToLower(method)}},
			})
		}
		return out
	}
	lock := map[string]any{"current-state": ":" + cmp.Or(p.Lock, "not-in-use"),
		"last-change-time": p.LockSince.UTC().Format("2006-01-02T15:04:05.000Z")}
	return marshal(map[string]any{
		"service_version": "7.9.5", "service_status_version": 1, "detail_level": "debug", "state": "running",
		"status": map[string]any{"experimental": map[string]any{
			"jruby-pool-lock-status": lock,
			"metrics": map[string]any{
				"num-jrubies": p.Size, "num-free-jrubies": p.Free,
				"borrowed-instances": loans(p.Borrowed), "requested-instances": loans(p.Waiting),
				"borrow-timeout-count": p.Timeouts, "queue-limit-hit-count": p.LimitHits,
			},
		}},
	})
}

// marshal returns v in JSON. It must be a value that can be encoded.
func marshal(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}
