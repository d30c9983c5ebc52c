package puppetclient

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// maxFile bounds what is read of any one PEM file. A CRL entry takes about 40
// bytes, so this leaves room for several hundred thousand revoked agents.
const maxFile = 32 << 20

// Files names the PEM files of a probe, as Puppet lays them out.
type Files struct {
	Certificate string // hostcert: offered to the master
	Key         string // hostprivkey
	CA          string // localcacert: what the master is verified with
	CRL         string // hostcrl; not read with RevocationOff
	Revocation  Revocation
}

func (f Files) revocation() Revocation { return cmp.Or(f.Revocation, RevocationChain) }

// Credentials reads Files, and reads them again when they change. A set is
// used only if all of it is good: a certificate half written, or one that
// does not fit its key, leaves the last good set in use. The zero value with
// Files set is ready to use; it is safe for concurrent use.
type Credentials struct {
	Files Files

	mu     sync.Mutex
	stamps [4]stamp // of the files as last read
	read   pemFiles // as last read
	good   *material
	err    error // why the files as last read are not in use
}

// stamp is what changes about a file when its content does.
type stamp struct {
	info fs.FileInfo
	err  string
}

func (s stamp) same(t stamp) bool {
	if s.info == nil || t.info == nil {
		return s.info == nil && t.info == nil && s.err == t.err
	}
	return os.SameFile(s.info, t.info) && s.info.Size() == t.info.Size() && s.info.ModTime().Equal(t.info.ModTime())
}

// material returns the set to use now. With a nil set the error says why
// there is none; with a set it says why newer files are not in use. Files are
// opened only if they look changed or force is set, and parsed only if their
// content differs.
func (c *Credentials) material(force bool) (*material, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stamps := c.stat()
	changed := force
	for i := range stamps {
		changed = changed || !stamps[i].same(c.stamps[i])
	}
	if changed || (c.good == nil && c.err == nil) {
		c.stamps = stamps
		c.reload()
	}
	return c.good, c.err
}

func (c *Credentials) paths() []string {
	paths := []string{c.Files.Certificate, c.Files.Key, c.Files.CA}
	if c.Files.revocation() != RevocationOff {
		paths = append(paths, c.Files.CRL)
	}
	return paths
}

func (c *Credentials) stat() (stamps [4]stamp) {
	for i, path := range c.paths() {
		info, err := os.Stat(path)
		if err != nil {
			stamps[i].err = err.Error()
			continue
		}
		stamps[i].info = info
	}
	return stamps
}

func (c *Credentials) reload() {
	var contents [4][]byte
	for i, path := range c.paths() {
		data, err := readFile(path)
		if err != nil {
			c.read, c.err = pemFiles{}, err
			return
		}
		contents[i] = data
	}
	read := pemFiles{certificate: contents[0], key: contents[1], ca: contents[2], crl: contents[3]}
	if read.equal(c.read) {
		return
	}
	m, err := parseMaterial(c.Files, read)
	c.read, c.err = read, err
	if err == nil {
		c.good = m
	}
}

func (p pemFiles) equal(q pemFiles) bool {
	return bytes.Equal(p.certificate, q.certificate) && bytes.Equal(p.key, q.key) &&
		bytes.Equal(p.ca, q.ca) && bytes.Equal(p.crl, q.crl)
}

func readFile(path string) ([]byte, error) {
	if path == "" {
		return nil, errors.New("no path is set for one of certificate, key, CA and CRL")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d MiB", path, maxFile>>20)
	}
	return data, nil
}
