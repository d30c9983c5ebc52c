package pool_test

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// installPmcheck installs the older package, and returns the backends of README.md with the
// masters of this pool.
func (p *pool) installPmcheck() (backend string) {
	p.t.Helper()
	for _, m := range p.masters {
		m.Host.Copy(lab.DEB(p.t, older), "/root/pmcheck.deb", 0o644)
		m.Host.MustRun("dpkg", "--install", "--force-confold", "/root/pmcheck.deb")
	}
	_, readme, found := strings.Cut(lab.ReadFile(p.t, "README.md"), "```haproxy\n")
	backends, _, ends := strings.Cut(readme, "\nfrontend ")
	if !found || !ends {
		p.t.Fatal("README.md has no backends")
	}
	return serverLines.ReplaceAllLiteralString(backends, p.servers())
}

var serverLines = regexp.MustCompile(`(?m)(^    server .*\n)+`)

// installAncestor puts the xinetd check in the place of pmcheck.
func (p *pool) installAncestor() {
	p.t.Helper()
	for _, m := range p.masters {
		m.Host.MustRun("dpkg", "--purge", "pmcheck")
		m.Host.StartAncestor()
	}
	p.balance(`backend puppet
    balance leastconn
    option httpchk
    default-server check port 9200 inter 2s fall 3 rise 2 slowstart 5s
` + p.servers())
}

func (p *pool) servers() (lines string) {
	for _, m := range p.masters {
		lines += fmt.Sprintf("    server %s %s\n", m.Host.Name, m.Address())
	}
	return lines
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

// restartAtOnce is the same typed on every master in the same moment.
func restartAtOnce(p *pool) error { return exits()[0].takeAll(p, 0) }

func reinstallEach(p *pool) error {
	deb := lab.DebianDEB(p.t, "puppetserver")
	for _, m := range p.masters {
		m.Host.Copy(deb, "/root/puppetserver.deb", 0o644)
	}
	return p.each("pmcheck drain --wait --reason upgrade" +
		"; dpkg --install --force-confold /root/puppetserver.deb" +
		"; pmcheck ready --wait")
}

func rebootOne(p *pool) error {
	p.masters[1].Host.Reboot()
	p.waitForUp()
	return nil
}

// upgradePmcheck installs a newer package, and then the older one again, for the next scenario.
func upgradePmcheck(p *pool) error {
	for _, m := range p.masters {
		m.Host.Copy(lab.DEB(p.t, newer), "/root/newer.deb", 0o644)
	}
	return cmp.Or(p.each("dpkg --install --force-confold /root/newer.deb"),
		p.each("dpkg --install --force-confold /root/pmcheck.deb"))
}

// stopXinetdEach is how a master was taken out before.
func stopXinetdEach(p *pool) error {
	return p.each("systemctl stop xinetd; sleep 10; systemctl restart puppetserver; systemctl start xinetd")
}
