package faults_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// startTime is the limit for a start of Puppet Server on a busy machine, and reloadTime for
// a reload, which keeps the JVM.
const (
	startTime  = 4 * time.Minute
	reloadTime = 2 * time.Minute
)

// unanswered is when a master whose process is stopped is noticed at the latest: after
// probe.interval and probe.timeout.
const unanswered = 7 * time.Second

// aged is when the last verdict is no longer answered at the latest, if nothing is known since: three times
// probe.interval, and a second until the next probe.
const aged = 18 * time.Second

// jvmFaults returns faults of Puppet Server's process. pmcheck notices at once what the
// kernel or systemd reports.
func jvmFaults() []fault {
	const (
		refused  = "503 unhealthy: refused"
		stopped  = "503 unhealthy: unit-stopped"
		failed   = "503 unhealthy: unit-failed"
		starting = "503 warming: unit-starting"
		crashed  = "503 warming: unit-crashed"
		silent   = "503 unhealthy: timeout"
		lost     = "503 unhealthy: connection-lost"
		deaf     = "503 unhealthy: not-accepting"
	)
	return []fault{
		{name: "killed (`kill -9`)", inject: killJVM,
			said: []string{lost, refused, failed, starting, crashed}, within: time.Second, back: startTime},
		{name: "stopped (`kill -STOP`)", inject: signalJVM("STOP"), mend: signalJVM("CONT"),
			said: []string{silent}, within: unanswered, back: 4 * time.Second},
		{
			name:   "no file descriptors left",
			inject: exhaustFiles,
			mend:   grantFiles,
			said:   []string{deaf, silent, lost},
			within: 10 * time.Second,
			back:   10 * time.Second,
		},
		{
			name:   "heap used up by a catalog",
			inject: exhaustHeap,
			mend:   func(s *faultSite) { s.Puppet.SetSitePP("") },
			long:   true,
			said:   []string{silent, refused, failed, starting, crashed, lost},
			within: time.Minute,
			back:   startTime,
		},
		{
			name:   "heap too small to start: a crash loop",
			inject: starve,
			mend:   (*faultSite).startAnew,
			long:   true,
			said:   []string{refused, stopped, failed, starting, crashed},
			within: time.Second,
			lasts:  15 * time.Second,
			back:   startTime,
		},
	}
}

// puppetFaults returns faults of Puppet Server's unit and its rules, without the guard, which would take the master
// out before the fault does.
func puppetFaults() []fault {
	return []fault{
		{
			name:    "`auth.conf` without the status",
			long:    true,
			prepare: (*faultSite).denyStatus,
			restore: (*faultSite).allowStatus,
			inject:  func(s *faultSite) { s.WaitFinding(check.CheckJRuby, check.AuthDenied, startTime) },
			lasts:   unanswered,
		},
		{
			name:    "`auth.conf` without the status, and no key",
			long:    true,
			prepare: (*faultSite).denyStatus,
			restore: (*faultSite).allowStatus,
			inject:  func(s *faultSite) { s.keepSSL(); hideKey(s) },
			mend:    (*faultSite).restoreSSL,
			said:    []string{"503 unknown: auth-denied"},
			within:  aged,
			back:    unanswered,
			lasts:   unanswered,
		},
		{name: "`systemctl reload`, a compile in flight, no guard", long: true, inject: func(s *faultSite) {
			s.Host.MustRun("systemctl", "stop", reloadGuard)
			s.compile()
			s.Host.MustRun("systemctl", "reload", "--no-block", "puppetserver")
		}, mend: (*faultSite).endCompile,
			said: []string{"503 warming: unit-reloading"}, within: time.Second, back: reloadTime, lasts: unanswered},
		{name: "`systemctl stop`, a compile in flight, no guard", long: true, inject: func(s *faultSite) {
			s.Host.MustRun("systemctl", "stop", "pmcheck-guard@puppetserver")
			s.compile()
			s.Host.MustRun("systemctl", "stop", "--no-block", "puppetserver")
		}, mend: func(s *faultSite) { s.endCompile(); s.Host.MustRun("systemctl", "start", "puppetserver") },
			said: []string{"503 unhealthy: unit-stopping"}, within: time.Second, back: startTime, lasts: unanswered},
	}
}

// killJVM kills the JVM as a crash does, without SIGTERM first.
func killJVM(s *faultSite) { s.Host.MustRun("systemctl", "kill", "--signal=KILL", "puppetserver") }

func signalJVM(signal string) func(*faultSite) {
	return func(s *faultSite) {
		s.Host.MustRun("systemctl", "kill", "--kill-whom=main", "--signal="+signal, "puppetserver")
	}
}

// limitFiles sets the JVM's limit of open files to the number that a shell command prints.
// It runs as the JVM's user, which may do that.
func (s *faultSite) limitFiles(count string) {
	s.Host.MustRun("setpriv", "--reuid=puppet", "--regid=puppet", "--clear-groups", "sh", "-ec", `
pid=$(systemctl show --property=MainPID --value puppetserver)
prlimit --pid "$pid" --nofile="$(`+count+`):"`)
}

// exhaustFiles limits the JVM to the files that it has open, and lets clients wait for each
// descriptor that becomes free.
func exhaustFiles(s *faultSite) {
	s.limitFiles(`ls "/proc/$pid/fd" | wc -l`)
	s.Host.MustRun("systemd-run", "--quiet", "--collect", "--unit=clients", "bash", "-c",
		"for i in {1..200}; do exec {fd}<>/dev/tcp/127.0.0.1/8140; done; sleep infinity")
}

func grantFiles(s *faultSite) {
	s.limitFiles(`prlimit --pid "$pid" --nofile --output HARD --noheadings`)
	s.Host.MustRun("systemctl", "stop", "clients")
}

// exhaustHeap makes an agent request a catalog that no heap can hold.
func exhaustHeap(s *faultSite) {
	s.Puppet.SetSitePP(`$mebibyte = Integer[1, 20].reduce('x') |$all, $i| { "${all}${all}" }
$all = Integer[1, 100000].map |$i| { "${i}${mebibyte}" }
`)
	s.askCatalog()
}

const javaDefaults = "/etc/default/puppetserver"

// starve gives the JVM a heap that it cannot start with, and kills it.
func starve(s *faultSite) {
	was := s.Host.MustRun("cat", javaDefaults) + "\n"
	s.Host.WriteFile(javaDefaults+".good", was, 0o644)
	s.Host.WriteFile(javaDefaults, strings.Replace(was, "\"\n", " -Xmx32m\"\n", 1), 0o644)
	killJVM(s)
}

func (s *faultSite) startAnew() {
	s.Host.MustRun("mv", javaDefaults+".good", javaDefaults)
	s.Host.MustRun("systemctl", "reset-failed", "puppetserver")
	s.Host.MustRun("systemctl", "restart", "--no-block", "puppetserver")
}

func (s *faultSite) configure(yaml string) {
	s.Configure(yaml)
	s.Host.MustRun("systemctl", "reload", "pmcheck")
}

// askCatalog starts an agent that requests the host's own catalog, in a systemd unit, and does not wait for it.
func (s *faultSite) askCatalog() {
	const unit = "agent"
	name := s.Puppet.Certname()
	_, _ = s.Host.Run("systemctl", "stop", unit) // a previous fault may have left it
	s.Host.MustRun("systemd-run", "--quiet", "--collect", "--unit="+unit, "curl", "--silent", "--output", "/dev/null",
		"--cacert", ssldir+"/certs/ca.pem", "--cert", certFile(name), "--key", keyFile(name),
		"https://"+name+":8140/puppet/v3/catalog/"+name+"?environment=production")
}

// While gate exists, compiles wait. The first to wait creates compiling.
const (
	gate      = "/tmp/gate"
	compiling = "/tmp/compiling"
)

// compile starts a compile that ends with endCompile. Its script ignores the SIGTERM
// that systemd sends to every process of a unit that stops.
func (s *faultSite) compile() {
	const script = "/etc/puppet/code/wait.sh"
	s.Host.WriteFile(gate, "", 0o644)
	s.Host.WriteFile(script, fmt.Sprintf("trap '' TERM\necho >%s\nwhile [ -e %s ]; do sleep 0.2; done\n", compiling,
		gate), 0o644)
	s.Puppet.SetSitePP(fmt.Sprintf("generate('/bin/sh', '%s')\n", script))
	s.askCatalog()
	lab.WaitFor(s.t, 30*time.Second, 20*time.Millisecond, func() error {
		_, err := s.Host.Run("test", "-e", compiling)
		return err
	})
}

func (s *faultSite) endCompile() {
	s.Host.MustRun("rm", gate, compiling)
	s.Puppet.SetSitePP("")
}

const authConf = "/etc/puppet/puppetserver/conf.d/auth.conf"

func (s *faultSite) denyStatus() {
	s.Host.MustRun("cp", "-a", authConf, authConf+".good")
	conf := s.Host.MustRun("cat", authConf)
	const rule = `
        {
            match-request: { path: "/status/v1", type: path, method: get }
            deny: "*"
            sort-order: 1
            name: "no status"
        },`
	s.Host.WriteFile(authConf, strings.Replace(conf, "rules: [", "rules: ["+rule, 1), 0o644)
	s.reload()
}

func (s *faultSite) allowStatus() {
	s.Host.MustRun("mv", authConf+".good", authConf)
	s.reload()
}
