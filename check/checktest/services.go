package checktest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
)

// Paths that a master answers.
const (
	poolPath   = "/status/v1/services/jruby-metrics"
	simplePath = "/status/v1/simple/"
)

type canned struct {
	status int
	body   string
}

// SetResponse sets the response to requests for a path, whatever their query. What a state answers by
// itself, as Denied does, goes before it, as does the pool of JRubyStuck.
func (m *Master) SetResponse(path string, status int, body string) {
	m.setResponses(path, canned{status: status, body: body})
}

// setResponses sets the responses to a path, one for each request. The last one stays.
func (m *Master) setResponses(path string, list ...canned) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.answers == nil {
		m.answers = map[string][]canned{}
	}
	m.answers[path] = list
}

// SetPool sets the pool that the service jruby-metrics reports, and the pools that it reports to the next questions.
// The last one stays. By default there are four JRubies, all of them free. A server that has not locked its pool
// reports as LockSince when it started.
func (m *Master) SetPool(first check.Pool, next ...check.Pool) {
	list := []canned{ok(poolResponse(first))}
	for _, p := range next {
		list = append(list, ok(poolResponse(p)))
	}
	m.setResponses(poolPath, list...)
}

// SetService sets the state that the Status API reports for a service. Any state but
// running is answered with 503. By default only ca exists, and is running.
func (m *Master) SetService(name, state string) {
	m.SetResponse(simplePath+name, statusOf(state), state)
}

// SetPuppetDB makes the master answer as PuppetDB too, with this state: it is error while PuppetDB has no database.
func (m *Master) SetPuppetDB(state string) {
	m.SetResponse("/status/v1/services/puppetdb-status", statusOf(state), fmt.Sprintf(`{"state":%q}`, state))
}

func statusOf(state string) int {
	if state == "running" {
		return http.StatusOK
	}
	return http.StatusServiceUnavailable
}

func (m *Master) response(path string) canned {
	m.mu.Lock()
	defer m.mu.Unlock()

	if m.state == Denied && strings.HasPrefix(path, "/status/v1/") {
		return forbidden(path)
	}
	if m.state == JRubyStuck && path == poolPath {
		return ok(poolResponse(stuckPool(time.Since(m.since))))
	}
	if list := m.answers[path]; len(list) > 0 {
		if len(list) > 1 {
			m.answers[path] = list[1:]
		}
		return list[0]
	}

	word := string(Running)
	if m.state == Starting || m.state == Error {
		word = string(m.state)
	}
	switch path {
	case poolPath:
		return canned{status: statusOf(word), body: poolResponse(check.Pool{Size: 4, Free: 4})}
	case simplePath + "ca":
		return ok("running")
	case simplePath + "server", simplePath + "master", strings.TrimSuffix(simplePath, "/"):
		return canned{status: statusOf(word), body: word}
	}
	return canned{status: http.StatusNotFound, body: "not found: " + path}
}

func ok(body string) canned { return canned{status: http.StatusOK, body: body} }

// forbidden is the response to a request that auth.conf denies.
func forbidden(path string) canned {
	return canned{
		status: http.StatusForbidden,
		body:   "Forbidden request: " + path + " (method :get). Please see the server logs for details.",
	}
}

func stuckPool(d time.Duration) check.Pool {
	stuck := check.Loan{Request: "POST /puppet/v3/catalog/stuck.example.test", Seconds: d.Seconds()}
	waiting := check.Loan{Request: "GET /puppet/v3/node/waiting.example.test", Seconds: d.Seconds()}
	return check.Pool{
		Size:     4,
		Borrowed: slices.Repeat([]check.Loan{stuck}, 4),
		Waiting:  slices.Repeat([]check.Loan{waiting}, 9),
	}
}

// poolResponse formats a pool the way Puppet Server 7.9.5 does.
func poolResponse(p check.Pool) string {
	lock := map[string]any{
		"current-state":    ":" + cmp.Or(p.Lock, "not-in-use"),
		"last-change-time": p.LockSince.UTC().Format("2006-01-02T15:04:05.000Z"),
	}
	metrics := map[string]any{
		"num-jrubies":           p.Size,
		"num-free-jrubies":      p.Free,
		"borrowed-instances":    loans(p.Borrowed),
		"requested-instances":   loans(p.Waiting),
		"borrow-timeout-count":  p.Timeouts,
		"queue-limit-hit-count": p.LimitHits,
	}
	experimental := map[string]any{"jruby-pool-lock-status": lock, "metrics": metrics}

	data, err := json.Marshal(map[string]any{
		"service_version":        "7.9.5",
		"service_status_version": 1,
		"detail_level":           "debug",
		"state":                  "running",
		"status":                 map[string]any{"experimental": experimental},
	})
	if err != nil {
		panic(err)
	}
	return string(data)
}

func loans(list []check.Loan) []any {
	out := []any{}
	for _, l := range list {
		method, uri, _ := strings.Cut(l.Request, " ")
		request := map[string]any{"uri": uri, "request-method": strings.ToLower(method)}
		out = append(out, map[string]any{
			"duration-millis": int64(l.Seconds * 1000),
			"reason":          map[string]any{"request": request},
		})
	}
	return out
}
