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
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// told is the part of what a toggle prints as JSON that tests need.
type told struct {
	Set       *drain.Hold
	Remaining []drain.Hold
	InEffect  bool `json:"in_effect"`
	Answer    api.Answer
}

// toggle runs drain, maint or ready and returns what it says.
func (r *rig) toggle(args ...string) told {
	r.t.Helper()
	var t told
	r.runJSON(&t, append(args, "--json")...)
	return t
}

// TestStatusExit: a script can tell apart in service, held, ill and nobody there.
func TestStatusExit(t *testing.T) {
	lab.Real(t)
	m, conf := standIn(t)
	r := newRig(t, conf)
	status := func(want int, when string) {
		t.Helper()
		if out, got := r.run("status"); got != want {
			t.Errorf("exit status %d %s, want %d\n%s", got, when, want, out)
		}
	}
	status(5, "without a daemon")
	if got := r.toggle("drain"); got.InEffect {
		t.Error("in effect without a daemon")
	}
	r.start()
	r.await(http.StatusServiceUnavailable, "drain", 10*time.Second)
	status(3, "drained before the start")
	r.succeed("ready")
	r.await(http.StatusOK, answer.Serving, 10*time.Second)
	status(0, "in service")
	set(t, m, checktest.Error)
	r.await(http.StatusServiceUnavailable, "unhealthy: state-error", 20*time.Second)
	status(4, "with an ill master")
	r.succeed("maint")
	status(3, "held with an ill master")
	r.end(syscall.SIGKILL)
	status(5, "after the daemon was killed")
}

// TestInEffect: when a toggle says that it is in effect, the very next balancer
// is told so.
func TestInEffect(t *testing.T) {
	lab.Real(t)
	const toggles = 20
	_, conf := standIn(t)
	r := serve(t, conf)
	took := make([]time.Duration, toggles)
	for i := range took {
		command, want := []string{"drain", "--reason", "upgrade"}, http.StatusServiceUnavailable
		if i%2 == 1 {
			command, want = []string{"ready"}, http.StatusOK
		}
		began := time.Now()
		got := r.toggle(command...)
		took[i] = time.Since(began)
		code, body, err := r.ask("/")
		if !got.InEffect || got.Answer.Code != want || code != want || err != nil {
			t.Fatalf("%s: said %+v, and then a balancer was told %d %s, %v", command[0], got, code, body, err)
		}
	}
	slices.Sort(took)
	measured(t, "pmcheck drain or ready, start to end, p50 of 20", took[toggles/2])
	within(t, "pmcheck drain or ready, start to end, slowest of 20", took[toggles-1], time.Second)
}

// TestTwoHolders: neither ends what the other wants, and asking again is no
// new hold.
func TestTwoHolders(t *testing.T) {
	lab.Real(t)
	_, conf := standIn(t)
	r := serve(t, conf)
	path := filepath.Join(r.store.Persistent, "operator.json")
	writeFile(t, path, []byte(`{"mode": "drain", "reason": "old", "since": "2026-03-01T09:00:00Z"}`))
	r.await(http.StatusServiceUnavailable, "drain", 5*time.Second)

	again := r.toggle("drain", "--reason", "new", "--for", "1h")
	if since := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC); again.Set.Reason != "new" || again.Set.Until.IsZero() || again.Set.Since != since {
		t.Errorf("drained again: %+v, want the new reason and end, and since %v", again.Set, since)
	}
	r.succeed("maint", "--hold", "upgrade")
	for _, step := range []struct {
		command   []string
		want      api.Answer
		remaining []string
	}{
		{[]string{"ready"}, api.Answer{Code: 503, Body: "maint"}, []string{"upgrade"}},
		{[]string{"drain"}, api.Answer{Code: 503, Body: "maint"}, []string{"upgrade"}},
		{[]string{"ready", "--hold", "upgrade"}, api.Answer{Code: 503, Body: "drain"}, []string{"operator"}},
		{[]string{"ready", "--hold", "nobody"}, api.Answer{Code: 503, Body: "drain"}, []string{"operator"}},
		{[]string{"ready"}, api.Answer{Code: 200, Body: answer.Serving}, nil},
	} {
		got := r.toggle(step.command...)
		var remaining []string
		for _, h := range got.Remaining {
			remaining = append(remaining, h.Holder)
		}
		if diff := cmp.Diff(step.want, got.Answer); diff != "" || !slices.Equal(remaining, step.remaining) {
			t.Errorf("%s: %d other holds, want %q; answer (- want, + got):\n%s", step.command, len(remaining), step.remaining, diff)
		}
	}
}

// TestOtherUser: who may not write the holds learns what to ask for, and whom
// the administrator lets write them can.
func TestOtherUser(t *testing.T) {
	lab.Real(t)
	_, conf := standIn(t)
	r := serve(t, conf)
	asNobody := r.asNobody()
	dir := r.store.Persistent
	refused := func(command string) {
		t.Helper()
		stdout, stderr, status := asNobody(command)
		measured(t, "nobody runs pmcheck "+command, strings.ReplaceAll(strings.TrimSpace(stderr), "\n", " | "))
		lines := strings.Split(stderr, "\n")
		if stdout != "" || status != 1 || len(lines) != 3 ||
			!strings.HasSuffix(lines[0], "/operator.json: permission denied") ||
			lines[1] != "hint: use sudo, or ask for permission to write "+dir {
			t.Errorf("exit status %d, stdout %q, stderr %q; want 1, nothing, and what to ask for", status, stdout, stderr)
		}
	}

	refused("drain")
	r.await(http.StatusOK, answer.Serving, 5*time.Second)
	r.succeed("drain")
	refused("ready")
	r.await(http.StatusServiceUnavailable, "drain", 5*time.Second)
	if _, stderr, status := asNobody("status"); status != 3 || stderr != "" {
		t.Errorf("status: %d, %q; everybody may look", status, stderr)
	}
	r.succeed("ready")

	if err := errors.Join(os.Chown(dir, 0, nobody), os.Chmod(dir, 0o775|os.ModeSetgid)); err != nil {
		t.Fatal(err)
	}
	if _, stderr, status := asNobody("drain", "--reason", "granted"); status != 0 || stderr != "" {
		t.Errorf("with the permission: %d, %q", status, stderr)
	}
	r.await(http.StatusServiceUnavailable, "drain", 5*time.Second)
	if holds := r.status().Holds; len(holds) != 1 || holds[0].Owner != "nobody" || holds[0].Code != "" {
		t.Errorf("holds %+v, want one that nobody owns", holds)
	}
}

// nobody is the user and the group with no rights, by their numbers.
const nobody = 65534

// asNobody returns the function that runs pmcheck as nobody.
func (r *rig) asNobody() func(args ...string) (stdout, stderr string, status int) {
	r.t.Helper()
	binary := filepath.Join(r.dir, "pmcheck")
	copyFile(r.t, lab.Build(r.t), binary)
	if err := errors.Join(os.Chmod(r.dir, 0o755), os.Chmod(binary, 0o755)); err != nil {
		r.t.Fatal(err)
	}
	return func(args ...string) (stdout, stderr string, status int) {
		r.t.Helper()
		cmd := r.command(args...)
		cmd.Path = binary
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); cmd.ProcessState == nil {
			r.t.Fatal(err)
		}
		return out.String(), errs.String(), cmd.ProcessState.ExitCode()
	}
}
