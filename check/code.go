package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// The name of the check, and its reasons.
const (
	CheckCode = "code"

	DeployFailed   Reason = "deploy-failed"
	DeployUnderWay Reason = "deploy-under-way"
)

// CodeSettings say where the environments are.
type CodeSettings struct {
	// Dir is the environmentpath: one directory for each environment. If it is
	// empty, the check does not run.
	Dir string `yaml:"dir" path:"optional"`
}

// codeEvery is the time between two looks: a deployment takes longer.
const codeEvery = 30 * time.Second

func code() Check {
	s := &CodeSettings{}
	return Check{
		Name:     CheckCode,
		Title:    "which code is deployed",
		Severity: Warn,
		Shared:   true,
		Reasons: []Cause{
			{DeployFailed, "", "run the deployment again by hand and read its errors: " +
				"r10k deploy environment NAME -m -v; remove the records of a tool that is not used any more"},
			{DeployUnderWay, "", "wait for the deployment to end"},
		},
		Settings: s,
		Schedule: func(Host) *Scheduled {
			if s.Dir == "" {
				return nil
			}
			c := &codeCheck{dir: s.Dir}
			return &Scheduled{Check: c.check, Interval: codeEvery, Timeout: codeEvery}
		},
	}
}

// maxEnvironments bounds how many environments are reported.
const maxEnvironments = 1000

// codeCheck reads which code r10k or g10k has deployed. Its finding never has a Health:
// during every deployment the masters behind a balancer differ.
//
// What is on disk may not yet be what is served: with environment_timeout =
// unlimited the server keeps what it has parsed.
type codeCheck struct {
	dir   string // the environmentpath
	aside aside[[]deployFile]
	read  map[string]deployFile // by path; used by look only, which runs in aside's goroutine
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

// check looks once. Environments that neither r10k nor g10k deployed are left out; if
// none remain, the finding is absent. If the directory cannot be read before ctx ends,
// the code is unknown.
func (c *codeCheck) check(ctx context.Context) Finding {
	f := newFinding(CheckCode)
	files, err := c.aside.do(ctx, c.dir, c.look)
	switch {
	case err != nil:
		return f.unknown(err.Error())
	case len(files) == 0:
		return f.absent("no environment in " + c.dir + " was deployed by r10k or g10k")
	}
	for _, file := range files {
		f.Code = append(f.Code, file.judge(f.Checked))
	}
	f.Value = fmt.Sprintf("%d environments, code %s", len(f.Code), codeID(f.Code))
	f.summarize()
	return f
}

// summarize copies the state, reason and detail of the worst environment to the
// finding.
func (f *Finding) summarize() {
	others := 0
	for _, e := range f.Code {
		state := cmp.Or(map[Reason]State{OK: StateOK, NotKnown: StateNone}[e.Reason], StateWarn)
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

// look returns the records of all environments. It reads only those that have changed
// since the last look.
func (c *codeCheck) look() ([]deployFile, error) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, err
	}
	var files []deployFile
	read := map[string]deployFile{}
	for _, entry := range entries {
		file, found := c.find(filepath.Join(c.dir, entry.Name()))
		if !found {
			continue
		}
		file.environment = entry.Name()
		read[file.path] = file
		if files = append(files, file); len(files) == maxEnvironments {
			break
		}
	}
	c.read = read
	return files, nil
}

// find returns the newer of an environment's records.
func (c *codeCheck) find(dir string) (newest deployFile, found bool) {
	for _, name := range []string{".r10k-deploy.json", ".g10k-deploy.json"} {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrPermission):
			return deployFile{path: path, err: err}, true
		case err != nil || newest.info != nil && info.ModTime().Before(newest.info.ModTime()):
			continue
		}
		newest = deployFile{path: path, info: info}
	}
	if newest.path == "" {
		return newest, false
	}
	if known, ok := c.read[newest.path]; ok && known.same(newest) {
		return known, true
	}
	newest.load()
	return newest, true
}
