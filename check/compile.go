package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// DefaultSlowAfter is used where a Compile's SlowAfter is zero.
const DefaultSlowAfter = time.Minute

// The bounds of an answer of the compiler: a catalog, and the server's own
// words when there is none.
const (
	maxCatalog = 128 << 20
	maxMessage = 500
)

// Compile has the master compile the host's own catalog: the only question
// whose answer is what agents come for. A broken site.pp, a module that does
// not parse, an unreachable PuppetDB all show here and nowhere else.
//
// The price is that of an agent's request: it waits for a JRuby, occupies it
// for as long as the catalog takes, and keeps its place if it is given up.
// So make it rarely, every ten minutes say, and never for somebody who waits
// for an answer. Nothing that all masters share, PuppetDB or code that is
// deployed everywhere, tells one master from another: if it breaks, all of
// them fail this check at once.
type Compile struct {
	// Client needs the host's own certificate, which may fetch the catalog of
	// that name only, and a Timeout as long as a compilation may take.
	Client      *Client
	Certname    string
	Environment string        // empty means production
	SlowAfter   time.Duration // a longer compilation is worth a warning

	busy sync.Mutex // held by the compilation under way
}

// Check compiles once, unless a compilation is under way: there are never two.
// Safe for concurrent use.
func (c *Compile) Check(ctx context.Context) Finding {
	slow := orDefault(c.SlowAfter, DefaultSlowAfter)
	f := Finding{Check: CheckCompile, State: StateOK, Reason: OK, Threshold: slow.String(), Checked: time.Now()}
	if !c.busy.TryLock() {
		f.State, f.Reason, f.Detail = StateNone, NotKnown, "a compilation is under way already"
		return f
	}
	defer c.busy.Unlock()
	status, body, err := c.Client.Get(ctx, c.path(), maxCatalog)
	took := time.Since(f.Checked)
	if err == nil {
		err = readCatalog(status, body)
	}
	f.Value = fmt.Sprintf("%.1f s", took.Seconds())
	var fault *Fault
	switch {
	case err == nil && took > slow:
		f.State, f.Health, f.Reason = StateWarn, Busy, CompileSlow
		f.Detail = fmt.Sprintf("the catalog of %s took %.1f s", c.Certname, took.Seconds())
	case err == nil:
	case errors.As(err, &fault) && (fault.Reason == CompileFailed || fault.Reason == Timeout):
		f.State, f.Health, f.Reason, f.Detail = StateBad, Unhealthy, CompileFailed, err.Error()
	default: // the way to the master is the probe's affair
		f.State, f.Reason, f.Detail = StateNone, NotKnown, err.Error()
	}
	return f
}

func (c *Compile) path() string {
	environment := c.Environment
	if environment == "" {
		environment = "production"
	}
	return "/puppet/v3/catalog/" + url.PathEscape(c.Certname) + "?environment=" + url.QueryEscape(environment)
}

// readCatalog concludes from an answer. The error is the Fault CompileFailed
// if an agent would have none either, and another if it is about our asking.
func readCatalog(status int, body []byte) error {
	if status != http.StatusOK {
		what := fmt.Sprintf("HTTP status %d: %s", status, message(body))
		if status >= http.StatusInternalServerError {
			return &Fault{Reason: CompileFailed, Detail: what}
		}
		return errors.New("the catalog was denied: " + what)
	}
	var catalog struct {
		Name      *string     `json:"name"`
		Resources *[]struct{} `json:"resources"`
	}
	if err := json.Unmarshal(body, &catalog); err != nil {
		return &Fault{Reason: CompileFailed, Detail: "the answer is no catalog", Err: err}
	}
	if catalog.Name == nil || catalog.Resources == nil {
		return &Fault{Reason: CompileFailed, Detail: "the answer is no catalog: it has no name or no resources"}
	}
	return nil
}

// message returns the server's own words for what went wrong, which are JSON
// or plain text, bounded and on one line.
func message(body []byte) string {
	var said struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(body, &said) == nil && said.Message != "" {
		return clean(said.Message, maxMessage)
	}
	return clean(string(body), maxMessage)
}
