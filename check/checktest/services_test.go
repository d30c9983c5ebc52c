package checktest_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/check/puppetclient"
)

func newMaster(t *testing.T) (*checktest.Master, *puppetclient.Client) {
	t.Helper()
	m, err := checktest.NewMaster(t.TempDir(), "puppet1.example.test", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	client := &puppetclient.Client{
		Address: m.Address(), ServerName: m.Name, Timeout: 10 * time.Second,
		Credentials: &puppetclient.Credentials{Files: m.Files()},
	}
	t.Cleanup(client.Close)
	return m, client
}

func TestServicesAreSetIndependently(t *testing.T) {
	m, client := newMaster(t)
	get := func(path string, want int) string {
		t.Helper()
		status, body, err := client.Get(context.Background(), path, 1<<20)
		if err != nil || status != want {
			t.Errorf("%s: status %d, %v; want %d", path, status, err, want)
		}
		return string(body)
	}
	if body := get("/status/v1/services/jruby-metrics?level=debug", http.StatusOK); !json.Valid([]byte(body)) {
		t.Errorf("jruby-metrics: %s", body)
	}
	if got := get("/status/v1/simple/ca", http.StatusOK); got != "running" {
		t.Errorf("ca is %q, want running", got)
	}
	m.SetService("ca", "stopping")
	if got := get("/status/v1/simple/ca", http.StatusServiceUnavailable); got != "stopping" {
		t.Errorf("ca is %q, want stopping", got)
	}
	m.SetService("ca", "")
	get("/status/v1/simple/ca", http.StatusNotFound)
	get("/status/v1/services/puppetdb-status", http.StatusNotFound)
	m.SetPuppetDB(false, true, true)
	get("/status/v1/services/puppetdb-status", http.StatusOK)
	m.SetAnswer("/status/v1/services/puppetdb-status", 0, "")
	get("/status/v1/services/puppetdb-status", http.StatusNotFound)
	m.SetAPI(check.APIPuppet3)
	get("/status/v1/services/jruby-metrics", http.StatusNotFound)
}

// TestStuckMasterReportsRunning: while all JRubies are stuck, the status is running.
func TestStuckMasterReportsRunning(t *testing.T) {
	m, client := newMaster(t)
	if err := m.Set(checktest.JRubyStuck); err != nil {
		t.Fatal(err)
	}
	status, body, err := client.Get(context.Background(), "/status/v1/simple/server", 100)
	if err != nil || status != http.StatusOK || string(body) != "running" {
		t.Fatalf("%d, %q, %v", status, body, err)
	}
}
