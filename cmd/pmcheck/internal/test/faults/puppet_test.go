//go:build linux

package faults_test

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// puppetFaults returns faults in Puppet Server and in its unit.
func puppetFaults() []fault {
	const (
		look = unanswered // probe.interval and some slack
		env  = "/etc/puppet/code/environments/production"
	)
	var (
		drained = []string{"503 drain"}
		started = func(s *faultSite) { s.Host.MustRun("systemctl", "start", "puppetserver") }
	)
	faults := []fault{
		{name: "JRuby stuck in `generate()` (`stuck_after: 5s`)", long: true, inject: func(s *faultSite) {
			s.configure("jruby: {stuck_after: 5s}\n")
			s.compile()
			s.ask("waiting", 2, environments)
		}, mend: func(s *faultSite) { s.endCompile(); s.configure("") },
			said: []string{"503 unhealthy: jruby-stuck"}, within: 12 * time.Second, back: 8 * time.Second},
		{name: "250 requests pending", long: true, inject: func(s *faultSite) {
			s.compile()
			s.ask("waiting", 250, environments)
		}, mend: func(s *faultSite) { s.endCompile(); s.waitForRequests() }, lasts: 20 * time.Second, back: time.Minute},
		{
			name:   "`auth.conf` without the status",
			long:   true,
			inject: func(s *faultSite) { s.configure(""); s.denyStatus(); s.reload() },
			mend:   func(s *faultSite) { s.Host.MustRun("mv", authConf+".good", authConf); s.reload() },
			said:   []string{"503 unknown: auth-denied"},
			within: reloadTime,
			back:   reloadTime,
		},
		{
			name: "`systemctl reload`, with the guard",
			long: true,
			inject: func(s *faultSite) {
				s.Host.MustRun("systemctl", "start", reloadGuard)
				s.Host.MustRun("systemctl", "reload", "--no-block", "puppetserver")
			},
			said:    drained,
			haproxy: "NOLB",
			within:  30 * time.Second,
			back:    startTime,
		},
		{name: "`systemctl reload`, a compile in flight, no guard", long: true, inject: func(s *faultSite) {
			s.Host.MustRun("systemctl", "stop", reloadGuard)
			s.compile()
			s.Host.MustRun("systemctl", "reload", "--no-block", "puppetserver")
		}, mend: (*faultSite).endCompile,
			said: []string{"503 warming: unit-reloading"}, within: time.Second, back: reloadTime},
		{name: "`systemctl stop`, a compile in flight, no guard", long: true, inject: func(s *faultSite) {
			s.Host.MustRun("systemctl", "stop", "pmcheck-guard@puppetserver")
			s.compile()
			s.Host.MustRun("systemctl", "stop", "--no-block", "puppetserver")
		}, mend: func(s *faultSite) { s.endCompile(); started(s) },
			said: []string{"503 unhealthy: unit-stopping"}, within: time.Second, back: startTime},
		{
			name:    "`systemctl restart`, with the guard",
			long:    true,
			inject:  func(s *faultSite) { s.Host.MustRun("systemctl", "restart", "--no-block", "puppetserver") },
			said:    drained,
			haproxy: "NOLB",
			within:  leaveTime,
			back:    startTime,
		},
		{
			name:    "`systemctl mask --now`, with the guard",
			long:    true,
			inject:  func(s *faultSite) { s.Host.MustRun("systemctl", "mask", "--now", "puppetserver") },
			mend:    func(s *faultSite) { s.Host.MustRun("systemctl", "unmask", "puppetserver"); started(s) },
			said:    drained,
			haproxy: "NOLB",
			within:  30 * time.Second,
			back:    startTime,
		},
		{
			name: "started, one of 3 JRubies is ready",
			long: true,
			inject: func(s *faultSite) {
				s.Host.WriteFile("/etc/puppet/puppetserver/conf.d/lab-size.conf", "jruby-puppet.max-active-instances: 3\n", 0o644)
				s.Host.MustRun("rm", "/etc/puppet/puppetserver/conf.d/lab.conf")
				killJVM(s)
			},
			said:   []string{"503 warming: jruby-warming"},
			within: startTime,
			back:   startTime,
		},
	}
	for i := range faults {
		f := &faults[i]
		f.area = "Puppet"
		if f.haproxy == "" {
			f.haproxy = "DOWN"
		}
		f.lasts = max(f.lasts, look)
	}
	return faults
}

// configure writes another configuration and reloads pmcheck.
func (s *faultSite) configure(yaml string) {
	s.Configure(yaml)
	s.Host.MustRun("systemctl", "reload", "pmcheck")
}

const environments = "/puppet/v3/environments"

// catalogPath returns the path of the host's own catalog.
func (s *faultSite) catalogPath() string {
	return "/puppet/v3/catalog/" + s.Puppet.Certname() + "?environment=production"
}

// ask starts n agents that request a path at the same time, in a systemd unit, and does
// not wait for them.
func (s *faultSite) ask(unit string, n int, path string) {
	name := s.Puppet.Certname()
	_, _ = s.Host.Run("systemctl", "stop", unit) // a previous fault may have left it
	s.Host.MustRun("systemd-run", "--quiet", "--collect", "--unit="+unit, "sh", "-c", `
name=$1 n=$2 url=$3
exec curl --silent --output /dev/null --parallel --parallel-immediate --parallel-max "$n" \
    --cacert `+ssldir+`/certs/ca.pem --cert `+certFile(name)+` --key `+keyFile(name)+` \
    $(yes "$url" | head -n "$n")`, "sh", name, fmt.Sprint(n), "https://"+name+":8140"+path)
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
	s.ask("compiling", 1, s.catalogPath())
	lab.WaitFor(s.t, 30*time.Second, 20*time.Millisecond, func() error {
		_, err := s.Host.Run("test", "-e", compiling)
		return err
	})
}

// waitForRequests waits until the requests that arrived during the compile have been
// answered: otherwise the next fault would queue behind them.
func (s *faultSite) waitForRequests() {
	lab.WaitFor(s.t, 3*time.Minute, 100*time.Millisecond, func() error {
		if _, err := s.Host.Run("systemctl", "--quiet", "is-active", "waiting"); err == nil {
			return errors.New("requests are still in flight")
		}
		return nil
	})
}

func (s *faultSite) endCompile() {
	s.Host.MustRun("rm", gate, compiling)
	s.Puppet.SetSitePP("")
}

const authConf = "/etc/puppet/puppetserver/conf.d/auth.conf"

// denyStatus puts a rule that denies the status in front of all others.
func (s *faultSite) denyStatus() {
	s.Host.MustRun("cp", "-a", authConf, authConf+".good")
	conf := s.Host.MustRun("cat", authConf)
	const rule = `
        {
            match-request: { path: "/status/v1/simple", type: path, method: get }
            deny: "*"
            sort-order: 1
            name: "no status"
        },`
	s.Host.WriteFile(authConf, strings.Replace(conf, "rules: [", "rules: ["+rule, 1), 0o644)
}
