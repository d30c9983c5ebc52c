package check

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/check/text"
)

const (
	// maxDeploy bounds the record of a deployment, which has about 100 bytes for
	// each module.
	maxDeploy = 4 << 20
	// deployMax is how long a deployment may be under way before it counts as failed.
	deployMax = time.Hour
)

// deployFile is the record of an environment's deployment, as last read.
type deployFile struct {
	environment string
	path        string
	info        fs.FileInfo // nil if there is none
	record      deployRecord
	err         error // why there is no record
}

// deployRecord is the record that r10k writes when a deployment has ended. g10k writes
// it when the environment is in place, and again when its modules are.
type deployRecord struct {
	Signature  string         `json:"signature"`
	Started    string         `json:"started_at"`
	Finished   string         `json:"finished_at"`
	Success    *bool          `json:"deploy_success"`
	Modules    []deployModule `json:"module_deploys"`      // of r10k
	Puppetfile string         `json:"puppetfile_checksum"` // of g10k
}

// deployModule is one module. Its version and SHA are compared, but not interpreted.
type deployModule struct {
	Name    string          `json:"name"`
	Version json.RawMessage `json:"version"`
	SHA     json.RawMessage `json:"sha"`
}

// same reports whether a file looks as it did when it was read. One that could not be read
// may be readable now: chmod changes neither size nor time.
func (d deployFile) same(now deployFile) bool {
	return d.err == nil && puppetclient.SameFile(d.info, now.info)
}

func (d *deployFile) load() {
	if !d.info.Mode().IsRegular() {
		d.err = errors.New(d.path + " is not a regular file")
		return
	}
	f, err := os.Open(d.path)
	if err != nil {
		d.err = err
		return
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxDeploy+1))
	if err == nil {
		d.record, err = parseDeploy(data)
	}
	if err != nil {
		d.err = fmt.Errorf("%s: %w", d.path, err)
	}
}

// parseDeploy parses a record. It returns an error if the record does not say whether
// the deployment succeeded.
func parseDeploy(data []byte) (r deployRecord, err error) {
	switch err := json.Unmarshal(data, &r); {
	case len(data) > maxDeploy:
		return r, errors.New("the record is longer than 4 MiB")
	case err != nil:
		return r, err
	case r.Success == nil:
		return r, errors.New("no deploy_success")
	}
	return r, nil
}

// judge returns the state of the environment's last deployment. A deployment that has
// begun and not ended is under way for at most deployMax; then it counts as failed.
func (d *deployFile) judge(now time.Time) Environment {
	r := d.record
	e := Environment{Name: text.Printable(d.environment, maxPath), Reason: OK}
	if d.err != nil {
		e.Reason, e.Detail = NotKnown, d.err.Error()
		return e
	}
	e.ID, e.Signature, e.Modules = r.id(d.environment), text.Printable(r.Signature, 64), len(r.Modules)
	e.Started, e.Finished = deployTime(r.Started), deployTime(r.Finished)
	unfinished := e.Finished.Before(e.Started)
	switch since := now.Sub(e.Started); {
	case unfinished && since < deployMax:
		e.Reason, e.Detail = DeployUnderWay, fmt.Sprintf("a deployment has been under way for %s", text.Age(since))
	case unfinished:
		e.Reason, e.Detail = DeployFailed, "the deployment begun at "+r.Started+" has not ended"
	case !*r.Success:
		e.Reason, e.Detail = DeployFailed, "the deployment that ended at "+r.Finished+" failed"
	}
	e.Detail = text.Printable(e.Detail, maxPath)
	return e
}

// id returns a short hash of everything that identifies the deployed code.
func (r deployRecord) id(environment string) string {
	lines := make([]string, 0, len(r.Modules))
	for _, m := range r.Modules {
		lines = append(lines, fmt.Sprintf("%q %q %q", m.Name, m.Version, m.SHA))
	}
	slices.Sort(lines)
	head := fmt.Sprintf("%q %q %q %t", environment, r.Signature, r.Puppetfile, *r.Success)
	return shortHash(head, strings.Join(lines, "\n"))
}

// codeID returns one ID for all environments. It is the same for the same code,
// whatever the order of the environments.
func codeID(environments []Environment) string {
	lines := make([]string, 0, len(environments))
	for _, e := range environments {
		lines = append(lines, e.Name+" "+e.ID)
	}
	slices.Sort(lines)
	return shortHash(lines...)
}

// shortHash returns 48 bits, which is enough to tell deployments apart.
func shortHash(lines ...string) string {
	hash := sha256.Sum256([]byte(strings.Join(lines, "\n") + "\n"))
	return hex.EncodeToString(hash[:6])
}

// deployTime reads the times of g10k, and those of r10k, which have Ruby's format. It
// returns the zero time for any other text. The time is in UTC, and has a form in JSON:
// Parse accepts an offset of 24 h and years that are not from 0 to 9999 in UTC, which
// json.Marshal refuses.
func deployTime(text string) time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 MST"} {
		t, err := time.Parse(layout, text)
		if t = t.UTC(); err == nil && t.Year() >= 0 && t.Year() <= 9999 {
			return t
		}
	}
	return time.Time{}
}
