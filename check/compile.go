package check

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/check/text"
)

// The name of the check, and its reasons.
const (
	CheckCompile = "compile"

	CompileFailed Reason = "compile-failed"
	CompileSlow   Reason = "compile-slow"
)

// CompileSettings say how often a catalog is compiled, and how long it may take.
type CompileSettings struct {
	// Interval is the pause between two compilations.
	Interval time.Duration `yaml:"interval" min:"1m" max:"24h"`
	// Timeout is how long one may take before it counts as failed.
	Timeout time.Duration `yaml:"timeout" min:"1s" max:"1h"`
	// SlowAfter is how long one may take before the check warns.
	SlowAfter time.Duration `yaml:"slow_after" min:"1s" max:"1h"`
}

func compile() Check {
	s := &CompileSettings{Interval: 10 * time.Minute, Timeout: 2 * time.Minute, SlowAfter: time.Minute}
	return Check{
		Name:     CheckCompile,
		Title:    "a whole catalog",
		Severity: Off,
		Asks: "GET /puppet/v3/catalog/<certname>: the master compiles the host's own catalog, rarely, one at a time, " +
			"never while a balancer waits.",
		Why: "A site.pp that does not parse, a broken module or a hanging ENC make every agent fail, and nothing but " +
			"a catalog shows it.",
		Because: "a compilation occupies a JRuby like an agent's does, and code that is broken everywhere would take " +
			"all masters out at once. Set it to eject if you switch it on: a master that cannot compile its own " +
			"catalog serves no agent.",
		Do: "puppet agent -t --noop on the host shows the same error; so does puppetserver.log.",
		Reasons: []Cause{
			{CompileFailed, "", "puppet agent -t --noop on this host shows the same error; see puppetserver.log"},
			{CompileSlow, "", "see which functions take long: puppet agent -t --noop --profile, or the server's " +
				"/status/v1/services/puppet-profiler?level=debug"},
		},
		Settings: s,
		Schedule: func(h Host) *Scheduled {
			c := &compileCheck{
				client:      h.client(),
				environment: url.QueryEscape(cmp.Or(h.Environment, "production")),
				slow:        s.SlowAfter,
			}
			c.client.Timeout, c.client.Handshake = s.Timeout, h.Handshake
			return &Scheduled{Check: c.check, Interval: s.Interval, Timeout: s.Timeout, Client: c.client}
		},
	}
}

// The bounds, in bytes, of the answer to a request for a catalog, and of the server's
// error message if there is none.
const (
	maxCatalog = 128 << 20
	maxMessage = 500
)

// compileCheck makes the master compile the host's own catalog, as an agent would. It
// costs what an agent's request costs: it waits for a JRuby, occupies it until the
// catalog is compiled, and keeps its place in the queue even if the client times out.
type compileCheck struct {
	client      *puppetclient.Client
	environment string
	slow        time.Duration
}

// check compiles once. Puppet Server gives a catalog only to the node of the client's
// certificate. The server's name, probe.certname, may be another.
func (c *compileCheck) check(ctx context.Context) Finding {
	f := newFinding(CheckCompile)
	f.Threshold = text.Duration(c.slow)
	certname, err := c.client.Credentials.Certname()
	if err != nil {
		return f.unknown(err.Error())
	}
	path := "/puppet/v3/catalog/" + url.PathEscape(certname) + "?environment=" + c.environment
	status, body, err := c.client.Get(ctx, path, maxCatalog)
	took := time.Since(f.Checked)
	if err == nil {
		err = readCatalog(status, body)
	}
	f.Value = text.Age(took)
	switch fault := faultOf(err); {
	case err == nil && took > c.slow:
		f.State, f.Health, f.Reason = StateWarn, Busy, CompileSlow
		f.Detail = "the catalog of " + certname + " took " + f.Value
	case err == nil:
	case fault != nil && (fault.Reason == CompileFailed || fault.Reason == Timeout):
		f.State, f.Health, f.Reason, f.Detail = StateBad, Unhealthy, CompileFailed, err.Error()
	default: // the probe reports faults on the way to the master
		return f.unknown(err.Error())
	}
	return f
}

// readCatalog checks the answer to a request for a catalog. The error is a Fault with
// CompileFailed if an agent would get no catalog either. It is no Fault if only this
// request was refused.
func readCatalog(status int, body []byte) error {
	switch {
	case status >= http.StatusInternalServerError:
		return &Fault{CompileFailed, fmt.Errorf("HTTP status %d: %s", status, message(body))}
	case status != http.StatusOK:
		return fmt.Errorf("the catalog was denied: HTTP status %d: %s", status, message(body))
	}
	var catalog struct {
		Name      *string     `json:"name"`
		Resources *[]struct{} `json:"resources"`
	}
	if err := json.Unmarshal(body, &catalog); err != nil {
		return &Fault{CompileFailed, fmt.Errorf("the answer is not a catalog: %w", err)}
	}
	if catalog.Name == nil || catalog.Resources == nil {
		return &Fault{CompileFailed, errors.New("the answer is not a catalog: it has no name or no resources")}
	}
	return nil
}

// message returns the server's error message, from a body in JSON or plain text,
// bounded and on one line.
func message(body []byte) string {
	var said struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &said) == nil && said.Message != "" {
		return text.Printable(said.Message, maxMessage)
	}
	return text.Printable(string(body), maxMessage)
}
