//go:build linux

package e2e_test

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// toggleReport is the part that tests need of the JSON of drain, maint and ready.
type toggleReport struct {
	Set       *drain.Hold
	Remaining []drain.Hold
	InEffect  bool `json:"in_effect"`
	Answer    lab.Answer
}

// toggle runs drain, maint or ready and returns its report.
func toggle(r *lab.Site, args ...string) toggleReport {
	r.TB.Helper()
	var t toggleReport
	r.RunJSON(&t, append(args, "--json")...)
	return t
}

// TestStatusExitTellsStatesApart: a script can distinguish in service, held, unhealthy
// and no daemon.
func TestStatusExitTellsStatesApart(t *testing.T) {
	lab.Real(t)
	r := lab.NewSite(t, lab.SiteOptions{})
	status := func(want int, when string) {
		t.Helper()
		if out, got := r.Run("status"); got != want {
			t.Errorf("exit status %d %s, want %d\n%s", got, when, want, out)
		}
	}
	status(5, "without a daemon")
	if got := toggle(r, "drain", "--now"); got.InEffect {
		t.Error("in effect without a daemon")
	}
	r.Start()
	r.WaitRefusal("drain", 10*time.Second)
	status(3, "drained before the start")
	r.MustRun("ready")
	r.WaitServing(10 * time.Second)
	status(0, "in service")
	r.SetMaster(checktest.Error)
	r.WaitRefusal("unhealthy: state-error", 20*time.Second)
	status(4, "with an unhealthy master")
	r.MustRun("maint", "--now")
	status(3, "held with an unhealthy master")
	r.Stop(syscall.SIGKILL)
	status(5, "after the daemon was killed")
}

// TestInEffectMeansTheNextAnswerIsNew: when drain or ready reports that it is in effect,
// the very next balancer gets the new answer.
func TestInEffectMeansTheNextAnswerIsNew(t *testing.T) {
	lab.Real(t)
	const toggles = 20
	r := lab.StartSite(t, lab.SiteOptions{})
	took := make([]time.Duration, toggles)
	for i := range took {
		command, want := []string{"drain", "--now", "--reason", "upgrade"}, http.StatusServiceUnavailable
		if i%2 == 1 {
			command, want = []string{"ready"}, http.StatusOK
		}
		began := time.Now()
		got := toggle(r, command...)
		took[i] = lab.Since(began)
		code, body, err := r.Ask("/")
		if !got.InEffect || got.Answer.Code != want || code != want || err != nil {
			t.Fatalf("%s reported %+v, and then a balancer was told %d %s, %v", command[0], got, code, body, err)
		}
	}
	slices.Sort(took)
	measured(t, "pmcheck drain or ready, start to end, p50 of 20", took[toggles/2])
	assertWithin(t, "pmcheck drain or ready, start to end, slowest of 20", took[toggles-1], time.Second)
}

// TestHoldersAreIndependent: neither holder lifts the other's hold, and setting a hold
// again does not create a second one.
func TestHoldersAreIndependent(t *testing.T) {
	lab.Real(t)
	r := lab.StartSite(t, lab.SiteOptions{})
	path := filepath.Join(r.Holds.Persistent, "operator.json")
	writeFile(t, path, []byte(`{"mode": "drain", "reason": "old", "since": "2026-03-01T09:00:00Z"}`))
	r.WaitRefusal("drain", 5*time.Second)

	again := toggle(r, "drain", "--now", "--reason", "new", "--for", "1h")
	since := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	if again.Set.Reason != "new" || again.Set.Until.IsZero() || again.Set.Since != since {
		t.Errorf("drained again: %+v, want the new reason and end, and since %v", again.Set, since)
	}
	r.MustRun("maint", "--now", "--hold", "upgrade")
	for _, step := range []struct {
		command   []string
		want      lab.Answer
		remaining []string
	}{
		{[]string{"ready"}, lab.Answer{Code: 503, Body: "maint"}, []string{"upgrade"}},
		{[]string{"drain", "--now"}, lab.Answer{Code: 503, Body: "maint"}, []string{"upgrade"}},
		{[]string{"ready", "--hold", "upgrade"}, lab.Answer{Code: 503, Body: "drain"}, []string{"operator"}},
		{[]string{"ready", "--hold", "nobody"}, lab.Answer{Code: 503, Body: "drain"}, []string{"operator"}},
		{[]string{"ready"}, lab.Answer{Code: 200, Body: lab.ServingBody}, nil},
	} {
		got := toggle(r, step.command...)
		var remaining []string
		for _, h := range got.Remaining {
			remaining = append(remaining, h.Holder)
		}
		if diff := cmp.Diff(step.want, got.Answer); diff != "" || !slices.Equal(remaining, step.remaining) {
			t.Errorf("%s: other holds %q, want %q; answer (- want, + got):\n%s",
				step.command, remaining, step.remaining, diff)
		}
	}
}

// TestWritePermissionDecidesWhoMayHold: a user without write permission on the holds is
// told which permission to ask for; a user with it can hold the master.
func TestWritePermissionDecidesWhoMayHold(t *testing.T) {
	lab.Real(t)
	r := lab.StartSite(t, lab.SiteOptions{})
	asNobody := asNobody(r)
	dir := r.Holds.Persistent
	refused := func(command ...string) {
		t.Helper()
		stdout, stderr, status := asNobody(command...)
		measured(t, "nobody runs pmcheck "+command[0], strings.ReplaceAll(strings.TrimSpace(stderr), "\n", " | "))
		lines := strings.Split(stderr, "\n")
		if stdout != "" || status != 1 || len(lines) != 3 ||
			!strings.HasSuffix(lines[0], "/operator.json: permission denied") ||
			lines[1] != "hint: use sudo, or ask for permission to write "+dir {
			t.Errorf("exit status %d, stdout %q, stderr %q; want 1, nothing, and what to ask for", status, stdout, stderr)
		}
	}

	refused("drain", "--now")
	r.WaitServing(5 * time.Second)
	r.MustRun("drain", "--now")
	refused("ready")
	r.WaitRefusal("drain", 5*time.Second)
	if _, stderr, status := asNobody("status"); status != 3 || stderr != "" {
		t.Errorf("status: %d, %q; every user may read it", status, stderr)
	}
	r.MustRun("ready")

	if err := errors.Join(os.Chown(dir, 0, nobody), os.Chmod(dir, 0o775|os.ModeSetgid)); err != nil {
		t.Fatal(err)
	}
	if _, stderr, status := asNobody("drain", "--now", "--reason", "granted"); status != 0 || stderr != "" {
		t.Errorf("with the permission: %d, %q", status, stderr)
	}
	r.WaitRefusal("drain", 5*time.Second)
	if holds := r.Status().Holds; len(holds) != 1 || holds[0].Owner != "nobody" || holds[0].Code != "" {
		t.Errorf("holds %+v, want one, owned by the user nobody", holds)
	}
}

// nobody is the user and the group with no rights, by their numbers.
const nobody = 65534

// asNobody returns a function that runs pmcheck as nobody.
func asNobody(r *lab.Site) func(args ...string) (stdout, stderr string, status int) {
	r.TB.Helper()
	binary := filepath.Join(r.Dir, "pmcheck")
	copyFile(r.TB, lab.Build(r.TB), binary)
	if err := errors.Join(os.Chmod(r.Dir, 0o755), os.Chmod(binary, 0o755)); err != nil {
		r.TB.Fatal(err)
	}
	return func(args ...string) (stdout, stderr string, status int) {
		r.TB.Helper()
		cmd := r.Command(args...)
		cmd.Path = binary
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); cmd.ProcessState == nil {
			r.TB.Fatal(err)
		}
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
}
