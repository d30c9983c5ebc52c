package lab

import (
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// postgresHost is the name in the server's certificate.
const postgresHost = "localhost"

// A Postgres is Debian's PostgreSQL server, set up as in leaving-reference.md: TLS with a certificate
// of a Puppet CA, and masters that log in with their own certificates.
type Postgres struct {
	tb      testing.TB
	net     *Network // nil is that of the test process
	dir     string
	bin     string
	host    string // the name in its certificate
	address string
	ca      authority
	process *process
}

// pgUser is the role that owns the cluster.
const pgUser = "postgres"

// StartPostgres starts a server with the roles and an empty database pmcheck. The
// certificates of masters may log in as the role pmcheck. LetIn adds more.
func StartPostgres(tb testing.TB, masters ...string) *Postgres {
	tb.Helper()
	p := &Postgres{
		tb:      tb,
		dir:     tempDir(tb),
		host:    postgresHost,
		address: Address(tb, "127.0.0.1"),
		ca:      newAuthority(tb, "Puppet CA: lab"),
	}
	Write(tb, p.path("ca.pem"), string(encodePEM("CERTIFICATE", p.ca.cert.Raw)))
	Write(tb, p.path("crl.pem"), string(encodePEM("X509 CRL",
		p.ca.revocationList(tb, &x509.RevocationList{Number: big.NewInt(0)}, time.Now().Add(24*time.Hour)))))
	p.create(masters)
	return p
}

// StartPostgres starts a server as the function of the same name does, but in the master's
// network, on port 5432 of an IP address that must exist there, and with the master's CA.
// Hosts must know the address by the name host.
func (m *PuppetMaster) StartPostgres(host, ip string, masters ...string) *Postgres {
	m.tb.Helper()
	p := &Postgres{
		tb:      m.tb,
		net:     m.Host.net,
		dir:     tempDir(m.tb),
		host:    host,
		address: net.JoinHostPort(ip, "5432"),
		ca:      m.ca.authority(),
	}
	Write(m.tb, p.path("ca.pem"), m.ca.caFile("ca_crt.pem"))
	Write(m.tb, p.path("crl.pem"), m.ca.caFile("ca_crl.pem"))
	p.create(masters)
	return p
}

// create makes the cluster, starts the server and adds what pg_ident.conf names.
func (p *Postgres) create(masters []string) {
	p.tb.Helper()
	Need(p.tb, "psql", "postgresql")
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(dirs) == 0 {
		p.tb.Fatal("no initdb (apt-get install --no-install-recommends postgresql)")
	}
	p.bin = filepath.Dir(slices.Max(dirs))
	p.own(p.dir)
	Output(p.tb, p.command("initdb", "--pgdata", p.data(), "--auth", "peer", "--no-sync", "--username", pgUser))
	p.issue(p.host)
	p.own(p.CertFiles(p.host).Key)
	p.configure()
	for _, m := range masters {
		p.LetIn(m)
	}
	p.Start()
	p.SQL("postgres", `create role pmcheck login`)
	p.SQL("postgres", `create role pmcheck_admin in role pmcheck`)
	p.SQL("postgres", `create database pmcheck owner pmcheck_admin`)
}

func (p *Postgres) configure() {
	p.tb.Helper()
	host, port, err := net.SplitHostPort(p.address)
	Must(p.tb, err)
	files := p.CertFiles(p.host)
	p.write("postgresql.auto.conf", fmt.Sprintf(`
listen_addresses = '%s'
port = %s
unix_socket_directories = '%s'
ssl = on
ssl_cert_file = '%s'
ssl_key_file = '%s'
ssl_ca_file = '%s'
ssl_crl_file = '%s'
log_connections = off
fsync = off
`, host, port, p.dir, files.Certificate, files.Key, files.CA, files.CRL))
	p.write("pg_hba.conf", "local all postgres peer\n"+
		"hostssl pmcheck pmcheck 0.0.0.0/0 cert map=pmcheck\n")
	p.write("pg_ident.conf", "")
}

// LetIn allows the certificate of a name to log in as a master, after the next start or Reload.
func (p *Postgres) LetIn(certname string) {
	p.tb.Helper()
	p.issue(certname)
	const ident = "pg_ident.conf"
	p.write(ident, Read(p.tb, filepath.Join(p.data(), ident))+fmt.Sprintf("pmcheck %s pmcheck\n", certname))
}

// issue makes the certificate and the key of a certname.
func (p *Postgres) issue(certname string) {
	p.tb.Helper()
	files := p.CertFiles(certname)
	cert, key := p.ca.issue(p.tb, certname, nil)
	Write(p.tb, files.Certificate, string(encodePEM("CERTIFICATE", cert)))
	Must(p.tb, os.WriteFile(files.Key, encodePEM("RSA PRIVATE KEY", key), 0o600))
}

// Trust has the server and a master with a CA of its own trust each other.
func (p *Postgres) Trust(master puppetclient.Files) {
	p.tb.Helper()
	own := p.CertFiles(p.host)
	for ours, theirs := range map[string]string{own.CA: master.CA, own.CRL: master.CRL} {
		a, b := Read(p.tb, ours), Read(p.tb, theirs)
		Write(p.tb, ours, a+b)
		Write(p.tb, theirs, b+a)
	}
	p.Reload()
}

// CertFiles returns the paths of a certname's files.
func (p *Postgres) CertFiles(certname string) puppetclient.Files {
	return puppetclient.Files{
		Certificate: p.path(certname + ".cert.pem"),
		Key:         p.path(certname + ".key.pem"),
		CA:          p.path("ca.pem"),
		CRL:         p.path("crl.pem"),
	}
}

// Config returns the configuration of a master with a budget in this database.
func (p *Postgres) Config(certname string) config.Config {
	c, files := config.Default(), p.CertFiles(certname)
	c.Probe.Certname = certname
	c.Probe.Certificate, c.Probe.Key, c.Probe.CA, c.Probe.CRL = files.Certificate, files.Key, files.CA, files.CRL
	Must(p.tb, c.Budget.Database.UnmarshalText([]byte(p.URL())))
	return c
}

// URL returns the value of the setting budget.database.
func (p *Postgres) URL() string {
	return "postgresql://" + net.JoinHostPort(p.host, Port(p.tb, p.address)) + "/pmcheck"
}

// Start starts the server and waits until it answers.
func (p *Postgres) Start() {
	p.tb.Helper()
	log := p.path("postgres.log")
	server := start(p.tb, p.command("postgres", "-D", p.data()), log)
	p.process = server
	p.tb.Cleanup(func() { // its children, in process groups of their own, end with it
		if server.alive() {
			_ = server.cmd.Process.Signal(syscall.SIGCONT)
			_ = server.cmd.Process.Signal(syscall.SIGQUIT)
			<-server.done
		}
	})
	WaitFor(p.tb, 30*time.Second, 50*time.Millisecond, func() error {
		if err := p.process.died(); err != nil {
			p.tb.Fatalf("%v\n%s", err, tail(log, 20))
		}
		out, err := p.psql("postgres", "select 1").CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
}

// Stop stops the server as a shutdown of its host does.
func (p *Postgres) Stop() {
	p.tb.Helper()
	p.process.signal(syscall.SIGINT) // fast shutdown
	p.process.waitExit(30 * time.Second)
}

// Reload makes the server read pg_hba.conf and pg_ident.conf again.
func (p *Postgres) Reload() {
	p.tb.Helper()
	p.SQL("postgres", "select pg_reload_conf()")
}

// Freeze stops the server with SIGSTOP: the kernel still accepts connections, but the
// server does not answer.
func (p *Postgres) Freeze() { p.process.signal(syscall.SIGSTOP) }

// Thaw continues a frozen server.
func (p *Postgres) Thaw() { p.process.signal(syscall.SIGCONT) }

// SQL runs statements in a database as the superuser and returns what they print.
func (p *Postgres) SQL(database, statements string) string {
	p.tb.Helper()
	return strings.TrimSpace(Output(p.tb, p.psql(database, statements)))
}

// TrySQL is SQL for statements that may fail.
func (p *Postgres) TrySQL(database, statements string) (string, error) {
	out, err := p.psql(database, statements).CombinedOutput()
	return string(out), err
}

func (p *Postgres) psql(database, statements string) *exec.Cmd {
	return p.command("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1",
		"-h", p.dir, "-p", Port(p.tb, p.address), "-U", pgUser, "-d", database, "-c", statements)
}

func (p *Postgres) path(name string) string { return filepath.Join(p.dir, name) }

func (p *Postgres) data() string { return p.path("data") }

func (p *Postgres) write(name, content string) {
	p.tb.Helper()
	path := filepath.Join(p.data(), name)
	Write(p.tb, path, content)
	p.own(path)
}

// own makes the server's user the owner of a file or directory, as the server requires.
func (p *Postgres) own(path string) {
	p.tb.Helper()
	Output(p.tb, exec.Command("chown", pgUser, path))
}

// command returns a command that runs a program of PostgreSQL as the server's user.
func (p *Postgres) command(program string, args ...string) *exec.Cmd {
	args = append([]string{"--reuid", pgUser, "--regid", pgUser, "--clear-groups", filepath.Join(p.bin, program)}, args...)
	cmd := p.net.Command("setpriv", args...)
	cmd.Dir = "/"
	return cmd
}
