//go:build linux

package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// puppetdbFiles configure PuppetDB on the master's own host.
var puppetdbFiles = map[string]string{
	"/etc/default/puppetdb": "JAVA_ARGS=\"-Xmx256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC\"\n",
	"/etc/puppetdb/conf.d/database.ini": `[database]
subname = //127.0.0.1:5433/puppetdb
username = puppetdb
password = puppetdb
`,
	"/etc/puppetdb/conf.d/jetty.ini": `[jetty]
ssl-host = 0.0.0.0
ssl-port = 8081
ssl-cert = /etc/puppetdb/ssl/cert.pem
ssl-key = /etc/puppetdb/ssl/key.pem
ssl-ca-cert = /etc/puppetdb/ssl/ca.pem
`,
}

const createDatabase = `
CREATE ROLE puppetdb LOGIN PASSWORD 'puppetdb';
CREATE DATABASE puppetdb OWNER puppetdb ENCODING 'UTF8' TEMPLATE template0;
\c puppetdb
CREATE EXTENSION pg_trgm;
`

// startPuppetDB starts PostgreSQL and PuppetDB, with the master's certificate,
// and does not wait for the latter. It returns the unit of the database.
func (m *hostSite) startPuppetDB() (unit string) {
	m.t.Helper()
	version := strings.TrimSpace(m.host.MustRun("sh", "-c", "ls /usr/lib/postgresql | sort -n | tail -n 1"))
	m.host.MustRun("pg_createcluster", "--port", "5433", version, "lab")
	unit = "postgresql@" + version + "-lab"
	m.host.MustRun("systemctl", "start", unit)
	m.host.WriteFile("/tmp/create.sql", createDatabase, 0o644)
	m.host.MustRun("runuser", "-u", "postgres", "--", "psql", "--port", "5433", "--quiet",
		"--set", "ON_ERROR_STOP=1", "--file", "/tmp/create.sql")
	for path, content := range puppetdbFiles {
		m.host.WriteFile(path, content, 0o644)
	}
	ssl := "/var/lib/puppet/ssl"
	for from, to := range map[string]string{
		ssl + "/certs/" + m.master.Certname() + ".pem":        "cert.pem",
		ssl + "/private_keys/" + m.master.Certname() + ".pem": "key.pem",
		ssl + "/certs/ca.pem":                                 "ca.pem",
	} {
		m.host.MustRun("install", "-D", "-o", "puppetdb", "-m", "0400", from, "/etc/puppetdb/ssl/"+to)
	}
	m.host.MustRun("systemctl", "start", "--no-block", "puppetdb")
	return unit
}

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
