package check

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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

// The name of the check, and its reason.
const (
	CheckCode = "code"

	DeployFailed Reason = "deploy-failed"
)

// CodeSettings say where the environments are.
type CodeSettings struct {
	// Dir is the environmentpath: one directory for each environment. If it is
	// empty, the check does not run.
	Dir string `yaml:"dir" path:"absolute"`
}

const (
	codeEvery       = 2 * time.Minute
	maxEnvironments = 1000    // that are reported
	maxEntries      = 10_000  // of a directory
	maxRecord       = 1 << 20 // bytes of a record of r10k or g10k, which has about 100 for each module
	maxMoment       = 40      // bytes of a time in a record
	maxUnknown      = 80      // bytes of why code is not known
	// g10k writes its record when it begins, as a failure, and again when it is done.
	deployTime = time.Hour
)

func code() Check {
	return Check{
		Name:     CheckCode,
		Severity: Warn,
		Shared:   true,
		Reasons: causes(OfPool, "", "a deployment succeeds",
			row{
				reason: DeployFailed,
				begins: "r10k or g10k has noted a failure",
				hint:   "see what it says: r10k deploy environment NAME -m --verbose",
			},
		),
		Settings: CodeSettings{},
		Run:      Run(CodeSettings.run),
		Interval: codeEvery,
		Timeout:  codeEvery / 2,
	}
}

// Code returns the settings of the check code.
func (l List) Code() CodeSettings { return settingsOf[CodeSettings](l) }

// run returns what looks at the environments; nil without a directory.
func (s CodeSettings) run(Host) Runner {
	if s.Dir == "" {
		return nil
	}

	var calls singleflight.Group
	trees := codeTrees{} // of a run at a time
	read := func(dir string) ([]Environment, error) { return trees.environments(dir) }
	return func(ctx context.Context) Finding {
		f := newFinding(CheckCode)
		list, err := aside(ctx, &calls, s.Dir, read)
		if err != nil {
			return f.unknown(err.Error())
		}
		if len(list) == 0 {
			return Finding{}
		}

		f.Code = list
		f.Value = fmt.Sprintf("%d environments, code %s", len(list), hash(ids(list)))
		if unknown := unknowns(list); len(unknown) > 0 {
			f.Value = fmt.Sprintf("%d environments, code not known of %d: %s", len(list), len(unknown), unknown[0])
		}
		if failed := failures(list); len(failed) > 0 {
			f.State = StateWarn
			f.Reason = DeployFailed
			f.Detail = "the last deployment failed: " + strings.Join(text.First(failed, 5), ", ")
		}
		return f
	}
}

// Environment is one environment, and which code it has: the same ID is the same code. What is
// on disk may not yet be what is served: with environment_timeout = unlimited the server keeps
// what it has parsed.
type Environment struct {
	Name string `json:"name"` // of its directory
	// ID is a hash of what r10k or g10k has deployed, else the commit that is checked out, else a hash of all names,
	// sizes and contents. It is empty if it is not known.
	ID      string `json:"id,omitempty"`
	Unknown string `json:"unknown_reason,omitempty"` // why the code is not known
	// Failed is when the last deployment by r10k or g10k failed, as the tool wrote it; empty if it did not.
	Failed string `json:"deploy_failed,omitempty"`
}

// ids returns what identifies the code of all environments.
func ids(list []Environment) (lines []string) {
	for _, e := range list {
		lines = append(lines, e.Name+" "+e.ID)
	}
	return lines
}

// unknowns names the environments whose code is not known, and why.
func unknowns(list []Environment) (names []string) {
	for _, e := range list {
		if e.ID == "" {
			names = append(names, e.Name+" ("+e.Unknown+")")
		}
	}
	return names
}

// failures names the environments whose last deployment failed, and when.
func failures(list []Environment) (names []string) {
	for _, e := range list {
		if e.Failed != "" {
			names = append(names, e.Name+" ("+e.Failed+")")
		}
	}
	return names
}

// environments returns the environments below a directory, maxEnvironments at most.
func (t codeTrees) environments(dir string) (list []Environment, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), hashTime)
	defer cancel()

	seen := map[string]bool{}
	entries, err := entriesOf(dir)
	for _, e := range entries {
		if len(list) == maxEnvironments {
			break
		}

		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path)
		if err == nil && info.IsDir() {
			list = append(list, t.environment(ctx, path))
			seen[path] = true
		}
	}
	maps.DeleteFunc(t, func(path string, _ codeTree) bool { return !seen[path] })
	return list, err
}

func (t codeTrees) environment(ctx context.Context, dir string) Environment {
	e := Environment{Name: text.Printable(filepath.Base(dir), maxPath)}

	var code []string
	for _, name := range []string{r10kRecord, g10kRecord} {
		r := readRecord(filepath.Join(dir, name))
		code = append(code, r.code()...)
		e.Failed = cmp.Or(e.Failed, r.failed(time.Now()))
	}
	if code != nil {
		e.ID = hash(code)
		return e
	}

	e.ID = commitIn(dir)
	if e.ID != "" {
		return e
	}

	id, err := t.id(ctx, dir)
	if err != nil {
		e.Unknown = text.Printable(err.Error(), maxUnknown)
	}
	e.ID = id
	return e
}

// What r10k and g10k write of their last deployment, in each environment.
const (
	r10kRecord = ".r10k-deploy.json"
	g10kRecord = ".g10k-deploy.json"
)

// record is what r10k or g10k has written of its last deployment.
type record struct {
	Signature  string            `json:"signature"`
	Success    *bool             `json:"deploy_success"` // nil: it is no record
	Started    json.RawMessage   `json:"started_at"`
	Finished   json.RawMessage   `json:"finished_at"`
	Puppetfile string            `json:"puppetfile_checksum"` // of g10k
	Modules    []json.RawMessage `json:"module_deploys"`      // of r10k

	written time.Time
}

// readRecord returns the record in a file; the zero value if there is none.
func readRecord(path string) (r record) {
	if err := json.Unmarshal(contents(path), &r); err != nil {
		return record{}
	}

	if info, err := os.Stat(path); err == nil {
		r.written = info.ModTime()
	}
	return r
}

// code returns what identifies the code that was deployed.
func (r record) code() (lines []string) {
	if r.Success == nil {
		return nil
	}
	for _, m := range r.Modules {
		lines = append(lines, string(m))
	}
	slices.Sort(lines)
	return append(lines, fmt.Sprintf("%q %q %t", r.Signature, r.Puppetfile, *r.Success))
}

// failed returns when the deployment failed; empty if it did not, or may still be under way.
func (r record) failed(now time.Time) string {
	if r.Success == nil || *r.Success {
		return ""
	}

	ended := moment(r.Finished)
	if ended == "" && now.Sub(r.written) < deployTime {
		return ""
	}
	return cmp.Or(ended, moment(r.Started), r.written.UTC().Format(time.RFC3339))
}

// moment returns a time as a tool has written it; empty if there is none, which g10k writes as the year 1.
func moment(raw json.RawMessage) string {
	var written string
	if json.Unmarshal(raw, &written) != nil || strings.HasPrefix(written, "0001-") {
		return ""
	}
	return text.Printable(written, maxMoment)
}

// hash returns what tells these lines from others.
func hash(lines []string) string {
	sum := sha256.Sum256(fmt.Append(nil, lines))
	return short(sum[:])
}

// short returns 48 bits of a sum, which is enough to tell deployments apart.
func short(sum []byte) string { return fmt.Sprintf("%x", sum)[:12] }

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
	if errors.Is(err, io.EOF) { // it is empty
		err = nil
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, err
}
