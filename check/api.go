package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// API is a generation of Puppet's status interface.
type API string

// The generations, newest first, with the versions that answer them. The first two also
// report the pool of JRubies.
const (
	APIPool         API = "jruby-metrics"    // Puppet Server 5 and later, OpenVox
	APIPoolPE       API = "pe-jruby-metrics" // the same on PE
	APISimpleServer API = "simple/server"    // Puppet Server 6.14 and later, OpenVox
	APISimpleMaster API = "simple/master"    // Puppet Server 2.6 to 6.13
	APIPuppetV3     API = "puppet/v3"        // Puppet 4 to 6
	APIPuppet3      API = "puppet3"          // Puppet 3 and earlier
)

// serviceAPI returns the API that asks for one service by name. It has only one
// generation.
func serviceAPI(name string) API { return API("simple/" + url.PathEscape(name)) }

// generations returns the APIs in the order in which they are tried on a master
// whose generation is not known.
func generations() []API {
	return []API{APIPool, APIPoolPE, APISimpleServer, APISimpleMaster, APIPuppetV3, APIPuppet3}
}

// pool reports whether the answer of the generation contains the pool of JRubies.
func (a API) pool() bool { return a == APIPool || a == APIPoolPE }

// path returns the path and query to request. Only the old generations use the
// environment.
func (a API) path(environment string) string {
	switch a {
	case APIPool, APIPoolPE:
		return "/status/v1/services/" + string(a) + "?level=debug"
	case APIPuppetV3:
		return "/puppet/v3/status/pmcheck?environment=" + url.QueryEscape(environment)
	case APIPuppet3:
		return "/" + url.PathEscape(environment) + "/status/no_key"
	}
	return "/status/v1/" + string(a)
}

// indirected reports whether the generation is one before the Status API.
func (a API) indirected() bool { return a == APIPuppetV3 || a == APIPuppet3 }

// accept returns the Accept header; Puppet 3 insists on its own dialect of
// JSON.
func (a API) accept() string {
	switch {
	case a.pool():
		return "application/json"
	case a.indirected():
		return "application/json, pson"
	}
	return "text/plain"
}

// limit returns the longest answer in bytes. A loan of a JRuby takes under 1 KiB, and Jetty
// lets about 200 requests wait; the other answers have under 1 KiB.
func (a API) limit() int64 {
	if a.pool() {
		return 1 << 20
	}
	return maxAnswer
}

// answer is the answer to a status request, and the generation that was asked.
type answer struct {
	puppetclient.Answer
	api API
}

// absent reports whether the answer may mean only that this server speaks another
// generation, so that neither its routes nor its access rules contain the path.
func (a answer) absent() bool {
	return slices.Contains([]int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound}, a.Status)
}

// elsewhere reports whether another generation must be asked. That a service of metrics is
// not running says nothing about the master.
func (a answer) elsewhere() bool { return a.absent() || a.api.pool() && a.interpret() != nil }

// interpret judges an answer. It returns nil if the master reports that it is healthy.
func (a answer) interpret() *Fault {
	switch {
	case a.Status == http.StatusForbidden:
		return a.fault(AuthDenied, "403 Forbidden: the master's auth.conf lacks the rule for the status API")
	case a.Status == http.StatusNotFound && !slices.Contains(generations(), a.api):
		return a.fault(ServiceNotFound, "404 Not Found: the server has no service of that name")
	case a.Status == http.StatusNotFound:
		return a.fault(NoStatusAPI, "404 Not Found for every generation of the status API")
	case a.api.indirected():
		return a.interpretIndirection()
	}
	return a.interpretSimple()
}

// interpretSimple reads the state that the Status API returns: 200 with "running", or 503 with
// another state.
func (a answer) interpretSimple() *Fault {
	word := a.word()
	if a.Status == http.StatusOK && word == "running" {
		return nil
	}
	if a.Status == http.StatusOK {
		return a.fault(BadAnswer, "200, but the state is not running")
	}
	state, known := map[string]Reason{
		"error":    StateError,
		"starting": StateStarting,
		"stopping": StateStopping,
		"unknown":  StateUnknown,
	}[word]
	if known && a.Status == http.StatusServiceUnavailable {
		return a.fault(state, "the server reports the state "+word)
	}
	return a.httpFault()
}

// word returns the state in the answer.
func (a answer) word() string {
	if !a.api.pool() {
		return strings.TrimSpace(string(a.Body[:min(len(a.Body), 64)]))
	}
	var service struct {
		State string `json:"state"`
	}
	if json.Unmarshal(a.Body, &service) != nil {
		return ""
	}
	return service.State
}

func (a answer) interpretIndirection() *Fault {
	if a.Status != http.StatusOK {
		return a.httpFault()
	}
	var status struct {
		IsAlive bool `json:"is_alive"`
	}
	if err := json.Unmarshal(a.Body, &status); err != nil {
		return a.fault(BadAnswer, err.Error())
	}
	if !status.IsAlive {
		return a.fault(BadAnswer, "200, but is_alive is not true")
	}
	return nil
}

func (a answer) fault(reason Reason, what string) *Fault {
	return &Fault{reason, errors.New(a.URL + ": " + what)}
}

func (a answer) httpFault() *Fault {
	return a.fault(HTTPError, fmt.Sprintf("HTTP status %d %s", a.Status, http.StatusText(a.Status)))
}
