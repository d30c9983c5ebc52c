// Package puppetclient sends requests to a Puppet service over mutual TLS, the way an
// agent does: to Puppet Server, PuppetDB, the CA, or PE's.
//
// A [Client] verifies the chain, the name and the CRLs of a server by itself, the latter as
// certificate_revocation asks. It offers the host's certificate to every server, unless the
// files show that it is of no use: see [Response.Anonymous]. A handshake costs Puppet Server about
// ten times as much as a request, so a connection is kept. Every error of a Client is an [*Error]
// with a [Reason] from a closed set. [Credentials] are read again when the files change.
package puppetclient

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pmcheck/pmcheck/check/bounded"
)

const (
	// DefaultHandshake is the value used where a Client's Handshake is zero.
	DefaultHandshake = 5 * time.Minute

	plainHTTP = "http://"
	// maxResponse bounds a response. The longest lists the requests of Puppet Server: Jetty lets about 200 of them
	// wait, and a path may have 8 KiB or more.
	maxResponse = 16 << 20
	// maxKept bounds what is kept of a response, in which each text has cutText bytes at most.
	maxKept = 4 << 20
	cutText = 300
	// readTime is how long a request waits for the PEM files, which takes milliseconds unless their
	// file system hangs. Then the request goes on with the files that were read last.
	readTime = time.Second
)

// Client sends requests to a Puppet service over mutual TLS. The exported fields must
// be set before the first use. A Client is safe for concurrent use: while one request
// hangs, others get a connection of their own.
type Client struct {
	// Address is the host:port to connect to. With http:// before it, requests are plain HTTP: for a
	// server on this host whose TLS ends elsewhere.
	Address    string
	ServerName string // the server's certname: TLS server name and Host header
	// Names are other names of the server that agents use. If its certificate has one of them, and not
	// ServerName, agents are served: the Client calls it by that name, and says what it Lacks. The certificate must be
	// verified with the CA then, and the server on this host: the others of a pool have these names, too.
	Names []string
	// AnyName is set if the server's certname is not known, and ServerName is empty. The server may have any name then:
	// it is called by a name in its own certificate. Without a certname, a CA or TLS, it must be on this host.
	AnyName bool
	// Guessed is set if ServerName and the paths in Credentials may be wrong: what they prove is not Proved. If Names are
	// not known either, a server on this host may have any name in a certificate that is verified with the CA.
	Guessed     bool
	Credentials *Credentials
	Timeout     time.Duration // for a whole request
	Handshake   time.Duration // how long a connection is kept at most; 0 means DefaultHandshake
	// Lost, if set, is called when the server ends a kept connection. It is
	// called from another goroutine and must not block.
	Lost func()

	once      sync.Once
	transport *http.Transport
	material  atomic.Pointer[material] // what the next handshake uses
	conn      atomic.Pointer[conn]     // the newest connection
	open      sync.Map                 // of *conn that have not been closed
	called    atomic.Pointer[string]   // the other name that the next request uses; nil for ServerName
}

// Response is the response to one request, with a description of the connection.
type Response struct {
	URL       string // what was asked
	Status    int    // the HTTP status code, 0 without a response
	Body      []byte
	Handshake bool                   // the request used a new connection instead of a kept one
	TLS       string                 // version and cipher of the connection; empty if there was none
	Server    *x509.Certificate      // what the server showed; nil if there was no connection
	Own       *x509.Certificate      // the certificate of this host; nil if it could not be used
	CAs       []*x509.Certificate    // in the order of the bundle
	CRLs      []*x509.RevocationList // in use, in the order of the file
	Warning   error                  // why not all files are in use as they are on disk; nil if they are
	Anonymous error                  // why no certificate was offered; nil if one was
	// Doubt is why the server could not be verified as Files ask for, through the fault of these files: a CRL is missing
	// or has expired, or the server's CA may be among the certificates that cannot be parsed. Doubt is an *Error, or nil.
	Doubt   error
	Guessed bool // see Client.Guessed; there is nothing to guess without TLS
	// Proved is set if both ends of the connection have proved who they are: the server by ServerName, the CA and
	// the CRLs, as Files ask for, and this host because the server asked for its certificate and got it.
	Proved bool
	// Lacks is ServerName if the server's certificate has only one of Names; else empty.
	Lacks string
}

// Local returns the client's ends of the connections that are open now, so that a
// caller can tell them from connections of agents.
func (c *Client) Local() (ends []netip.AddrPort) {
	for open := range c.open.Range {
		end := open.(*conn).LocalAddr().(*net.TCPAddr).AddrPort()
		ends = append(ends, netip.AddrPortFrom(end.Addr().Unmap(), end.Port()))
	}
	return ends
}

// Close closes the kept connections. The client may be used again.
func (c *Client) Close() {
	c.once.Do(c.init)
	c.transport.CloseIdleConnections()
}

func (c *Client) init() {
	c.transport = &http.Transport{
		DialContext:            c.dial,
		DialTLSContext:         c.dial,
		MaxIdleConnsPerHost:    1,
		IdleConnTimeout:        cmp.Or(c.Handshake, DefaultHandshake),
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
	}
}

// renew reads the files, and closes a kept connection that is older than Handshake, was made
// with other files, or has seen the first of its certificates and CRLs expire, so that the next
// request makes a new one. It returns the results of Credentials.material.
func (c *Client) renew(ctx context.Context, now time.Time) (*material, error) {
	c.once.Do(c.init)
	last := c.conn.Load()
	isDue := last == nil || last.due(now)

	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	m, err := c.Credentials.material(ctx)
	if isDue || m != c.material.Load() {
		c.transport.CloseIdleConnections()
		c.conn.Store(nil)
		c.called.Store(nil) // the server may have another certificate by now
	}
	c.material.Store(m)
	return m, err
}

// dial connects and shakes hands. It has the timeout of a request anew: net/http lets a
// dial go on after the request that started it has timed out.
func (c *Client) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()

	address := strings.TrimPrefix(c.Address, plainHTTP)
	raw, err := Dial(ctx, address)
	if err != nil {
		return nil, err
	}

	m := c.material.Load()
	isLocal := local(raw)
	if c.unverified(m) && !isLocal {
		raw.Close()
		return nil, failed(NotVerified, "%s is on another host, and cannot be verified without its certname, a CA and TLS",
			address)
	}
	if !isLocal {
		c.called.Store(nil) // a server on this host had the other name
	}

	made := &conn{Conn: raw, client: c, born: time.Now()}
	if !c.plain() {
		if err := made.shakeHands(ctx, m, c.name()); err != nil {
			raw.Close()
			return nil, err
		}
	}

	c.open.Store(made, nil)
	c.conn.Store(made)
	return made, nil
}

// unverified reports whether there is nothing to verify the server with: its certname is not known, the CA could not be
// read, or there is no TLS.
func (c *Client) unverified(m *material) bool { return c.AnyName || m.roots == nil || c.plain() }

// local reports whether both ends of a connection are on this host: to an address of its own, the kernel connects from
// that address.
func local(c net.Conn) bool {
	here := c.LocalAddr().(*net.TCPAddr).IP
	there := c.RemoteAddr().(*net.TCPAddr).IP
	return there.IsLoopback() || there.Equal(here)
}

// name returns the name by which the server is called now.
func (c *Client) name() string {
	if other := c.called.Load(); other != nil {
		return *other
	}
	return c.ServerName
}

// Do sends a GET request for a path, which may have a query. It returns within its timeout, or
// when ctx is done. The error is an *Error; the Response then contains what is known nevertheless.
// A status code other than 200 is not an error. After an error the next request makes a new
// connection.
func (c *Client) Do(ctx context.Context, path string) (Response, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()

	m, err := c.renew(ctx, time.Now())
	a := c.response(m, err)
	a.URL = "https://" + c.Address + path
	if c.plain() {
		a.URL = c.Address + path
	}

	used, err := c.send(ctx, &a)
	if other, is := errors.AsType[*otherNameError](err); is {
		// Jetty refuses a Host that differs from the TLS server name, or is not in the certificate.
		c.called.Store(&other.name)
		used, err = c.send(ctx, &a)
	}

	if used != nil {
		used.describe(&a, err)
	}
	if err != nil {
		c.conn.CompareAndSwap(used, nil) // another request may have made a new one
		return a, classify(err, m, used, c.Address, time.Now())
	}
	return a, nil
}

// Known returns what is known without a connection: the files in use, and what is wrong with them.
func (c *Client) Known(ctx context.Context) Response {
	return c.response(c.Credentials.material(ctx))
}

// response returns a Response with the files in use, and with the error of Credentials.material.
func (c *Client) response(m *material, unused error) Response {
	a := Response{Own: m.own.Leaf, CAs: m.bundle, CRLs: m.crls}
	if !c.plain() {
		a.Warning = unused
		a.Anonymous = m.trouble(time.Now())
		a.Guessed = c.Guessed
	}
	return a
}

func (c *Client) plain() bool { return strings.HasPrefix(c.Address, plainHTTP) }

// send sends the request of a response, and returns the connection that was used; nil if there was none.
func (c *Client) send(ctx context.Context, a *Response) (used *conn, err error) {
	trace := &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		used = got.Conn.(*conn)
		a.Handshake = !got.Reused
	}}

	err = c.roundTrip(httptrace.WithClientTrace(ctx, trace), a)
	return used, err
}

func (c *Client) roundTrip(ctx context.Context, a *Response) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL, nil)
	if err != nil {
		return err
	}
	req.Host = c.name() // Jetty refuses a Host that differs from the TLS server name
	// Puppet 3 to 6 insist on a format, and Puppet 3 on its own dialect of JSON.
	req.Header.Set("Accept", "application/json, pson")
	req.Header.Set("User-Agent", "pmcheck")

	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()

	a.Status = resp.StatusCode
	stream := &io.LimitedReader{R: resp.Body, N: maxResponse + 1}
	a.Body, err = io.ReadAll(io.LimitReader(bounded.Texts(stream, cutText), maxKept+1))
	// When the client gives up, the server ends its response early, and the response
	// can look complete.
	if ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	if isTooLong := stream.N <= 0 || len(a.Body) > maxKept; isTooLong {
		a.Body = nil
		return failed(ResponseTooLong, "%s: the answer is longer than pmcheck reads: %d MiB, and %d with its texts cut",
			a.URL, maxResponse>>20, maxKept>>20)
	}
	return err
}

// conn is a connection to the server that records when it was made and how it ended.
// net/http always has a read pending on an idle connection, so its end is noticed at
// once, long before the next request.
type conn struct {
	net.Conn
	client  *Client
	born    time.Time
	expires time.Time             // when the first of its certificates and CRLs does, after born; zero if none does
	trouble error                 // why no certificate is offered
	asked   bool                  // the server has asked for a certificate
	checked bool                  // the server is verified by ServerName, the CA and the CRLs, as Files ask for
	doubt   error                 // see Response.Doubt
	proved  bool                  // see Response.Proved
	lacks   string                // see Response.Lacks
	closed  atomic.Bool           // by Close, not by the peer
	err     atomic.Pointer[error] // why reading ended
}

// due reports whether a connection has been kept for as long as it may be: its server may have another certificate,
// and what verified it may have expired. While a CRL is in doubt, the server decides at each handshake, and may load
// the same CRL at any time.
func (c *conn) due(now time.Time) bool {
	age := now.Sub(c.born)
	hasExpired := !c.expires.IsZero() && now.After(c.expires)
	return c.doubt != nil || hasExpired || age >= cmp.Or(c.client.Handshake, DefaultHandshake)
}

// shakeHands makes a TLS connection to a server that is called by this name; empty if it is not known yet.
func (c *conn) shakeHands(ctx context.Context, m *material, name string) error {
	own := &m.own
	c.trouble = m.trouble(c.born)
	if c.trouble != nil {
		own = &tls.Certificate{}
	}

	config := m.clientConfig(name, own)
	offer := config.GetClientCertificate
	config.GetClientCertificate = func(r *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		c.asked = true
		return offer(r)
	}
	config.VerifyConnection = func(s tls.ConnectionState) error { return c.verify(m, name, s.PeerCertificates) }

	secured := tls.Client(c.Conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		return cmp.Or(c.required(err), err)
	}

	c.Conn = secured
	c.expires = m.nextExpiry(secured.ConnectionState().PeerCertificates, c.born)
	ownSent := c.asked && c.trouble == nil && m.own.Leaf != nil
	c.proved = ownSent && c.checked && m.why() == nil
	return nil
}

// verify verifies a server that is called by this name; empty if it is not known yet.
func (c *conn) verify(m *material, name string, peers []*x509.Certificate) error {
	if name == "" && c.client.AnyName {
		return askByName(peers[0])
	}

	want := expected{name: name, others: c.otherNames(peers[0]), onHost: local(c.Conn)}
	doubt, fault := m.verifyServer(peers, want, time.Now())
	if fault != nil {
		return fault
	}

	byItsName := name != "" && name == c.client.ServerName
	if !byItsName {
		c.lacks = c.client.ServerName
	}

	asFilesAsk := doubt == nil && m.canVerify()
	nameIsSure := byItsName && !c.client.Guessed
	c.doubt = doubt
	c.checked = asFilesAsk && nameIsSure
	return nil
}

// required returns an *Error if a TLS alert of the server says that it requires a certificate, and none could be
// offered. Only a server that was verified is believed. In TLS 1.3 the alert is certificate_required, in TLS 1.2
// handshake_failure (RFC 5246, section 7.4.6), and Java's is bad_certificate.
func (c *conn) required(alert error) error {
	noneOffered := c.asked && c.trouble != nil
	if !noneOffered || !c.checked || !isAlert(alert, 116, 40, 42) {
		return nil
	}
	return failed(CertificateRequired, "%s requires a certificate, and none is offered: %w", c.client.Address, c.trouble)
}

// otherNames returns names that the certificate of the server may have instead of ServerName.
func (c *conn) otherNames(server *x509.Certificate) []string {
	if !local(c.Conn) {
		return nil // another master of the pool would do
	}
	if c.client.Guessed && len(c.client.Names) == 0 {
		return namesIn(server)
	}
	return c.client.Names
}

// describe adds the connection to a response. err is why there is no response.
func (c *conn) describe(a *Response, err error) {
	a.Anonymous = c.trouble
	secured, is := c.Conn.(*tls.Conn)
	if !is {
		return
	}
	// A kept connection that ended without a response does not show the server as it is now.
	if err != nil && !a.Handshake {
		return
	}

	state := secured.ConnectionState()
	a.TLS = tls.VersionName(state.Version) + ", " + tls.CipherSuiteName(state.CipherSuite)
	a.Server = state.PeerCertificates[0]
	a.Doubt = c.doubt
	a.Proved = c.proved
	a.Lacks = c.lacks
}

// Read records the first error, and calls Client.Lost if the peer ended the connection.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil || c.closed.Load() {
		return n, err
	}

	isFirst := c.err.CompareAndSwap(nil, &err)
	if isFirst && c.client.Lost != nil {
		c.client.Lost()
	}
	return n, err
}

// Close closes the connection from this side.
func (c *conn) Close() error {
	c.closed.Store(true)
	c.client.open.Delete(c)
	c.client.conn.CompareAndSwap(c, nil)
	return c.Conn.Close()
}

// refusal returns the TLS alert with which the peer ended the connection, or
// nil. With TLS 1.3 a refused client certificate shows only here, and the
// request may fail on a write before the alert is read.
func (c *conn) refusal() error {
	if c == nil {
		return nil
	}
	err := c.err.Load()
	if err != nil && remoteAlert(*err) {
		return *err
	}
	return nil
}

// remoteAlert reports whether an error is a TLS alert sent by the peer. crypto/tls
// wraps such an alert, whose type it does not export, in a net.OpError with this Op.
func remoteAlert(err error) bool {
	op, is := errors.AsType[*net.OpError](err)
	return is && op.Op == "remote error"
}

// refusesCertificate reports whether a TLS alert that was sent by the peer refuses the certificate of a client, or the
// lack of one: 42 to 49 but for 47, and 116, of RFC 8446, section 6.2.
func refusesCertificate(alert error) bool { return isAlert(alert, 42, 43, 44, 45, 46, 48, 49, 116) }

// isAlert reports whether an error is one of these TLS alerts, sent by the peer.
func isAlert(err error, alerts ...tls.AlertError) bool {
	op, is := errors.AsType[*net.OpError](err)
	return is && op.Op == "remote error" && slices.ContainsFunc(alerts, func(a tls.AlertError) bool {
		return op.Err.Error() == a.Error() // the type of op.Err is not exported
	})
}
