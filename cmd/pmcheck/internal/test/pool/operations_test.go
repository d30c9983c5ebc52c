//go:build linux

package pool_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// installPmcheck installs the older package, and returns the backend of README.md with the
// masters of this pool.
func (p *pool) installPmcheck() (backend string) {
	p.t.Helper()
	var servers strings.Builder
	for _, m := range p.masters {
		for version, deb := range p.debs {
			m.Host.Copy(deb, "/root/"+version+".deb", 0o644)
		}
		m.Host.MustRun("dpkg", "--install", "--force-confold", "/root/"+older+".deb")
		p.copyTasks(m.Host)
		fmt.Fprintf(&servers, "    server %s %s\n", m.Host.Name, m.Address())
	}
	_, readme, found := strings.Cut(lab.ReadFile(p.t, "README.md"), "```haproxy\n")
	backend, _, ends := strings.Cut(readme, "    server ")
	if !found || !ends {
		p.t.Fatal("README.md has no backend")
	}
	return backend + servers.String()
}

// moduleDir is where Bolt puts modules on the host that a task runs on.
const moduleDir = "/root/modules"

func (p *pool) copyTasks(host *lab.Host) {
	p.t.Helper()
	module := lab.File(p.t, "packaging/puppet")
	for _, pattern := range []string{"/tasks/*.sh", "/files/*.sh"} {
		files, err := filepath.Glob(module + pattern)
		if err != nil || len(files) == 0 {
			p.t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			host.Copy(file, moduleDir+"/pmcheck"+strings.TrimPrefix(file, module), 0o644)
		}
	}
}

// installAncestor puts the xinetd check in the place of pmcheck.
func (p *pool) installAncestor() {
	p.t.Helper()
	for _, m := range p.masters {
		m.Host.MustRun("dpkg", "--purge", "pmcheck")
		m.Host.StartAncestor()
	}
	var servers strings.Builder
	for _, m := range p.masters {
		fmt.Fprintf(&servers, "    server %s %s\n", m.Host.Name, m.Address())
	}
	p.balance(`backend puppet
    balance leastconn
    option httpchk
    default-server check port 9200 inter 2s fall 3 rise 2 slowstart 60s
` + servers.String())
}

// each does something to one master after the other, as a loop over ssh does.
func (p *pool) each(line string) error {
	for _, m := range p.masters {
		if err := p.sh(m, line); err != nil {
			return err
		}
	}
	return nil
}

func restartEach(p *pool) error { return p.each("systemctl restart puppetserver") }

// reloadEach returns when the last master is back: systemctl reload does not wait for that.
func reloadEach(p *pool) error {
	if err := p.each("systemctl reload puppetserver"); err != nil {
		return err
	}
	p.waitForUp()
	return nil
}

// repack makes a package of what is installed, to install it again: a host of the
// lab has no network to get one from.
const repack = `
dir=/root/repack
mkdir -p $dir/DEBIAN
dpkg-query --show --showformat 'Package: ${Package}\nVersion: ${Version}\nArchitecture: ${Architecture}
Maintainer: ${Maintainer}\nDepends: ${Depends}\nDescription: ${Description}\n' puppetserver >$dir/DEBIAN/control
for file in preinst postinst prerm postrm conffiles; do
    [ ! -e /var/lib/dpkg/info/puppetserver.$file ] || cp -p /var/lib/dpkg/info/puppetserver.$file $dir/DEBIAN/$file
done
dpkg-query --listfiles puppetserver | grep -vxE '/\.|/lib' |
    tar --create --no-recursion --files-from=- 2>/dev/null | tar --extract --directory=$dir
dpkg-deb --build -z1 $dir /root/puppetserver.deb
`

func reinstallEach(p *pool) error {
	for _, m := range p.masters {
		if _, err := m.Host.Run("sh", "-ec", repack); err != nil {
			return err
		}
	}
	return p.each("pmcheck drain --wait --reason upgrade" +
		"; dpkg --install --force-confold /root/puppetserver.deb" +
		"; pmcheck ready --wait")
}

func rebootOne(p *pool) error {
	err := p.reboot(p.masters[1])
	p.waitForUp()
	return err
}

func upgradePmcheck(p *pool) error {
	if err := p.each("dpkg --install --force-confold /root/" + newer + ".deb"); err != nil {
		return err
	}
	return p.each("dpkg --install --force-confold /root/" + older + ".deb") // and back, for the next scenario
}

// renewBalancers renews each balancer in both ways while a master is out.
func renewBalancers(p *pool) error {
	m := p.masters[1]
	if err := p.sh(m, "pmcheck drain --wait; systemctl stop puppetserver"); err != nil {
		return err
	}
	for _, b := range p.balancers {
		if err := b.saveState(); err != nil {
			return err
		}
		b.Reload(b.config)
	}
	for i, b := range p.balancers {
		if err := p.redirect(b, p.balancers[1-i]); err != nil {
			return err
		}
		if err := b.saveState(); err != nil {
			return err
		}
		b.Retire(5 * time.Minute)
		b.HAProxy = p.net.StartHAProxy(p.life, b.config)
		if err := p.redirect(b, b); err != nil {
			return err
		}
	}
	return p.sh(m, "systemctl start puppetserver; pmcheck ready --wait")
}

// runPlan does what plans/rolling.pp does, by the tasks it uses.
func runPlan(p *pool) error {
	for _, m := range p.masters {
		if err := p.task(m, "status"); err != nil {
			return err
		}
	}
	for _, m := range p.masters {
		for _, step := range []func() error{
			func() error {
				return p.task(m, "with_hold", "command=systemctl restart puppetserver", "hold=rolling",
					"reason=rolling restart", "wait=15m", "return=10m", "keep=true")
			},
			func() error { return p.task(m, "wait", "for=ready", "timeout=10m") },
		} {
			if err := step(); err != nil {
				return err
			}
		}
	}
	return nil
}

// task runs a task of the module as Bolt does: its files below _installdir, the
// parameters in the environment.
func (p *pool) task(m *lab.PuppetMaster, name string, parameters ...string) error {
	line := "env PT__installdir=" + moduleDir
	for _, parameter := range parameters {
		line += fmt.Sprintf(" 'PT_%s'", parameter)
	}
	return p.sh(m, fmt.Sprintf("%s sh %s/pmcheck/tasks/%s.sh", line, moduleDir, name))
}

// stopXinetdEach is how a master was taken out before.
func stopXinetdEach(p *pool) error {
	return p.each("systemctl stop xinetd; sleep 10; systemctl restart puppetserver; systemctl start xinetd")
}
