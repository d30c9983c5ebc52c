package lab

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// PuppetServerOptions configures a Puppet Server. The zero value is a compile server with
// its own CA on 127.0.0.1.
type PuppetServerOptions struct {
	MaxActiveInstances int    // JRubies; default 1
	HeapMB             int    // default 512
	AccessRules        string // authorization rules in HOCON, in front of the shipped ones
	JRubyConf          string // further settings of jruby-puppet, in HOCON

	// JavaArgs tune the JVM. The default, {"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:MetaspaceSize=512m"},
	// starts in half the CPU time, and collects seldom. A benchmark of the server's own speed sets an empty, non-nil
	// slice for a JVM as shipped.
	JavaArgs []string
}

// A PuppetServer is one real Puppet Server, that of this machine or of the release whose
// suite PMCHECK_RELEASE names. It runs as user puppet with its own configuration, CA, code
// and logs below Dir. It may be killed and started again on the same data and address.
type PuppetServer struct {
	Dir string // everything it reads and writes

	*keeper
	opts PuppetServerOptions
	addr string  // host:port
	root string  // where the package is installed
	in   *Chroot // of another release; nil for this machine
	proc *process
}

// StartPuppetServer starts a Puppet Server and returns at once, so that several
// may start side by side; see WaitReady. On this first start, the server makes its CA and
// its certificate.
func StartPuppetServer(tb testing.TB, opts PuppetServerOptions) *PuppetServer {
	tb.Helper()
	Need(tb, "java", "puppetserver")
	Need(tb, "puppetserver", "puppetserver")
	opts.MaxActiveInstances = max(opts.MaxActiveInstances, 1)
	dir := tempDir(tb)
	s := &PuppetServer{Dir: dir, opts: opts, addr: Address(tb, "127.0.0.1"), root: "/"}
	s.keeper = &keeper{tb: tb, asRoot: exec.Command, ssl: dir + "/ssl", caDir: dir + "/ca"}
	s.signer = s.keeper
	if r, another := bootedRelease(tb); another {
		s.root, s.in = r.Root(tb), r.StartChroot(tb)
	}
	s.owner = s.account()
	s.writeConfig()
	showOnFailure(tb, s.path("log/puppetserver.log"))
	s.Start()
	return s
}

// Start starts a server that has been killed or stopped.
func (s *PuppetServer) Start() {
	s.tb.Helper()
	if s.proc != nil && s.proc.alive() {
		s.tb.Fatal("Puppet Server is already running")
	}
	args := append(s.opts.javaArgs(),
		"-Djruby.lib=/usr/share/jruby/lib",
		"-Djava.io.tmpdir="+s.path("run"),
		"-XX:+CrashOnOutOfMemoryError", "-XX:ErrorFile="+s.path("log/hs_err.log"),
		"-jar", "/usr/share/puppetserver/puppetserver.jar",
		"--config", s.path("server/conf.d"),
		"--bootstrap-config", s.path("server/services.d"),
		"--restart-file", s.path("run/restart"))
	s.proc = start(s.tb, s.command("java", args...), s.path("log/console.log"))
}

// command returns a command that runs a program of the release as user puppet, below Dir.
func (s *PuppetServer) command(program string, args ...string) *exec.Cmd {
	user, group, _ := strings.Cut(s.owner, ":")
	args = append([]string{"--reuid=" + user, "--regid=" + group, "--clear-groups",
		"--pdeathsig=KILL", "--", "env", "--chdir=" + s.Dir, "HOME=" + s.Dir, program}, args...)
	if s.in != nil {
		return s.in.Command("setpriv", args...)
	}
	cmd := exec.Command("setpriv", args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	return cmd
}

// javaArgs returns the arguments that the package keeps in JAVA_ARGS.
func (o PuppetServerOptions) javaArgs() []string {
	heap, tuning := o.HeapMB, o.JavaArgs
	if heap == 0 {
		heap = 512
	}
	if tuning == nil {
		tuning = []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:MetaspaceSize=512m"}
	}
	args := []string{fmt.Sprintf("-Xms%dm", heap), fmt.Sprintf("-Xmx%dm", heap),
		"-Djruby.logger.class=com.puppetlabs.jruby_utils.jruby.Slf4jLogger"}
	return append(args, tuning...)
}

// WaitReady waits until the server answers "running" and returns how long that took. Puppet
// Server does so as soon as the first of its JRubies is ready.
func (s *PuppetServer) WaitReady(within time.Duration) time.Duration {
	s.tb.Helper()
	return WaitFor(s.tb, within, 50*time.Millisecond, func() error {
		Must(s.tb, s.proc.died())
		code, body, err := s.Get("", "/status/v1/simple")
		if err != nil || code != http.StatusOK {
			return errors.Join(err, fmt.Errorf("the status is %d %q", code, body))
		}
		return nil
	})
}

// Kill ends the server with SIGKILL and waits until it is gone.
func (s *PuppetServer) Kill() { s.proc.kill() }

// Signal sends sig: SIGSTOP for a server that hangs, SIGHUP for a reload.
func (s *PuppetServer) Signal(sig os.Signal) {
	s.tb.Helper()
	s.proc.signal(sig)
}

// Pid returns the process id of the JVM that was started last.
func (s *PuppetServer) Pid() int { return s.proc.cmd.Process.Pid }

// Address returns the host:port the server listens on.
func (s *PuppetServer) Address() string { return s.addr }

// HasRSAKeyExchange reports whether the server's Java has cipher suites with RSA key exchange. OpenJDK 17.0.15 has,
// and 21.0.13 has disabled them (jdk.tls.disabledAlgorithms): with no other suite, Puppet Server serves no agent.
func (s *PuppetServer) HasRSAKeyExchange() bool {
	s.tb.Helper()
	files, err := filepath.Glob(filepath.Join(s.root, "etc/java-*-openjdk/security/java.security"))
	Must(s.tb, err)
	if len(files) != 1 {
		s.tb.Fatalf("which is the server's Java? %q", files)
	}
	for line := range strings.Lines(Read(s.tb, files[0])) {
		if !strings.HasPrefix(line, "#") && strings.Contains(line, "TLS_RSA_*") {
			return false
		}
	}
	return true
}

// Certname returns the name in the server's certificate.
func (s *PuppetServer) Certname() string { return "master.lab.example" }

// SetSitePP replaces the manifest of the production environment, which is
// empty at first. The next compile reads it.
func (s *PuppetServer) SetSitePP(content string) {
	s.tb.Helper()
	s.writeFile("code/environments/production/manifests/site.pp", content)
}

// Requests counts the requests answered so far.
func (s *PuppetServer) Requests() int {
	s.tb.Helper()
	return strings.Count(Read(s.tb, s.path("log/puppetserver-access.log")), "\n")
}

// Get requests path with the certificate of certname (see IssueCert), or anonymously if
// certname is empty, over a new connection. It waits for the answer without a timeout.
func (s *PuppetServer) Get(certname, path string) (code int, body string, err error) {
	q := query{
		certname: s.Certname(),
		dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{Timeout: time.Second}).DialContext(ctx, network, s.Address())
		},
	}
	if certname != "" {
		files := s.CertFiles(certname)
		cert, err := tls.LoadX509KeyPair(files.Certificate, files.Key)
		if err != nil {
			return 0, "", err
		}
		q.certs = []tls.Certificate{cert}
	}
	return q.get(path)
}

// IssueCert signs a certificate for certname with the server's CA, and writes it where an
// agent would keep it, over an earlier one. edit, if not nil, may change the certificate
// before it is signed, such as its expiry or its alternative names. The server must have
// been ready once.
func (s *PuppetServer) IssueCert(certname string, edit func(*x509.Certificate)) {
	s.tb.Helper()
	s.issue(certname, edit)
}

func (s *PuppetServer) path(name string) string { return filepath.Join(s.Dir, name) }
