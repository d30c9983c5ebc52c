package status

import (
	"bytes"
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

	"github.com/pmcheck/pmcheck/drain"
)

// ErrNoDaemon is wrapped by errors of a Client that gets no answer from a daemon.
var ErrNoDaemon = errors.New("the daemon does not answer")

// Bounds on what is read from a daemon. The largest status that Encode returns, with as many requests, balancers and
// environments as are kept, has 2 MB. In memory a value can take a hundred times what it takes in
// JSON: each service of {"services":[{},{},… does.
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

// Client reads a daemon's status: over the unix socket on this host, or over HTTP from
// another host whose status_allow permits it. It trusts neither daemon: everything it
// returns, including errors, is safe to print, and the services have valid names.
type Client struct {
	Socket string // path of the unix socket
	URL    string // http://host:port; if set, used instead of Socket
}

// Status returns the daemon's status. The error wraps ErrNoDaemon if there is no daemon to ask.
func (c Client) Status(ctx context.Context) (Status, error) {
	s, err := c.ask(ctx)
	if err != nil {
		return Status{}, foreignError{error: err}
	}

	Printable(&s)
	// Names of services become arguments in a shell that completes them.
	s.Services = slices.DeleteFunc(s.Services, func(v ServiceStatus) bool {
		return drain.CheckName(string(v.Name)) != nil
	})
	return s, nil
}

// ask returns what the daemon sends. Neither the status nor the error is safe to print.
func (c Client) ask(ctx context.Context) (s Status, err error) {
	base := c.URL
	where := c.URL
	transport := &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: maxAnswerHeader}
	if c.URL == "" {
		base = "http://pmcheck"
		where = c.Socket
		transport.DialContext = c.dialSocket
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
func (c Client) dialSocket(ctx context.Context, _, _ string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, AskTime)
	defer cancel()

	for {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", c.Socket)
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

// Encode returns the JSON of a status, a value a line. What is in it is bounded, so that a Client reads any.
func Encode(s Status) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // six bytes for one, and no browser takes JSON for HTML
	encoder.SetIndent("", "  ")
	err := encoder.Encode(s)
	return b.Bytes(), err
}

// decode reads a status from JSON, up to the bounds.
func decode(body io.Reader, s *Status) error {
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
func (c Client) Now(ctx context.Context) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, AskTime)
	defer cancel()
	return c.Status(ctx)
}

// Follow returns a function that returns the status, at once the first time, and after a pause of 250 ms
// from then on. It returns an error wrapping ErrNoDaemon if no daemon answers within two seconds. It is not
// safe for concurrent use.
func (c Client) Follow() (next func(context.Context) (Status, error)) {
	pause := time.Duration(0)
	return func(ctx context.Context) (Status, error) {
		select {
		case <-ctx.Done():
			return Status{}, ctx.Err()
		case <-time.After(pause):
		}
		pause = FollowEvery

		return c.Now(ctx)
	}
}
