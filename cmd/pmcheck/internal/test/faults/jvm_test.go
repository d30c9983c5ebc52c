//go:build linux

package faults_test

import (
	"strings"
	"time"
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
	)
	return []fault{
		{area: "JVM", name: "killed (`kill -9`)", inject: killJVM,
			said: []string{lost, refused, failed, starting, crashed}, haproxy: "DOWN", within: time.Second,
			back: startTime},
		{area: "JVM", name: "stopped (`kill -STOP`)", inject: signalJVM("STOP"), mend: signalJVM("CONT"),
			said: []string{silent}, haproxy: "DOWN", within: unanswered, back: 4 * time.Second},
		{
			area:    "JVM",
			name:    "no file descriptors left",
			inject:  exhaustFiles,
			mend:    grantFiles,
			long:    true,
			said:    []string{silent, lost},
			haproxy: "DOWN",
			within:  38 * time.Second,
			back:    10 * time.Second,
		},
		{
			area:    "JVM",
			name:    "heap used up by a catalog",
			inject:  exhaustHeap,
			mend:    func(s *faultSite) { s.Puppet.SetSitePP("") },
			long:    true,
			said:    []string{silent, refused, failed, starting, crashed, lost},
			haproxy: "DOWN",
			within:  time.Minute,
			back:    startTime,
		},
		{
			area:    "JVM",
			name:    "heap too small to start: a crash loop",
			inject:  killedWith("-Xmx32m"),
			mend:    (*faultSite).startAnew,
			long:    true,
			said:    []string{refused, stopped, failed, starting, crashed},
			haproxy: "DOWN",
			within:  time.Second,
			lasts:   15 * time.Second,
			back:    startTime,
		},
		{
			area:    "JVM",
			name:    "does not start: bad `JAVA_ARGS`",
			inject:  killedWith("-Xbogus"),
			mend:    (*faultSite).startAnew,
			long:    true,
			said:    []string{refused, stopped, failed, starting, crashed},
			haproxy: "DOWN",
			within:  time.Second,
			lasts:   5 * time.Second,
			back:    startTime,
		},
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
	s.ask("agents", 1, s.catalogPath())
}

const javaDefaults = "/etc/default/puppetserver"

// killedWith returns a function that adds an argument for the JVM and kills it.
func killedWith(argument string) func(*faultSite) {
	return func(s *faultSite) {
		was := s.Host.MustRun("cat", javaDefaults) + "\n"
		s.Host.WriteFile(javaDefaults+".good", was, 0o644)
		s.Host.WriteFile(javaDefaults, strings.Replace(was, "\"\n", " "+argument+"\"\n", 1), 0o644)
		killJVM(s)
	}
}

// startAnew restores the arguments and restarts Puppet Server.
func (s *faultSite) startAnew() {
	s.Host.MustRun("mv", javaDefaults+".good", javaDefaults)
	s.Host.MustRun("systemctl", "reset-failed", "puppetserver")
	s.Host.MustRun("systemctl", "restart", "--no-block", "puppetserver")
}
