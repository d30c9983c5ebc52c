package puppetclient

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/pmcheck/pmcheck/check/bounded"
)

const (
	// maxFile bounds what is read of any one PEM file, in bytes. A CRL entry takes about 40
	// bytes, so this leaves room for some 200,000 revoked agents, which take some 300 MiB of memory.
	maxFile = 8 << 20
	// maxBlocks bounds the certificates, keys and CRLs in one file. Puppet's own bundles have two; each
	// certificate of a chain is compared with all of them.
	maxBlocks = 200
	// firstReading bounds the wait of Ready.
	firstReading = 10 * time.Second
)

// Files names the PEM files of a host, as Puppet lays them out. The tags are for a configuration.
type Files struct {
	Certificate string     `yaml:"certificate" path:"absolute"` // hostcert: offered to the server
	Key         string     `yaml:"key" path:"absolute"`         // hostprivkey
	CA          string     `yaml:"ca" path:"absolute"`          // localcacert: what the server is verified with
	CRL         string     `yaml:"crl" path:"absolute"`         // hostcrl; not read with RevocationOff
	Revocation  Revocation `yaml:"-"`                           // certificate_revocation
}

// Credentials reads Files, before each use. A set is used only if all of it is good: a certificate
// that is half written, or does not match its key, leaves the last good set in use. Without a good set, each part that
// was read stays in use until there is another: the certificate with its key, the CA, and the CRLs. The zero value with
// Files set is ready to use; it is safe for concurrent use.
type Credentials struct {
	Files Files

	reading singleflight.Group        // one at a time; it alone uses read
	read    contents                  // as last read
	used    atomic.Pointer[material]  // nil before the first reading
	began   atomic.Pointer[time.Time] // when the first reading began
	unused  error                     // why the files as last read are not in use as a whole
}

// contents is what the files have: certificate, key, CA and CRL.
type contents [4]content

// content is what one file has, or why it cannot be read.
type content struct {
	data []byte
	err  error // an *Error
}

// same reports whether nothing has changed from one reading to the next.
func (c content) same(other content) bool {
	return bytes.Equal(c.data, other.data) && fmt.Sprint(c.err) == fmt.Sprint(other.err)
}

// Ready waits until the files have been read for the first time, which takes seconds for a CRL of megabytes on a busy
// host: without the files, a server can be neither verified nor asked as an agent asks. Ready returns when ctx is done,
// and 10 s after the first reading began: a file system that hangs is not waited for again.
func (c *Credentials) Ready(ctx context.Context) {
	if c.used.Load() != nil {
		return
	}

	now := time.Now()
	c.began.CompareAndSwap(nil, &now)
	ctx, cancel := context.WithDeadline(ctx, c.began.Load().Add(firstReading))
	defer cancel()
	c.material(ctx)
}

// material returns the set to use now. The error, an *Error, says why not all of the files as
// they are now are in use: the last good set is, or, before there was one, as much of them as is
// good. A file system may hang, so material waits for the files until ctx is done; a reading that
// hangs is the next caller's, too.
func (c *Credentials) material(ctx context.Context) (*material, error) {
	reading := c.reading.DoChan("", func() (any, error) { return c.refresh() })
	select {
	case done := <-reading:
		return done.Val.(*material), done.Err
	case <-ctx.Done():
	}

	err := failed(OwnFiles, "%s and the others cannot be read: the file system does not answer", c.Files.Certificate)
	if last := c.used.Load(); last != nil {
		return last, err
	}
	return &material{ownErr: err, caErr: err, crlErr: err}, err
}

// refresh reads the files, and parses them if their content differs from what was read last. It
// returns what material returns.
func (c *Credentials) refresh() (*material, error) {
	used := c.used.Load()
	read := c.Files.read()
	if used != nil && slices.EqualFunc(read[:], c.read[:], content.same) {
		return used, c.unused
	}

	m := c.Files.parse(read)
	c.read = read
	c.unused = m.why()
	if used != nil {
		m.keep(used)
	}

	// A set that is good as a whole stays in use until there is another.
	staysInUse := used != nil && used.isWhole() && !m.isWhole()
	if staysInUse {
		m = used.beside(m.caSkips)
	}
	c.used.Store(m)
	return m, c.unused
}

// TLS returns the configuration for connections to another kind of server. The server
// is verified as a Client verifies Puppet's: chain, name and revocation. The error says
// why the files cannot be used. TLS returns when ctx is done, even if the file system hangs.
func (c *Credentials) TLS(ctx context.Context, serverName string) (*tls.Config, error) {
	m, err := c.material(ctx)
	if m.own.Leaf == nil || m.roots == nil {
		return nil, err
	}
	return m.clientConfig(serverName, &m.own), nil
}

// read returns the content of the files.
func (f Files) read() (read contents) {
	paths := []string{f.Certificate, f.Key, f.CA}
	if f.Revocation != RevocationOff {
		paths = append(paths, f.CRL)
	}

	for i, path := range paths {
		data, err := readFile(path)
		read[i].data = data
		if err != nil {
			read[i].err = &Error{Reason: whyUnread(path, err), Err: err}
		}
	}
	return read
}

// whyUnread returns the reason for the error of a file.
func whyUnread(path string, err error) Reason {
	if path == "" {
		return OwnFilesNotKnown
	}
	if errors.Is(err, fs.ErrNotExist) {
		return OwnFilesMissing
	}
	return OwnFiles
}

// Fit returns nil if certificate, key and CA below the directory root are there and belong together at a time, which
// is what paths that are only guessed must show before they are used. The clock of a host that has just started may be
// behind, so a certificate that is not yet valid fits.
func (f Files) Fit(root string, now time.Time) error {
	f.Revocation = RevocationOff // the list is not needed for that, and may be long
	for _, path := range []*string{&f.Certificate, &f.Key, &f.CA, &f.CRL} {
		*path = filepath.Join(root, *path)
	}

	m := f.parse(f.read())
	if m.own.Leaf == nil || m.roots == nil {
		return m.why()
	}
	for _, c := range append(m.bundle, m.own.Leaf) {
		if now.Before(c.NotBefore) {
			now = c.NotBefore
		}
	}
	_, err := m.chains([]*x509.Certificate{m.own.Leaf}, x509.ExtKeyUsageClientAuth, now)
	return err
}

func readFile(path string) ([]byte, error) {
	if path == "" {
		return nil, errors.New("the path of one of certificate, key, CA and CRL is not known")
	}
	data, err := bounded.File(path, maxFile)
	return data, bounded.Denied(err, path)
}

// Revocation says which certificates of a chain are looked up in revocation lists, in the
// words of Puppet's certificate_revocation. Any other word, and the zero value, means
// every certificate up to the root.
type Revocation string

// The other depths of a revocation check.
const (
	RevocationLeaf Revocation = "leaf"  // the server's certificate only
	RevocationOff  Revocation = "false" // none; the CRL file is not even read
)

// material is one consistent set of everything a handshake needs, read from
// the files at one moment. It is immutable.
type material struct {
	own    tls.Certificate // with Leaf set; zero if it cannot be used
	ownErr error           // why it cannot be used

	bundle        []*x509.Certificate
	roots         *x509.CertPool // the self-signed certificates of the bundle; nil if it cannot be used
	intermediates *x509.CertPool // the others
	caErr         error          // why the CA's file cannot be used
	caSkips       skips

	crls       []*x509.RevocationList
	revocation Revocation // RevocationOff if the CRL's file cannot be used
	crlErr     error      // why it cannot be used
	crlSkips   skips
}

// skips says which certificates or CRLs in a file cannot be parsed, and are left out.
type skips []error

// err returns what is left out, an *Error; nil if nothing is.
func (s skips) err() error {
	if len(s) == 0 {
		return nil
	}
	if more := len(s) - 1; more > 0 {
		return failed(OwnFilesSkipped, "%w, and %d more", s[0], more)
	}
	return &Error{Reason: OwnFilesSkipped, Err: s[0]}
}

// lack returns the error for a file that lacks something, unless that is what is left out.
func (s skips) lack(what string) error {
	if skipped := s.err(); skipped != nil {
		return failed(OwnFilesSkipped, "%s that can be parsed: %w", what, skipped)
	}
	return errors.New(what)
}

// why returns why the files are not in use as they are on disk, an *Error; nil if they are.
func (m *material) why() error {
	return cmp.Or(m.ownErr, m.caErr, m.crlErr, m.caSkips.err(), m.crlSkips.err())
}

// isWhole reports whether each of the files can be used, at least in part.
func (m *material) isWhole() bool { return cmp.Or(m.ownErr, m.caErr, m.crlErr) == nil }

// canVerify reports whether the CA bundle and the CRLs can be used, at least in part.
func (m *material) canVerify() bool { return m.caErr == nil && m.crlErr == nil }

// beside returns the same set while the CA's file has what cannot be parsed. That may be the CA of a server that no CA
// in the set has issued.
func (m *material) beside(s skips) *material {
	if len(s) == 0 {
		return m
	}
	same := *m
	same.caSkips = s
	return &same
}

// keep takes from the set that was used before what cannot be used now.
func (m *material) keep(used *material) {
	if m.own.Leaf == nil {
		m.own = used.own
	}
	if m.roots == nil {
		m.bundle = used.bundle
		m.roots = used.roots
		m.intermediates = used.intermediates
		if len(m.caSkips) == 0 {
			m.caSkips = used.caSkips
		}
	}
	if m.crlErr != nil {
		m.crls = used.crls
		m.revocation = used.revocation
		m.crlSkips = used.crlSkips
	}
}

// parse returns as much of the files as can be used. Without a usable certificate and key, own is zero; without a CA
// bundle, roots is nil, and without CRLs, nothing is looked up in them.
func (f Files) parse(read contents) *material {
	m := &material{revocation: f.Revocation}
	certificate := read[0]
	key := read[1]
	ca := read[2]
	crl := read[3]

	m.ownErr = cmp.Or(certificate.err, key.err)
	if m.ownErr == nil {
		m.ownErr = within(f.Certificate+" with key "+f.Key, m.parseOwn(certificate.data, key.data))
	}
	if m.ownErr != nil {
		m.own = tls.Certificate{}
	}

	m.caErr = ca.err
	if m.caErr == nil {
		m.caErr = within(f.CA, m.parseBundle(f.CA, ca.data))
	}
	if m.caErr != nil {
		m.bundle = nil
		m.roots = nil
	}

	if f.Revocation == RevocationOff {
		return m
	}
	m.crlErr = crl.err
	if m.crlErr == nil {
		m.crlErr = within(f.CRL, m.parseCRLs(f.CRL, crl.data))
	}
	if m.crlErr != nil {
		m.crls = nil
		m.revocation = RevocationOff
	}
	return m
}

// within returns the *Error for a file that cannot be used; nil if err is.
func within(path string, err error) error {
	if err == nil {
		return nil
	}
	reason := OwnFilesInvalid
	if known, is := errors.AsType[*Error](err); is {
		reason = known.Reason
	}
	return failed(reason, "%s: %w", path, err)
}

// parseOwn reads a certificate, with any intermediates after it, and its key
// in PKCS#1, SEC1 or PKCS#8 form.
func (m *material) parseOwn(certificate, key []byte) error {
	list, err := elements(certificate, "certificate")
	if err != nil {
		return err
	}
	if _, err := elements(key, "key"); err != nil {
		return err
	}

	m.own, err = tls.X509KeyPair(certificate, key)
	if err == nil {
		return nil
	}
	if _, unparsable := x509.ParseCertificate(list[0].der); unparsable != nil && list[0].der != nil {
		return &Error{Reason: OwnCertUnreadable, Err: unparsable}
	}
	return err
}

// parseBundle splits Puppet's CA file into trust anchors, which are self-signed, and
// intermediates. The order in the file does not matter.
func (m *material) parseBundle(path string, data []byte) error {
	list, err := elements(data, "CA", "CERTIFICATE", "TRUSTED CERTIFICATE")
	if err != nil {
		return err
	}

	for _, e := range list {
		c, err := x509.ParseCertificate(e.der)
		if err != nil {
			m.caSkips = append(m.caSkips, fmt.Errorf("%s in %s: %w", e.place, path, err))
			continue
		}
		m.bundle = append(m.bundle, c)
	}

	m.roots = x509.NewCertPool()
	m.intermediates = x509.NewCertPool()
	for _, c := range m.bundle {
		if bytes.Equal(c.RawIssuer, c.RawSubject) {
			m.roots.AddCert(c)
		} else {
			m.intermediates.AddCert(m.linked(c))
		}
	}
	if m.roots.Equal(x509.NewCertPool()) {
		return m.caSkips.lack("no self-signed root in the CA file")
	}
	return nil
}

func (m *material) parseCRLs(path string, data []byte) error {
	list, err := elements(data, "CRL", "X509 CRL")
	if err != nil {
		return err
	}

	for _, e := range list {
		crl, err := x509.ParseRevocationList(e.der)
		if err != nil {
			m.crlSkips = append(m.crlSkips, fmt.Errorf("%s in %s: %w", e.place, path, err))
			continue
		}
		m.crls = append(m.crls, crl)
	}
	if len(m.crls) == 0 {
		return m.crlSkips.lack("no X509 CRL in the CRL file")
	}
	return nil
}

// element is a block of a PEM file.
type element struct {
	der   []byte // nil if it is not PEM
	place string // in the file
}

// elements returns the blocks of these types, or all blocks if no type is given. It returns an error for a file that
// is empty, is half written or has too many blocks. Each block is decoded by itself, so that a block that is not PEM
// is not taken for a part of the next.
func elements(data []byte, what string, types ...string) (list []element, err error) {
	begin := []byte("-----BEGIN ")
	begins := bytes.Count(data, begin)
	ends := bytes.Count(data, []byte("-----END "))
	if begins == 0 || begins != ends {
		return nil, fmt.Errorf("the %s file is not complete PEM: %d BEGIN and %d END lines", what, begins, ends)
	}
	if begins > maxBlocks {
		return nil, fmt.Errorf("the %s file has %d certificates, keys and CRLs, more than %d", what, begins, maxBlocks)
	}

	for i, text := range bytes.Split(data, begin)[1:] {
		kind, _, _ := bytes.Cut(text, []byte("-----"))
		if len(types) > 0 && !slices.Contains(types, string(kind)) {
			continue
		}

		e := element{place: fmt.Sprintf("block %d of %d", i+1, begins)}
		if block, _ := pem.Decode(slices.Concat(begin, text)); block != nil {
			e.der = block.Bytes
		}
		list = append(list, e)
	}
	return list, nil
}

// nextExpiry returns when the first of the certificates and CRLs of a connection expires after
// a time; zero if none does.
func (m *material) nextExpiry(peers []*x509.Certificate, after time.Time) (first time.Time) {
	certificates := slices.Concat(peers, m.bundle)
	if m.own.Leaf != nil {
		certificates = append(certificates, m.own.Leaf)
	}

	var ends []time.Time
	for _, c := range certificates {
		ends = append(ends, c.NotAfter)
	}
	for _, crl := range m.crls {
		ends = append(ends, crl.NextUpdate)
	}

	for _, end := range ends {
		isEarlier := first.IsZero() || end.Before(first)
		if isEarlier && end.After(after) {
			first = end
		}
	}
	return first
}
