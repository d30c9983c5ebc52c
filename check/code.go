package check

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/pmcheck/pmcheck/check/bounded"
	"github.com/pmcheck/pmcheck/check/text"
)

// CheckCode is the name of the check. It has no reasons of its own.
const CheckCode = "code"

// CodeSettings say where the environments are.
type CodeSettings struct {
	// Dir is the environmentpath: one directory for each environment. If it is
	// empty, the check does not run.
	Dir string `yaml:"dir" path:"absolute"`
}

const (
	codeEvery       = 2 * time.Minute
	maxEnvironments = 1000   // that are reported
	maxEntries      = 10_000 // of a directory
	maxRecord       = 1      // MiB of a record of r10k or g10k, which has about 100 bytes for each module
)

func code() Check {
	return Check{Name: CheckCode, Severity: Warn, Shared: true}
}

func (s CodeSettings) schedule() *Scheduled {
	var calls singleflight.Group
	check := func(ctx context.Context) Finding {
		f := newFinding(CheckCode)
		list, err := aside(ctx, &calls, s.Dir, environments)
		switch {
		case err != nil:
			return f.unknown(err.Error())
		case len(list) == 0:
			return Finding{}
		}
		f.Code, f.Value = list, fmt.Sprintf("%d environments, code %s", len(list), hash(list))
		return f
	}
	return &Scheduled{Check: check, Interval: codeEvery, Timeout: codeEvery / 2}
}

// Environment is one environment, and which code it has: the same ID is the same code. What is
// on disk may not yet be what is served: with environment_timeout = unlimited the server keeps
// what it has parsed.
type Environment struct {
	Name string `json:"name"`
	// ID is a hash of what r10k or g10k has deployed, else the commit that is checked out, else
	// the newest modification time of what is in the environment.
	ID string `json:"id"`
}

func environments(dir string) (list []Environment, err error) {
	entries, err := entriesOf(dir)
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil && info.IsDir() && len(list) < maxEnvironments {
			list = append(list, Environment{text.Printable(e.Name(), maxPath), codeID(filepath.Join(dir, e.Name()))})
		}
	}
	return list, err
}

func codeID(dir string) string {
	records := slices.Concat(deployed(contents(dir, ".r10k-deploy.json")), deployed(contents(dir, ".g10k-deploy.json")))
	if records != nil {
		return hash(records)
	}
	head := contents(dir, ".git", "HEAD")
	if ref, symbolic := bytes.CutPrefix(head, []byte("ref: ")); symbolic && filepath.IsLocal(string(ref)) {
		head = contents(dir, ".git", string(ref))
	}
	if _, err := hex.DecodeString(string(head)); err == nil && len(head) >= 40 {
		return string(head[:12])
	}
	newest := time.Time{}
	entries, _ := entriesOf(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	return newest.UTC().Format(time.RFC3339)
}

// deployed returns what identifies the code in a record of r10k or g10k; nil if it is none.
func deployed(record []byte) (lines []string) {
	var r struct {
		Signature  string            `json:"signature"`
		Success    *bool             `json:"deploy_success"`
		Puppetfile string            `json:"puppetfile_checksum"` // of g10k
		Modules    []json.RawMessage `json:"module_deploys"`      // of r10k
	}
	if json.Unmarshal(record, &r) != nil || r.Success == nil {
		return nil
	}
	for _, m := range r.Modules {
		lines = append(lines, string(m))
	}
	slices.Sort(lines)
	return append(lines, fmt.Sprintf("%q %q %t", r.Signature, r.Puppetfile, *r.Success))
}

// hash returns 48 bits, which is enough to tell deployments apart.
func hash(list any) string { return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, list)))[:12] }

// contents returns the content of a small regular file; empty if it cannot be read.
func contents(path ...string) []byte {
	data, _ := bounded.File(filepath.Join(path...), maxRecord)
	return bytes.TrimSpace(data)
}

// entriesOf returns maxEntries of a directory at most, in the order of their names.
func entriesOf(dir string) ([]fs.DirEntry, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := f.ReadDir(maxEntries)
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	if errors.Is(err, io.EOF) { // it is empty
		err = nil
	}
	return list, err
}
