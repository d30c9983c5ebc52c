//go:build linux

package versions_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestRubyMaster operates the Ruby master where its web server is Apache with Passenger. Which
// unit that is, and that a guard goes with it, must be configured.
func TestRubyMaster(t *testing.T) {
	t.Run("passenger", func(t *testing.T) {
		lab.Real(t)
		host := lab.StartNetwork(t).BootFrom(lab.Passenger().Root(t), "passenger")
		master := host.StartPuppetMaster(lab.PuppetMasterOptions{})
		site := lab.NewSite(t, lab.SiteOptions{Puppet: master})
		master.WaitReady(boot)
		site.Install(lab.DEB(t, older))
		var rows strings.Builder
		note := func(row, cell string) {
			t.Logf("%s: %s", row, cell)
			fmt.Fprintf(&rows, "| %s | %s |\n", row, cell)
		}
		note("Installed, nothing configured", fmt.Sprintf("200 after %.1f s", site.WaitServing(slow).Seconds()))
		if f := lab.Finding(site.Status(), check.CheckUnit); f.Reason == check.OK {
			t.Errorf("with nothing configured, the unit is %+v", f)
		}
		site.Configure("unit: {names: [apache2.service]}\n")
		host.MustRun("systemctl", "restart", "pmcheck")
		host.MustRun("systemctl", "enable", "--now", "pmcheck-guard@apache2.service")
		site.WaitFinding(check.CheckUnit, check.OK, slow)
		site.HAProxy = host.StartHAProxy(fmt.Sprintf(masterBackend, master.Address()))
		site.HAProxy.WaitStatus("puppet", "m1", "UP", boot)
		for _, o := range operations() {
			if !strings.Contains(o.row, "kill") && o.line != "systemctl start UNIT" {
				note(o.row, operate(t, site, host, o.want, strings.ReplaceAll(o.line, "UNIT", master.Unit)))
			}
		}
		host.MustRun("systemctl", "start", master.Unit)
		site.WaitServing(boot)
		note("`systemctl reload`", reload(site, master.Unit))
		lab.Publish(t, "versions-passenger", "| | Apache with Passenger |\n| --- | --- |\n"+rows.String())
	})
}

// reload reloads the web server without a drain before it, and returns for how long the daemon
// answers 503 meanwhile.
func reload(site *lab.Site, unit string) string {
	site.TB.Helper()
	site.Host.MustRun("systemctl", "stop", "pmcheck-guard-reload@"+unit)
	answers := site.Record(10 * time.Millisecond)
	site.Host.MustRun("systemctl", "reload", unit)
	site.WaitServing(boot)
	for _, change := range answers.Stop().Changes() {
		if a := change.Answer; a != lab.ServingResponse && a != "503 warming: "+string(check.UnitReloading) {
			site.TB.Errorf("during a reload the answer was %s", a)
		}
	}
	return fmt.Sprintf("503 %s for %.1f s", check.UnitReloading, answers.Outage().Seconds())
}
