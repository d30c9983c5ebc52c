package packages_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A day is two masters on which pmcheck is installed, and HAProxy.
type day struct {
	t       *testing.T
	net     *lab.Network
	masters []*lab.Site
	haproxy *lab.HAProxy
	said    map[*lab.Site]string // what the last status said on a restart
}

// TestDayOfInstallation follows the README, from the package to the first drain, with two real masters. After each step
// no status has a warning, since nothing is wrong.
func TestDayOfInstallation(t *testing.T) {
	package1 := file(t, newer, deb)
	d := &day{t: t, net: lab.StartNetwork(t), said: map[*lab.Site]string{}}
	opts := lab.PuppetMasterOptions{AltNames: []string{"puppet.lab.example"}}
	for _, name := range []string{"m1", "m2"} {
		master := d.net.Boot(name).StartPuppetMaster(opts)
		master.WaitReady(startTime)
		opts.CA = master
		d.masters = append(d.masters, lab.NewSite(t, lab.SiteOptions{Puppet: master}))
	}

	for i, s := range d.masters {
		s.Install(package1)
		s.WaitServing(time.Minute)
		d.assertNoWarning("the package on "+s.Host.Name, d.masters[:i+1])
	}
	for _, s := range d.masters {
		s.Host.MustRun("pmcheck", "check")
	}

	d.haproxy = d.net.StartHAProxy(t, d.readme())
	d.haproxy.WaitEach(20*time.Second, lab.ServerStat.Healthy)
	d.waitForBalancers()
	d.assertNoWarning("HAProxy", d.masters)

	for _, s := range d.masters {
		line := regexp.MustCompile(`set (balancers: \[.*\])`).FindStringSubmatch(s.Host.MustRun("pmcheck", "status"))
		if line == nil {
			t.Fatalf("the status of %s does not print the line for balancers", s.Host.Name)
		}
		s.Host.MustRun("sh", "-c", "echo '"+line[1]+"' >>/etc/pmcheck/pmcheck.yaml && systemctl reload pmcheck")
	}
	d.waitForBalancers()
	d.assertNoWarning("balancers", d.masters)

	first := d.masters[0].Host
	t.Log(first.MustRun("pmcheck", "drain", "--wait", "--reason", "kernel update"))
	d.haproxy.WaitStatus("puppet", "m1", "NOLB", time.Second)
	d.assertNoWarning("the first drain", d.masters)
	t.Log(first.MustRun("pmcheck", "ready", "--wait"))
	d.assertNoWarning("its end", d.masters)

	d.restartBoth()
	d.comeUpSlowly()
}

// restartBoth restarts both masters in the same moment. Before that, meanwhile and while they start, each status says
// what the guard does.
func (d *day) restartBoth() {
	d.t.Helper()
	const guarded = "systemctl restart drains it first."
	d.waitUntilSaid(guarded)
	for _, s := range d.masters {
		s.Host.MustRun("systemctl", "restart", "--no-block", "puppetserver")
	}
	d.waitUntilSaid(
		"systemctl is stopping it, and waits for what follows:",
		"Puppet Server is starting: no agent is at work on it.",
		guarded,
	)
	for _, s := range d.masters {
		d.t.Log(s.Host.Journal("pmcheck-guard@puppetserver"))
	}
}

// waitUntilSaid waits until the status of each master has said these sentences on a restart, in this order.
func (d *day) waitUntilSaid(sentences ...string) {
	d.t.Helper()
	heard := make(map[*lab.Site]int)
	lab.WaitFor(d.t, 2*startTime, 200*time.Millisecond, func() (waits error) {
		for _, s := range d.masters {
			if heard[s] == len(sentences) {
				continue
			}
			printed := d.restartRow(s)
			if strings.Contains(printed, sentences[heard[s]]) {
				heard[s]++
			}
			waits = errors.Join(waits, fmt.Errorf("%s: after %d of %q: %s", s.Host.Name, heard[s], sentences, printed))
		}
		return waits
	})
}

// restartRow returns on one line what the status of a master says on a restart. It logs what differs from the last.
func (d *day) restartRow(s *lab.Site) string {
	d.t.Helper()
	printed, _ := s.Host.Run("pmcheck", "status")
	_, row, _ := strings.Cut(printed, "\nrestart ")
	row, _, _ = strings.Cut(row, "\n\n")
	if d.said[s] != row {
		d.said[s] = row
		d.t.Logf("%s: restart %s", s.Host.Name, row)
	}
	return strings.Join(strings.Fields(row), " ")
}

// readme returns the configuration in README.md with these masters.
func (d *day) readme() string {
	d.t.Helper()
	_, readme, found := strings.Cut(lab.ReadFile(d.t, "README.md"), "```haproxy\n")
	config, _, ends := strings.Cut(readme, "```\n")
	if !found || !ends {
		d.t.Fatal("README.md has no configuration of HAProxy")
	}
	servers := ""
	for _, s := range d.masters {
		servers += fmt.Sprintf("    server %s %s\n", s.Host.Name, s.Puppet.Address())
	}
	lines := regexp.MustCompile(`(?m)(^    server .*\n)+`)
	return "global\n    node lb1\n" + lines.ReplaceAllLiteralString(config, servers)
}

// waitForBalancers waits until each master has heard both backends.
func (d *day) waitForBalancers() {
	d.t.Helper()
	for _, s := range d.masters {
		s.WaitStatus(20*time.Second, func(st lab.Status) error {
			if weights := weights(st); len(weights) != 2 {
				return fmt.Errorf("the weights are %v, want two", weights)
			}
			return nil
		})
	}
}

// weights returns the weights that a master has in the backends. The test itself asks, too, as a client without a view.
func weights(st lab.Status) (list []int) {
	for _, b := range st.Balancers {
		if b.View != nil {
			list = append(list, b.View.Weight)
		}
	}
	return list
}

func (d *day) assertNoWarning(step string, masters []*lab.Site) {
	d.t.Helper()
	for _, s := range masters {
		if list := s.Status().Warnings; len(list) > 0 {
			d.t.Errorf("after %s: %s warns: %q", step, s.Host.Name, list)
		}
	}
}

// comeUpSlowly has new daemons, which know nothing of before, come up for the first time, one after the other. Their
// servers get their weights under slowstart.
func (d *day) comeUpSlowly() {
	d.t.Helper()
	for _, s := range d.masters {
		s.Host.MustRun("sh", "-c", "systemctl stop pmcheck && rm -rf /run/pmcheck-daemon/*")
		d.haproxy.WaitStatus("puppet", s.Host.Name, "DOWN", 20*time.Second)
	}
	for i, s := range d.masters {
		s.Host.MustRun("systemctl", "start", "pmcheck")
		d.haproxy.WaitStatus("puppet", s.Host.Name, "UP", 20*time.Second)
		d.assertNoWarning("a start of pmcheck on "+s.Host.Name, d.masters[:i+1])
	}

	lab.WaitFor(d.t, 2*time.Minute, time.Second, func() error {
		now := weights(d.masters[1].Status())
		d.assertNoWarning(fmt.Sprintf("the weights %v", now), d.masters)
		if slices.Equal(now, []int{100, 100}) || d.t.Failed() {
			return nil
		}
		return fmt.Errorf("the weights are %v", now)
	})
}
