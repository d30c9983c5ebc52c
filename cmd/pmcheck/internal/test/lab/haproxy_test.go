//go:build linux

package lab_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

const balancerConfig = `
defaults
    mode tcp
    log global
    timeout connect 1s
    timeout client 1m
    timeout server 1m
listen masters
    bind %s
    option httpchk GET /
    server m1 %s check inter 50ms fall 2 rise 2
`

func TestHAProxyIsStartedObservedReloadedAndKilled(t *testing.T) {
	lab.Real(t)
	var code atomic.Int32
	code.Store(http.StatusOK)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(code.Load()))
	}))
	defer server.Close()
	bind := lab.Address(t, "127.0.0.1")
	config := fmt.Sprintf(balancerConfig, bind, server.Listener.Addr())

	t.Logf("HAProxy %s", lab.HAProxyVersion(t))
	lab.CheckHAProxyConfig(t, config)
	start := time.Now()
	h := lab.StartHAProxy(t, config)
	t.Logf("start: %v", time.Since(start))

	t.Run("health checks take the server down and up", func(t *testing.T) {
		h.WaitStat("masters", "m1", func(s lab.ServerStat) bool { return s.CheckStatus == "L7OK" }, 5*time.Second)
		code.Store(http.StatusServiceUnavailable)
		down, took := h.WaitStatus("masters", "m1", "DOWN", 5*time.Second)
		t.Logf("DOWN after %v", took)
		if strings.TrimPrefix(down.CheckStatus, "* ") != "L7STS" ||
			down.CheckCode != "503" { // "* ": the next check is under way
			t.Errorf("DOWN because of %s %s, want L7STS 503", down.CheckStatus, down.CheckCode)
		}
		lab.WaitFor(t, 5*time.Second, 5*time.Millisecond, func() error {
			if !strings.Contains(h.Log(), "Server masters/m1 is DOWN") {
				return fmt.Errorf("no message about DOWN in the log:\n%s", h.Log())
			}
			return nil
		})
		code.Store(http.StatusOK)
		h.WaitStatus("masters", "m1", "UP", 5*time.Second)
	})
	t.Run("a request counts as a session", func(t *testing.T) {
		before := h.Stat("masters", "m1").SessionsTotal
		resp, err := http.Get("http://" + bind)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if after := h.Stat("masters", "m1").SessionsTotal; after != before+1 {
			t.Errorf("%d sessions after one request, want %d", after, before+1)
		}
	})
	t.Run("an admin command sets the state", func(t *testing.T) {
		h.Admin("set server masters/m1 state maint")
		h.WaitStatus("masters", "m1", "MAINT", 5*time.Second)
		h.Admin("set server masters/m1 state ready")
	})
	t.Run("a reload replaces the configuration", func(t *testing.T) {
		h.Reload(strings.ReplaceAll(config, "server m1", "server m2"))
		h.WaitStatus("masters", "m2", "UP", 5*time.Second)
		if stats, err := h.Stats(); err != nil || len(stats) != 1 {
			t.Errorf("after the reload: %v, %v; want only m2", stats, err)
		}
	})
	t.Run("a killed HAProxy accepts no connections", func(t *testing.T) {
		h.Kill()
		if conn, err := net.Dial("tcp", bind); err == nil {
			conn.Close()
			t.Error("a killed HAProxy accepts connections")
		}
	})
}

func TestParseStatsFindsColumnsByName(t *testing.T) {
	const answer = "# status,pxname,svname,check_status,lastchg,new_column,\n" +
		"OPEN,masters,FRONTEND,,,x,\n" +
		"DOWN,masters,m1,\"L7,STS\",7,x,\n" +
		"UP,masters,BACKEND,,3,x,\n\n"
	got, err := lab.ParseStats(strings.NewReader(answer))
	if err != nil {
		t.Fatal(err)
	}
	want := []lab.ServerStat{{
		Backend: "masters", Server: "m1", Status: "DOWN", CheckStatus: "L7,STS", LastChange: 7 * time.Second,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := lab.ParseStats(strings.NewReader("")); err == nil {
		t.Error("ParseStats accepts an empty answer")
	}
}

// FuzzParseStats: ParseStats returns only servers, with names that can be used in commands.
func FuzzParseStats(f *testing.F) {
	f.Add("# pxname,svname,status\nmasters,m1,UP\n")
	f.Add("# pxname,svname\na,BACKEND,\"")
	f.Fuzz(func(t *testing.T, answer string) {
		stats, err := lab.ParseStats(strings.NewReader(answer))
		if err != nil && stats != nil {
			t.Errorf("returned both the servers %v and the error %v", stats, err)
		}
		for _, s := range stats {
			if s.Server == "" || s.Server == "BACKEND" || s.Server == "FRONTEND" {
				t.Errorf("%+v is not a server", s)
			}
		}
	})
}
