// Package client reads the status of a daemon: over the unix socket on this host, or over HTTP from another host.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"syscall"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/drain"
)

// ErrNoDaemon is wrapped by errors of a Daemon that does not answer.
var ErrNoDaemon = errors.New("the daemon does not answer")

// Bounds on what is read from a daemon. The largest status that status.Encode returns, with as many requests,
// balancers and environments as are kept, has 2 MB. In memory a value can take a hundred times what it takes in JSON:
// each service of {"services":[{},{},… does.
const (
	maxStatus       = 4 << 20
	maxAnswerHeader = 16 << 10
	maxValues       = 60_000
)

const (
	// AskTime is how long Now waits for the daemon's answer: setting a hold must work without one.
	AskTime = 2 * time.Second
	// FollowEvery is the pause of Follow before it asks again.
	FollowEvery = 250 * time.Millisecond
)

// Daemon is a daemon whose status is read: over the unix socket on this host, or over HTTP from
// another host whose status_allow permits it. Neither is trusted: whatever its methods
// return, including errors, is safe to print, and the services have valid names.
type Daemon struct {
	Socket string // path of the unix socket
	URL    string // http://host:port; if set, used instead of Socket
}

// Status returns the daemon's status. The error wraps ErrNoDaemon if there is no daemon to ask.
func (d Daemon) Status(ctx context.Context) (status.Status, error) {
	s, err := d.ask(ctx)
	if err != nil {
		return status.Status{}, foreignError{error: err}
	}

	status.Printable(&s)
	// Names of services become arguments in a shell that completes them.
	s.Services = slices.DeleteFunc(s.Services, func(v status.ServiceStatus) bool {
		return drain.CheckName(string(v.Name)) != nil
	})
	return s, nil
}

// ask returns what the daemon sends. Neither the status nor the error is safe to print.
func (d Daemon) ask(ctx context.Context) (s status.Status, err error) {
	base := d.URL
	where := d.URL
	transport := &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: maxAnswerHeader}
	if d.URL == "" {
		base = "http://pmcheck"
		where = d.Socket
		transport.DialContext = d.dialSocket
	}

	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/status", nil)
	if err != nil {
		return s, err
	}
	req.Host = "localhost" // the master need not know the name under which it is asked
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return s, fmt.Errorf("%w on %s: %w", ErrNoDaemon, where, err)
	}
	defer resp.Body.Close()

	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusForbidden:
		return s, fmt.Errorf("%s answers %s: see status_allow there", where, resp.Status)
	default:
		return s, fmt.Errorf("%s answers %s", where, resp.Status)
	}

	err = decode(resp.Body, &s)
	if err != nil && ctx.Err() != nil { // a daemon that hangs in the middle of its answer
		return s, fmt.Errorf("%w on %s: %w", ErrNoDaemon, where, err)
	}
	if err != nil {
		return s, fmt.Errorf("status from %s: %w", where, err)
	}
	return s, nil
}

// dialSocket connects to the unix socket. If its queue of connections is full, which any user of the
// host can bring about, it tries again for AskTime.
func (d Daemon) dialSocket(ctx context.Context, _, _ string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, AskTime)
	defer cancel()

	for {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", d.Socket)
		if !errors.Is(err, syscall.EAGAIN) {
			return conn, err
		}

		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// decode reads a status from JSON, up to the bounds.
func decode(body io.Reader, s *status.Status) error {
	data, err := io.ReadAll(io.LimitReader(body, maxStatus+1))
	if err != nil {
		return err
	}
	if len(data) > maxStatus || values(data) > maxValues {
		return errors.New("the answer is too long")
	}
	return json.Unmarshal(data, s)
}

// values counts the values in JSON. Each value but the first of a list follows a comma or a brace outside of texts.
func values(data []byte) (n int) {
	inText := false
	escaped := false
	for _, c := range data {
		if escaped {
			escaped = false
			continue
		}

		switch c {
		case '\\':
			escaped = inText
		case '"':
			inText = !inText
		case ',', '{':
			if !inText {
				n++
			}
		}
	}
	return n
}

// Now returns the daemon's status. It returns an error wrapping ErrNoDaemon if no daemon answers within AskTime.
func (d Daemon) Now(ctx context.Context) (status.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, AskTime)
	defer cancel()
	return d.Status(ctx)
}

// Follow returns a function that returns the status, at once the first time, and after a pause of 250 ms
// from then on. It returns an error wrapping ErrNoDaemon if no daemon answers within two seconds. It is not
// safe for concurrent use.
func (d Daemon) Follow() (next func(context.Context) (status.Status, error)) {
	pause := time.Duration(0)
	return func(ctx context.Context) (status.Status, error) {
		select {
		case <-ctx.Done():
			return status.Status{}, ctx.Err()
		case <-time.After(pause):
		}
		pause = FollowEvery

		return d.Now(ctx)
	}
}

// foreignError is an error that quotes what another host sent.
type foreignError struct{ error }

func (e foreignError) Error() string {
	said := e.error.Error()
	status.Printable(&said)
	return said
}

func (e foreignError) Unwrap() error { return e.error }
