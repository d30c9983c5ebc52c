package faults_test

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// puppetFaults are those within Puppet Server, and those of who handles its unit.
func puppetFaults() []fault {
	const (
		look = 4 * time.Second // interval, and a little
		env  = "/etc/puppet/code/environments/production"
	)
	var (
		drained = []string{"503 drain"}
		started = func(s *site) { s.host.MustRun("systemctl", "start", "puppetserver") }
	)
	faults := []fault{
		{name: "last deployment failed", long: true, inject: func(s *site) {
			s.host.WriteFile(env+"/.r10k-deploy.json", `{"signature":"0","started_at":"2026-01-01 00:00:00 +0000","finished_at":"2026-01-01 00:00:01 +0000","deploy_success":false}`, 0o644)
			s.configure("")
		}, mend: func(s *site) { s.host.MustRun("rm", env+"/.r10k-deploy.json") }},
		{name: "JRuby stuck in `generate()` (`stuck_after: 5s`)", long: true, inject: func(s *site) {
			s.configure("jruby: {stuck_after: 5s}\n")
			s.compile()
			s.ask("waiting", 2, environments)
		}, mend: func(s *site) { s.endCompile(); s.configure("") }, by: "the script that ends",
			said: []string{"503 unhealthy: jruby-stuck"}, within: 12 * time.Second, back: 8 * time.Second},
		{name: "250 requests pending", long: true, inject: func(s *site) {
			s.compile()
			s.ask("waiting", 250, environments)
		}, mend: func(s *site) { s.endCompile(); s.awaitServed() }, by: "compiles that end",
			said: []string{"503 unhealthy: timeout"}, within: 20 * time.Second, back: time.Minute},
		{name: "broken `site.pp` (`checks: {compile: eject}`)", long: true, inject: func(s *site) {
			s.master.SetSitePP("this is no manifest {\n")
			s.configure("checks: {compile: eject}\ncompile: {interval: 1m}\n")
		}, mend: func(s *site) { s.master.SetSitePP("") }, by: "a good one",
			said: []string{"503 unhealthy: compile-failed"}, within: 10 * time.Second, back: 70 * time.Second},
		{name: "`auth.conf` without the status", long: true, inject: func(s *site) { s.configure(""); s.denyStatus(); s.reload() },
			mend: func(s *site) { s.host.MustRun("mv", authConf+".good", authConf); s.reload() }, by: "the rule, `systemctl reload`",
			said: []string{"503 unknown: auth-denied"}, within: reloadTime, back: reloadTime},
		{name: "`systemctl reload`, a compile in flight", long: true, inject: func(s *site) {
			s.compile()
			s.host.MustRun("systemctl", "reload", "--no-block", "puppetserver")
		}, mend: (*site).endCompile, by: "the compile that ends",
			said: []string{"503 warming: unit-reloading"}, within: time.Second, back: reloadTime},
		{name: "`systemctl stop`, a compile in flight, no guard", long: true, inject: func(s *site) {
			s.host.MustRun("systemctl", "stop", "pmcheck-guard@puppetserver")
			s.compile()
			s.host.MustRun("systemctl", "stop", "--no-block", "puppetserver")
		}, mend: func(s *site) { s.endCompile(); started(s) }, by: "`systemctl start`",
			said: []string{"503 unhealthy: unit-stopping"}, within: time.Second, back: startTime},
		{name: "`systemctl restart`, with the guard", long: true, inject: func(s *site) { s.host.MustRun("systemctl", "restart", "--no-block", "puppetserver") },
			said: drained, haproxy: "NOLB", within: time.Second, back: startTime, by: "the guard"},
		{name: "`systemctl mask --now`, with the guard", long: true, inject: func(s *site) { s.host.MustRun("systemctl", "mask", "--now", "puppetserver") },
			mend: func(s *site) { s.host.MustRun("systemctl", "unmask", "puppetserver"); started(s) }, by: "`systemctl unmask`, `start`",
			said: drained, haproxy: "NOLB", within: 30 * time.Second, back: startTime},
		{name: "started, one of 3 JRubies is ready", long: true, inject: func(s *site) {
			s.host.WriteFile("/etc/puppet/puppetserver/conf.d/lab-size.conf", "jruby-puppet.max-active-instances: 3\n", 0o644)
			s.host.MustRun("rm", "/etc/puppet/puppetserver/conf.d/lab.conf")
			killJVM(s)
		}, said: []string{"503 warming: jruby-warming", "503 warming: jruby-not-read"}, within: startTime, back: startTime, by: "the last JRuby"},
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

// configure has pmcheck read another configuration.
func (s *site) configure(yaml string) {
	s.host.WriteFile(config.DefaultFile, yaml, 0o644)
	s.host.MustRun("systemctl", "reload", "pmcheck")
}

const environments = "/puppet/v3/environments"

// catalogPath is the path of the host's own catalog.
func (s *site) catalogPath() string {
	return "/puppet/v3/catalog/" + s.master.Certname() + "?environment=production"
}

// ask has so many agents ask at the same time, in a unit of that name, and does
// not wait for them.
func (s *site) ask(unit string, n int, path string) {
	name := s.master.Certname()
	_, _ = s.host.Run("systemctl", "stop", unit) // of another fault
	s.host.MustRun("systemd-run", "--quiet", "--collect", "--unit="+unit, "sh", "-c", `
name=$1 n=$2 url=$3
exec curl --silent --output /dev/null --parallel --parallel-immediate --parallel-max "$n" \
    --cacert `+ssldir+`/certs/ca.pem --cert `+certFile(name)+` --key `+keyFile(name)+` \
    $(yes "$url" | head -n "$n")`, "sh", name, fmt.Sprint(n), "https://"+name+":8140"+path)
}

// The file that compiles in flight wait for, and the sign that one does.
const (
	gate      = "/tmp/gate"
	compiling = "/tmp/compiling"
)

// compile starts a compile that ends with endCompile. systemd asks all processes
// of a unit to end, the script of this one too.
func (s *site) compile() {
	const script = "/etc/puppet/code/wait.sh"
	s.host.WriteFile(gate, "", 0o644)
	s.host.WriteFile(script, fmt.Sprintf("trap '' TERM\necho >%s\nwhile [ -e %s ]; do sleep 0.2; done\n", compiling, gate), 0o644)
	s.master.SetSitePP(fmt.Sprintf("generate('/bin/sh', '%s')\n", script))
	s.ask("compiling", 1, s.catalogPath())
	lab.RetryUntil(s.t, 30*time.Second, 20*time.Millisecond, func() error {
		_, err := s.host.Run("test", "-e", compiling)
		return err
	})
}

// awaitServed waits until those who asked while the compile lasted have been
// answered: the next fault would have to queue behind them.
func (s *site) awaitServed() {
	lab.RetryUntil(s.t, 3*time.Minute, 100*time.Millisecond, func() error {
		if _, err := s.host.Run("systemctl", "--quiet", "is-active", "waiting"); err == nil {
			return errors.New("requests are under way")
		}
		return nil
	})
}

func (s *site) endCompile() {
	s.host.MustRun("rm", gate, compiling)
	s.master.SetSitePP("")
}

const authConf = "/etc/puppet/puppetserver/conf.d/auth.conf"

// denyStatus puts a rule in front of all others.
func (s *site) denyStatus() {
	s.host.MustRun("cp", "-a", authConf, authConf+".good")
	conf := s.host.MustRun("cat", authConf)
	s.host.WriteFile(authConf, strings.Replace(conf, "rules: [", `rules: [
        { match-request: { path: "/status/v1/simple", type: path, method: get }, deny: "*", sort-order: 1, name: "no status" },`, 1), 0o644)
}
