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
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/pmcheck/pmcheck/check/bounded"
)

const (
	// maxFile bounds what is read of any one PEM file, in MiB. A CRL entry takes about 40
	// bytes, so this leaves room for some 200,000 revoked agents, which take some 300 MiB of memory.
	maxFile = 8
	// maxBlocks bounds the certificates, keys and CRLs in one file. Puppet's own bundles have two; each
	// certificate of a chain is compared with all of them.
	maxBlocks = 200
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
// that is half written, or does not match its key, leaves the last good set in use. A CA that was read stays in use
// until there is another. The zero value with Files set is ready to use; it is safe for concurrent use.
type Credentials struct {
	Files Files

	reading singleflight.Group       // one at a time; it alone uses read and err
	read    pemFiles                 // as last read
	err     error                    // why the files as last read are not in use as a whole
	used    atomic.Pointer[material] // nil before the first reading
}

// pemFiles is the content of the files: certificate, key, CA and CRL.
type pemFiles [4][]byte

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
	return &material{why: err}, err
}

// refresh reads the files, and parses them if their content differs from what was read last. It
// returns what material returns.
func (c *Credentials) refresh() (*material, error) {
	used := c.used.Load()
	read, unread := c.Files.read()
	if unread == nil && used != nil && slices.EqualFunc(read[:], c.read[:], bytes.Equal) {
		return used, c.err
	}

	m, err := parseMaterial(c.Files, read)
	if err != nil {
		err = &Error{Reason: OwnFilesInvalid, Err: err}
	}
	if unread != nil {
		err = unread
		read = pemFiles{} // to be parsed when they can be read, even if they are the same
	}
	c.read = read
	c.err = err
	m.why = err

	// Whatever else is in use, the server goes on being verified.
	if used != nil && m.roots == nil {
		m.bundle = used.bundle
		m.roots = used.roots
		m.intermediates = used.intermediates
	}

	// A set that is good as a whole stays in use until there is another.
	partlyUsed := used == nil || used.why != nil
	if partlyUsed || err == nil {
		used = m
		c.used.Store(m)
	}
	return used, c.err
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

// read returns the content of the files that can be read, and the first error, an *Error.
func (f Files) read() (read pemFiles, unread error) {
	paths := []string{f.Certificate, f.Key, f.CA}
	if f.Revocation != RevocationOff {
		paths = append(paths, f.CRL)
	}

	for i, path := range paths {
		data, err := readFile(path)
		read[i] = data
		if err != nil && unread == nil {
			unread = &Error{Reason: whyUnread(path, err), Err: err}
		}
	}
	return read, unread
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
// is what paths that are only guessed must show before they are used.
func (f Files) Fit(root string, now time.Time) error {
	for _, path := range []*string{&f.Certificate, &f.Key, &f.CA, &f.CRL} {
		*path = filepath.Join(root, *path)
	}

	read, _ := f.read() // what could not be read cannot be used either
	m, err := parseMaterial(f, read)
	if m.own.Leaf == nil || m.roots == nil {
		return err
	}
	_, err = m.chains([]*x509.Certificate{m.own.Leaf}, x509.ExtKeyUsageClientAuth, now)
	return err
}

func readFile(path string) ([]byte, error) {
	if path == "" {
		return nil, errors.New("the path of one of certificate, key, CA and CRL is not known")
	}
	data, err := bounded.File(path, maxFile)
	return data, withOwner(err, path)
}

// withOwner adds to the error of a file that this process may not read the owner, group and mode of the file, or
// of the directory above it that keeps this process out.
func withOwner(err error, path string) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}

	info, hidden := os.Stat(path)
	for hidden != nil {
		path = filepath.Dir(path)
		info, hidden = os.Stat(path)
	}
	stat := info.Sys().(*syscall.Stat_t)

	owner := strconv.Itoa(int(stat.Uid))
	if u, err := user.LookupId(owner); err == nil {
		owner = u.Username
	}
	group := strconv.Itoa(int(stat.Gid))
	if g, err := user.LookupGroupId(group); err == nil {
		group = g.Name
	}
	return fmt.Errorf("%w (%s has owner %s, group %s, mode %04o)", err, path, owner, group, info.Mode().Perm())
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
	own           tls.Certificate // with Leaf set; zero if it cannot be used
	bundle        []*x509.Certificate
	roots         *x509.CertPool // the self-signed certificates of the bundle; nil if it cannot be used
	intermediates *x509.CertPool // the others
	crls          []*x509.RevocationList
	revocation    Revocation
	why           error // why not all of the files can be used
}

// parseMaterial returns as much of the files as can be used, and the first error. Without a
// usable certificate and key, own is zero; without a CA bundle, roots is nil, and without CRLs,
// nothing is looked up in them.
func parseMaterial(f Files, p pemFiles) (*material, error) {
	m := &material{revocation: f.Revocation}

	ownErr := m.parseOwn(p[0], p[1])
	if ownErr != nil {
		ownErr = fmt.Errorf("%s with key %s: %w", f.Certificate, f.Key, ownErr)
		m.own = tls.Certificate{}
	}

	caErr := m.parseBundle(p[2])
	if caErr != nil {
		caErr = fmt.Errorf("%s: %w", f.CA, caErr)
		m.bundle = nil
		m.roots = nil
	}

	var crlErr error
	if m.revocation != RevocationOff {
		crlErr = m.parseCRLs(p[3])
	}
	if crlErr != nil {
		crlErr = fmt.Errorf("%s: %w", f.CRL, crlErr)
		m.crls = nil
		m.revocation = RevocationOff
	}

	return m, cmp.Or(ownErr, caErr, crlErr)
}

// parseOwn reads a certificate, with any intermediates after it, and its key
// in PKCS#1, SEC1 or PKCS#8 form.
func (m *material) parseOwn(certificate, key []byte) (err error) {
	if _, err := blocks(certificate, "certificate"); err != nil {
		return err
	}
	if _, err := blocks(key, "key"); err != nil {
		return err
	}
	m.own, err = tls.X509KeyPair(certificate, key)
	return err
}

// parseBundle splits Puppet's CA file into trust anchors, which are self-signed, and
// intermediates. The order in the file does not matter.
func (m *material) parseBundle(data []byte) error {
	list, err := blocks(data, "CA", "CERTIFICATE", "TRUSTED CERTIFICATE")
	if err != nil {
		return err
	}

	for _, block := range list {
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return fmt.Errorf("CA certificate: %w", err)
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
		return errors.New("no self-signed root in the CA file")
	}
	return nil
}

func (m *material) parseCRLs(data []byte) error {
	list, err := blocks(data, "CRL", "X509 CRL")
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("no X509 CRL in the CRL file")
	}

	for _, block := range list {
		crl, err := x509.ParseRevocationList(block.Bytes)
		if err != nil {
			return fmt.Errorf("CRL: %w", err)
		}
		m.crls = append(m.crls, crl)
	}
	return nil
}

// blocks returns the PEM blocks of these types. A file that is empty, half written or has too many is an error.
func blocks(data []byte, what string, types ...string) (list []*pem.Block, err error) {
	begins := bytes.Count(data, []byte("-----BEGIN "))
	ends := bytes.Count(data, []byte("-----END "))
	if begins == 0 || begins != ends {
		return nil, fmt.Errorf("the %s file is not complete PEM: %d BEGIN and %d END lines", what, begins, ends)
	}
	if begins > maxBlocks {
		return nil, fmt.Errorf("the %s file has %d certificates, keys and CRLs, more than %d", what, begins, maxBlocks)
	}

	block, rest := pem.Decode(data)
	for block != nil {
		if slices.Contains(types, block.Type) {
			list = append(list, block)
		}
		block, rest = pem.Decode(rest)
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
