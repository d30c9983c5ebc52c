package systemd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/pmcheck/pmcheck/check/bounded"
)

// RuntimeDirectory returns the directory that systemd has made for this service and keeps
// over its restarts, or "" if there is none. No other user can read or write it.
func RuntimeDirectory() string {
	dir, _, _ := strings.Cut(os.Getenv("RUNTIME_DIRECTORY"), ":")
	return dir
}

// RuntimeFile is a file that a service leaves for its next start, or for another service of
// the same user. Without a directory, nothing is kept.
type RuntimeFile struct {
	Dir  string // empty if nothing is kept
	Name string
}

// Path returns where the file is; "" without a directory.
func (r RuntimeFile) Path() string {
	if r.Dir == "" {
		return ""
	}
	return filepath.Join(r.Dir, r.Name)
}

// Write replaces the content.
func (r RuntimeFile) Write(content []byte) error {
	if r.Dir == "" {
		return nil
	}

	return renameio.WriteFile(r.Path(), content, 0o600, renameio.WithTempDir(r.Dir))
}

// Save replaces the content with v as JSON.
func (r RuntimeFile) Save(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return r.Write(data)
}

// maxRuntimeFile bounds what Load reads, in bytes: the largest of these files, with the balancers, has some 400 KiB.
const maxRuntimeFile = 1 << 20

// Load returns what Save has left; the zero value without a directory.
func Load[T any](r RuntimeFile) (v T, err error) {
	if r.Dir == "" {
		return v, nil
	}

	data, _, err := bounded.Itself(r.Path(), maxRuntimeFile)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return *new(T), fmt.Errorf("%s: %w", r.Path(), err)
	}
	return v, nil
}
