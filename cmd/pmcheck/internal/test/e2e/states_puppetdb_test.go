//go:build linux

package e2e_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// stopDatabase: without its database, PuppetDB reports that itself, and the master stays
// in service.
func (m *hostSite) stopDatabase(unit string, seen *stateTable) {
	m.t.Helper()
	m.WaitAnswerTo("/puppetdb", http.StatusOK, lab.ServingBody, 3*time.Minute)
	m.host.MustRun("systemctl", "stop", unit)
	began := time.Now()
	m.WaitAnswerTo("/puppetdb", http.StatusServiceUnavailable, "unhealthy: puppetdb-down", time.Minute)
	seen.add("PostgreSQL behind PuppetDB stopped",
		"`/puppetdb` "+refuses("unhealthy: puppetdb-down")+", `/server` 200 with a warning",
		time.Since(began), m.curl())
	began = time.Now()
	own, _ := m.host.Run("curl", m.agentCurl(":8081/status/v1/services/puppetdb-status", "--max-time", "20")...)
	measured(m.t, "PuppetDB without its database says so",
		fmt.Sprintf("%d ms, %q", time.Since(began).Milliseconds(), own))
	if code, body, err := m.Ask("/server"); code != http.StatusOK || err != nil {
		m.t.Errorf("/server without PuppetDB: %d %q, %v; want 200", code, body, err)
	}
	status := m.Status()
	if f := lab.Finding(status, check.CheckPuppetDB); f.State != check.StateBad || f.Severity != check.Warn {
		m.t.Errorf("the check of PuppetDB is %s, to %s; want it bad, to warn", f.State, f.Severity)
	}
	measured(m.t, "PuppetDB without its database, in words",
		fmt.Sprintf("%q", lab.Finding(status, check.CheckPuppetDB).Detail))
	m.host.MustRun("systemctl", "start", unit)
	measured(m.t, "database started to /puppetdb 200",
		m.WaitAnswerTo("/puppetdb", http.StatusOK, lab.ServingBody, time.Minute))
}
