package lab

import "strings"

// puppetdbFiles configure PuppetDB for a database on the same host.
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

const createPuppetDB = `
CREATE ROLE puppetdb LOGIN PASSWORD 'puppetdb';
CREATE DATABASE puppetdb OWNER puppetdb ENCODING 'UTF8' TEMPLATE template0;
\c puppetdb
CREATE EXTENSION pg_trgm;
`

// StartPuppetDB starts PostgreSQL, and Debian's PuppetDB with the host's Puppet certificate, which
// must exist. It returns the unit of PostgreSQL, and does not wait for PuppetDB.
func (h *Host) StartPuppetDB() (database string) {
	tb := h.net.tb
	tb.Helper()
	Need(tb, "puppetdb", "puppetdb")
	Need(tb, "pg_createcluster", "postgresql")
	version := strings.TrimSpace(h.MustRun("sh", "-c", "ls /usr/lib/postgresql | sort -n | tail -n 1"))
	h.MustRun("pg_createcluster", "--port", "5433", version, "lab")
	database = "postgresql@" + version + "-lab"
	h.MustRun("systemctl", "start", database)
	psql := h.Command("runuser", "-u", "postgres", "--", "psql", "--port", "5433", "--no-psqlrc", "--quiet",
		"--set", "ON_ERROR_STOP=1")
	psql.Stdin = strings.NewReader(createPuppetDB)
	Output(tb, psql)
	for path, content := range puppetdbFiles {
		h.WriteFile(path, content, 0o644)
	}
	for from, to := range map[string]string{
		masterSSL + "/certs/" + h.FQDN() + ".pem":        "cert.pem",
		masterSSL + "/private_keys/" + h.FQDN() + ".pem": "key.pem",
		masterSSL + "/certs/ca.pem":                      "ca.pem",
	} {
		h.MustRun("install", "-D", "-o", "puppetdb", "-m", "0400", from, "/etc/puppetdb/ssl/"+to)
	}
	h.MustRun("systemctl", "start", "--no-block", "puppetdb")
	return database
}
