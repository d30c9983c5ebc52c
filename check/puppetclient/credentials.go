package puppetclient

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
)

// maxFile bounds what is read of any one PEM file. A CRL entry takes about 40
// bytes, so this leaves room for some 200,000 revoked agents, which take some 300 MiB of memory.
const maxFile = 8 << 20

// Files names the PEM files of a host, as Puppet lays them out. The tags are those of a configuration.
type Files struct {
	Certificate string     `yaml:"certificate" path:"absolute"` // hostcert: offered to the server
	Key         string     `yaml:"key" path:"absolute"`         // hostprivkey
	CA          string     `yaml:"ca" path:"absolute"`          // localcacert: what the server is verified with
	CRL         string     `yaml:"crl" path:"absolute"`         // hostcrl; not read with RevocationOff
	Revocation  Revocation `yaml:"-"`                           // certificate_revocation
}

// Credentials reads Files, before each use. A set is used only if all of it is good: a certificate
// that is half written, or does not match its key, leaves the last good set in use. The zero value
// with Files set is ready to use; it is safe for concurrent use.
type Credentials struct {
	Files Files

	mu   sync.Mutex
	read pemFiles  // as last read
	used *material // nil before the first reading
	err  error     // why the files as last read are not in use as a whole
}

// pemFiles is the content of the files: certificate, key, CA and CRL.
type pemFiles [4][]byte

// material returns the set to use now. The error, an *Error, says why not all of the files as
// they are now are in use: the last good set is, or, before there was one, as much of them as is
// good. Files are parsed only if their content differs from what was read last.
func (c *Credentials) material() (*material, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	read, unread := c.Files.read()
	if unread == nil && c.used != nil && slices.EqualFunc(read[:], c.read[:], bytes.Equal) {
		return c.used, c.err
	}
	m, err := parseMaterial(c.Files, read)
	if err != nil {
		err = &Error{OwnFilesInvalid, err}
	}
	if unread != nil {
		read, err = pemFiles{}, unread
	}
	c.read, c.err, m.why = read, err, err
	if c.used == nil || c.used.why != nil || err == nil {
		c.used = m
	}
	return c.used, c.err
}

// TLS returns the configuration for connections to another kind of server. The server
// is verified as a Client verifies Puppet's: chain, name and revocation. The error says
// why the files cannot be used.
func (c *Credentials) TLS(serverName string) (*tls.Config, error) {
	m, err := c.material()
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
		switch {
		case unread != nil || err == nil:
		case errors.Is(err, fs.ErrNotExist):
			unread = &Error{OwnFilesMissing, err}
		default:
			unread = &Error{OwnFiles, err}
		}
		read[i] = data
	}
	return read, unread
}

func readFile(path string) ([]byte, error) {
	if path == "" {
		return nil, errors.New("no path is set for one of certificate, key, CA and CRL")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, withOwner(err, path)
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

// withOwner adds to the error of a file that this process may not read the owner, group and mode of the file, or
// of the directory above it that keeps this process out.
func withOwner(err error, path string) error {
	info, hidden := os.Stat(path)
	for hidden != nil && path != filepath.Dir(path) {
		path = filepath.Dir(path)
		info, hidden = os.Stat(path)
	}
	if hidden != nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	stat := info.Sys().(*syscall.Stat_t)
	owner, group := strconv.Itoa(int(stat.Uid)), strconv.Itoa(int(stat.Gid))
	if u, err := user.LookupId(owner); err == nil {
		owner = u.Username
	}
	if g, err := user.LookupGroupId(group); err == nil {
		group = g.Name
	}
	return fmt.Errorf("%w (%s has owner %s, group %s, mode %04o)", err, path, owner, group, info.Mode().Perm())
}
