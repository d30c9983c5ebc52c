package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// DefaultDeployMax is used where a Code's DeployMax is zero.
const DefaultDeployMax = time.Hour

// maxEnvironments bounds how many environments are reported.
const maxEnvironments = 1000

// Code reads which code r10k or g10k has deployed. Masters behind one balancer
// should serve the same; which do is for monitoring to compare, by the IDs. It
// never names a health: during every deployment the masters of a farm differ.
//
// What is on disk may not yet be what is served: with environment_timeout =
// unlimited the server keeps what it has parsed. Set the fields before the
// first Check; not safe for concurrent use.
type Code struct {
	Dir string // the environmentpath: one directory for each environment
	// DeployMax is how long a deployment may be under way before it counts as
	// failed.
	DeployMax time.Duration

	aside aside[codeSeen]
	read  map[string]deployFile // by path; belongs to the call that is made aside
}

// Environment is one environment as it was deployed last.
type Environment struct {
	Name      string `json:"name"`
	ID        string `json:"id"`        // the same for the same code
	Signature string `json:"signature"` // of the control repository: the commit
	Modules   int    `json:"modules"`   // how many the record lists
	// Reason is OK, DeployUnderWay, DeployFailed, or NotKnown where the record
	// of the deployment cannot be read.
	Reason   Reason    `json:"reason"`
	Detail   string    `json:"detail,omitempty"` // why it is not OK
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
}

type codeSeen struct {
	files []deployFile
	err   error
}

// Check looks once. Environments that neither r10k nor g10k deployed are left
// out; without any, or if the directory does not answer before ctx ends, the
// code is unknown.
func (c *Code) Check(ctx context.Context) Finding {
	f := Finding{Check: CheckCode, State: StateOK, Reason: OK, Checked: time.Now()}
	seen, err := c.aside.do(ctx, c.look)
	switch {
	case err != nil:
		err = fmt.Errorf("%s does not answer: %w", c.Dir, err)
	case seen.err != nil:
		err = seen.err
	case len(seen.files) == 0:
		err = fmt.Errorf("no environment in %s was deployed by r10k or g10k", c.Dir)
	}
	if err != nil {
		f.State, f.Reason, f.Detail = StateNone, NotKnown, err.Error()
		return f
	}
	for _, file := range seen.files {
		f.Code = append(f.Code, file.judge(orDefault(c.DeployMax, DefaultDeployMax), f.Checked))
	}
	f.Value = fmt.Sprintf("%d environments, code %s", len(f.Code), CodeID(f.Code))
	f.summarize()
	return f
}

// summarize makes the gravest of the environments the finding's own.
func (f *Finding) summarize() {
	others := 0
	for _, e := range f.Code {
		state := map[Reason]State{OK: StateOK, NotKnown: StateNone}[e.Reason]
		if state == "" {
			state = StateWarn
		}
		if state != StateOK && f.State != StateOK {
			others++
		}
		failed := e.Reason == DeployFailed && f.Reason != DeployFailed
		if failed || graver(state, f.State) || f.State == StateOK && state == StateNone {
			f.State, f.Reason, f.Detail = state, e.Reason, e.Name+": "+e.Detail
		}
	}
	if others > 0 {
		f.Detail += fmt.Sprintf("; and %d more", others)
	}
}

// look reads the records that have changed since the last look.
func (c *Code) look() codeSeen {
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return codeSeen{err: err}
	}
	var files []deployFile
	read := map[string]deployFile{}
	for _, entry := range entries {
		file, err := c.find(filepath.Join(c.Dir, entry.Name()))
		if err != nil {
			continue
		}
		file.environment = entry.Name()
		read[file.path] = file
		if files = append(files, file); len(files) == maxEnvironments {
			break
		}
	}
	c.read = read
	return codeSeen{files: files}
}

// find returns the newer of an environment's records.
func (c *Code) find(dir string) (deployFile, error) {
	var newest deployFile
	for _, name := range []string{".r10k-deploy.json", ".g10k-deploy.json"} {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrPermission):
			return deployFile{path: path, err: err}, nil
		case err != nil || newest.stamp.info != nil && info.ModTime().Before(newest.stamp.info.ModTime()):
			continue
		}
		newest = deployFile{path: path, stamp: stamp{info: info}}
	}
	if newest.path == "" {
		return newest, fs.ErrNotExist
	}
	if known, ok := c.read[newest.path]; ok && known.stamp.same(newest.stamp) {
		return known, nil
	}
	newest.load()
	return newest, nil
}
