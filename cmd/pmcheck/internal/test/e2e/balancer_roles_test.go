package e2e_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestRolesBehindOneAddress: a fault or a hold in one role of a master does not change the others, and the only CA is
// not drained.
func TestRolesBehindOneAddress(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	e := newExample(t, "roles.cfg", 7)
	const ca, broker = "services: [ca]", "services: [broker-service]"
	const puppetdb = "puppetdb: {address: localhost:8081}"
	for _, setting := range []string{ca, broker, puppetdb} {
		if !strings.Contains(e.text, strconv.Quote(setting)) {
			t.Errorf("the example does not print %q, which this test tries", setting)
		}
	}
	for _, host := range []string{"11", "12", "21", "22"} {
		e.startMaster(host, "services: [ca, broker-service]\n"+puppetdb+"\n")
	}
	e.start()
	e.assertTurns()
	first := e.sites[0]
	first.Master.SetService("ca", "error")
	// Services are probed every 5 s, and HAProxy has them DOWN by its third check.
	e.waitFor("CA in error", "DOWN", 20*time.Second, "puppetca/puppet1")
	first.Master.SetService("ca", "running")
	first.Master.SetService("broker-service", "error")
	e.waitFor("broker in error", "DOWN", 20*time.Second, "broker/puppet1")
	e.waitFor("broker in error", "UP", time.Second, "puppet/puppet1", "puppetfiles/puppet3")
	first.Master.SetService("broker-service", "running")
	first.Master.SetPuppetDB("error")
	if _, status := first.Run("drain", "--hold", "catalogs", "--service", "server"); status != 0 {
		t.Errorf("exit status of drain --service server %d, want 0", status)
	}
	e.waitFor("drain --service server", "NOLB", 3*time.Second, "puppet/puppet1")
	e.waitFor("CA running again", "UP", 20*time.Second, "puppetca/puppet1")
	e.waitFor("PuppetDB cannot write", "DOWN", 25*time.Second, "puppetdb/puppet1")
	if _, status := first.Run("drain"); status != 7 {
		t.Errorf("the exit status of drain, of the only CA, is %d, want 7", status)
	}
	first.MustRun("ready", "--hold", "catalogs", "--service", "server")
	first.Master.SetPuppetDB("running")
	e.waitFor("PuppetDB writes again", "UP", 25*time.Second, "puppet/puppet1", "puppetdb/puppet1")
}
