package check

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// maxHeader bounds the headers of an answer.
const maxHeader = 64 << 10

// The values used where a Client's fields are zero.
const (
	DefaultTimeout   = 1500 * time.Millisecond
	DefaultHandshake = 30 * time.Second // Jetty ends an idle connection then
)

// Client asks a Puppet service questions over mutual TLS. It keeps a
// connection, since a handshake costs Puppet Server about ten times as much
// as a question. Set the exported fields before the first use; a Client is
// safe for concurrent use, and a question that is not answered delays no
// other: each then has a connection of its own.
type Client struct {
	Address     string // host:port to connect to
	ServerName  string // the server's certname: TLS server name and Host header
	Credentials *Credentials
	Timeout     time.Duration // for a whole question
	Handshake   time.Duration // the longest that a connection is kept
	// Lost, if set, is called when the server ends a kept connection. It is
	// called from another goroutine and must not block.
	Lost func()

	once      sync.Once
	transport *http.Transport
	material  atomic.Pointer[material] // what the next handshake uses
	conn      atomic.Pointer[conn]     // the newest connection
	ends      sync.Map                 // netip.AddrPort of our ends of the open ones
}

// Local returns our ends of the connections that are open now, so that others
// can tell them from those of agents.
func (c *Client) Local() []netip.AddrPort {
	var ends []netip.AddrPort
	c.ends.Range(func(end, _ any) bool {
		ends = append(ends, end.(netip.AddrPort))
		return true
	})
	return ends
}

// Close ends the kept connections. The client may be used again.
func (c *Client) Close() {
	c.once.Do(c.init)
	c.transport.CloseIdleConnections()
}

func (c *Client) init() {
	c.transport = &http.Transport{
		DialTLSContext:         c.dial,
		MaxIdleConnsPerHost:    1,
		MaxResponseHeaderBytes: maxHeader,
		DisableCompression:     true,
	}
}

// renew looks at the files and ends a kept connection that is too old or was
// made with other files, so that the next question shakes hands. It returns
// what Credentials.material does.
func (c *Client) renew(now time.Time) (*material, error) {
	c.once.Do(c.init)
	last := c.conn.Load()
	due := last == nil || now.Sub(last.born) >= c.handshake()
	m, err := c.Credentials.material(due)
	if due || m != c.material.Load() {
		c.transport.CloseIdleConnections()
		c.conn.Store(nil)
	}
	c.material.Store(m)
	return m, err
}

// dial bounds itself: net/http lets a dial go on after the request that
// wanted it has given up.
func (c *Client) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	made, err := dial(ctx, c.Address, c.material.Load().clientConfig(c.ServerName, time.Now), c.signalLost)
	if err != nil {
		return nil, err
	}
	if tcp, ok := made.LocalAddr().(*net.TCPAddr); ok {
		end := netip.AddrPortFrom(tcp.AddrPort().Addr().Unmap(), tcp.AddrPort().Port())
		c.ends.Store(end, nil)
		made.ended = func() { c.ends.Delete(end) }
	}
	c.conn.Store(made)
	return made, nil
}

func (c *Client) signalLost() {
	if c.Lost != nil {
		c.Lost()
	}
}

// answer is what came back for one request.
type answer struct {
	api    API // of a status question
	url    string
	status int
	body   []byte
	tooBig bool
}

// get asks for a path and reads at most limit bytes of the answer.
func (c *Client) get(ctx context.Context, path, accept string, limit int64) (answer, error) {
	a := answer{url: "https://" + c.Address + path}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url, nil)
	if err != nil {
		return a, err
	}
	req.Host = c.ServerName // Jetty refuses a Host that differs from the TLS server name
	req.Header.Set("Accept", accept)
	req.Header.Set("User-Agent", "pmcheck")
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	a.status = resp.StatusCode
	a.body, a.tooBig, err = readBounded(resp.Body, limit)
	if ctx.Err() != nil {
		// Giving up makes the server end its answer, which can look like a
		// whole one.
		err = errors.Join(ctx.Err(), err)
	}
	return a, err
}

// Get asks for a path and returns status code and body. It returns within
// Timeout, or when ctx is done. The error is a *Fault: the way there, TLS, or
// an answer of more than limit bytes; a status code other than 200 is none.
func (c *Client) Get(ctx context.Context, path string, limit int64) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	m, err := c.renew(time.Now())
	if m == nil {
		return 0, nil, ownFilesFault(err)
	}
	a, err := c.get(ctx, path, "application/json", limit)
	if err != nil {
		return 0, nil, classify(err, m, c.conn.Load(), c.Address, time.Now())
	}
	if a.tooBig {
		return 0, nil, a.fault(BadAnswer, "longer than such an answer can be")
	}
	return a.status, a.body, nil
}

func (c *Client) timeout() time.Duration {
	if c.Timeout > 0 {
		return c.Timeout
	}
	return DefaultTimeout
}

func (c *Client) handshake() time.Duration {
	if c.Handshake > 0 {
		return c.Handshake
	}
	return DefaultHandshake
}
