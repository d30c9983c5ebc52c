package cli

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/drain"
)

// The master leaves together with the only other one. Meanwhile its hold of before may have
// ended, and another session may have set or lifted the same hold.
func TestACollisionUndoesOnlyTheOwnHold(t *testing.T) {
	again := func(s *drain.Store) error {
		_, err := s.Put(drain.Hold{Holder: drain.Operator, Mode: drain.Drain, Reason: "another"})
		return err
	}
	for _, tt := range []struct {
		name   string
		before time.Duration            // what the hold of before still has; 0: there is none
		during func(*drain.Store) error // what happens before the collision shows
		left   string                   // the reason of the hold in place afterwards; empty if there is none
		says   string
	}{
		{"there was none", 0, nil, "", "lifted: "},
		{"there was another", time.Hour, nil, "before", "restored: "},
		{"there was one that has ended", time.Second, func(s *drain.Store) error {
			time.Sleep(time.Second)
			return nil
		}, "", "lifted: "},
		{"another session has set it again", 0, again, "another", "nothing was undone"},
		{"another session has set it again over another", time.Hour, again, "another", "nothing was undone"},
		{"another session has lifted it", time.Hour, func(s *drain.Store) error {
			_, err := s.Lift(drain.Operator, "")
			return err
		}, "", "nothing was undone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config, socket, store := holdsSite(t)
			if tt.before > 0 {
				h := drain.Hold{Holder: drain.Operator, Mode: drain.Drain, Reason: "before", Until: time.Now().Add(tt.before)}
				if _, err := store.Put(h); err != nil {
					t.Fatal(err)
				}
			}
			startColliding(t, socket, func() error {
				if tt.during == nil {
					return nil
				}
				return tt.during(store)
			})
			var out, said strings.Builder
			args := []string{"pmcheck", "drain", "--config", config, "--wait=20s", "--reason", "own", "--until", "never"}
			exit := Run(args, environOf(config, socket), strings.NewReader(""), &out, &said)
			if exit != exitRefused || !strings.Contains(said.String(), tt.says) {
				t.Errorf("exit status %d, and it does not say %q:\n%s%s", exit, tt.says, &out, &said)
			}
			var left []string
			for _, h := range store.Read().At(time.Now()).Holds() {
				left = append(left, h.Reason)
			}
			if strings.Join(left, " ") != tt.left {
				t.Errorf("holds %q are left, want %q", left, tt.left)
			}
		})
	}
}

// startColliding serves a status in which the master serves at first. When it is held, the
// balancer has no server left, after during has returned.
func startColliding(t *testing.T, socket string, during func() error) {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	var requests atomic.Int64
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		now, asked := time.Now(), requests.Add(1)
		b := api.Balancer{Node: "lb1", Service: monitor.Server, Seen: now, Checks: 9, Interval: 0.1, DrainCode: 404,
			OthersWeight: 100, OthersSeen: now, UnitWeight: 100,
			View: &api.View{State: "UP", Weight: 100, WeightTotal: 200}}
		mode := drain.Ready
		if asked > 1 { // the first asks whether this is the last server
			mode, b.View.State = drain.Drain, "NOLB"
		}
		if asked == 3 {
			if err := during(); err != nil {
				t.Error(err)
			}
		}
		if asked > 2 { // the second asks whether the hold is in effect
			b.Seen, b.View.WeightTotal = time.Now(), 0
		}
		json.NewEncoder(w).Encode(api.Status{
			Time:      time.Now(),
			Started:   now.Add(-time.Hour),
			Balancers: []api.Balancer{b},
			Services:  []api.ServiceStatus{{Name: monitor.Server, Mode: mode}},
			Probe:     api.ProbeStatus{Address: "127.0.0.1:1"},
		})
	})}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
}

// environOf returns the environment of a command with this socket and the holds beside config.
func environOf(config, socket string) []string {
	return []string{"PMCHECK_SOCKET=" + socket, "PMCHECK_HOLDS=" + filepath.Dir(config)}
}

// holdsSite makes a configuration with directories of holds, and names a socket for a daemon.
func holdsSite(t *testing.T) (config, socket string, store *drain.Store) {
	t.Helper()
	dir, err := os.MkdirTemp("", "") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	config, socket = filepath.Join(dir, "pmcheck.yaml"), filepath.Join(dir, "s")
	write(t, config, "")
	store = &drain.Store{Persistent: dir + "/holds", UntilReboot: dir + "/run"}
	if _, err := store.LiftAll(); err != nil { // it creates the directories
		t.Fatal(err)
	}
	return config, socket, store
}

// One of three servers does not come back. When the time of the turn is over, the other two
// leave: each must see that no server is left, as within its turn.
func TestADrainThatIsOverdueSeesACollision(t *testing.T) {
	config, socket, store := holdsSite(t)
	startStatus(t, socket, func() api.Status {
		now := time.Now()
		mode, _ := store.Read().Mode(monitor.Server, now)
		view := &api.View{State: "UP", Weight: 100, WeightTotal: 200}
		if mode == drain.Drain {
			view = &api.View{State: "NOLB", Weight: 100}
		}
		return api.Status{
			Time:    now,
			Started: now.Add(-time.Hour),
			Balancers: []api.Balancer{{Node: "lb1", Service: monitor.Server, Seen: now, Checks: 9, Interval: 0.1,
				DrainCode: 404, OthersWeight: 200, OthersSeen: now.Add(-time.Minute), UnitWeight: 100, View: view}},
			Services: []api.ServiceStatus{{Name: monitor.Server, Mode: mode}},
			Probe:    api.ProbeStatus{Address: "127.0.0.1:1"},
		}
	})
	for _, tt := range []struct {
		args []string
		exit int
		held bool
	}{
		{[]string{"--in-turn", "--wait=500ms"}, exitRefused, false},
		{[]string{"--in-turn", "--wait=500ms", "--force"}, exitTimeout, true}, // the way is never clear for as long as that
	} {
		var out, said strings.Builder
		args := append([]string{"pmcheck", "drain", "--config", config}, tt.args...)
		exit := Run(args, environOf(config, socket), strings.NewReader(""), &out, &said)
		mode, _ := store.Read().Mode(monitor.Server, time.Now())
		if held := mode == drain.Drain; exit != tt.exit || held != tt.held {
			t.Errorf("%v: exit status %d, held %v, want %d and %v:\n%s%s", tt.args, exit, held, tt.exit, tt.held, &out, &said)
		}
	}
}

// startStatus serves what status returns.
func startStatus(t *testing.T, socket string, status func() api.Status) {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(10 * time.Millisecond) // the daemon waits for news
		json.NewEncoder(w).Encode(status())
	})}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
}
