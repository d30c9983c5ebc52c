//go:build linux

package module_test

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

const (
	debFile = "/root/pmcheck.deb" // on the host
	wait    = 20 * time.Second    // for an answer
)

// balancer is a configuration of HAProxy with the health check from the README.
const balancer = `
defaults
    mode tcp
    log global
    timeout connect 5s
    timeout client 30m
    timeout server 30m

frontend agents
    bind ` + lab.BridgeAddress + `:8140
    default_backend puppet

backend puppet
    balance leastconn
    option httpchk GET /
    default-server check port 9200 inter 2s fall 3 rise 2
    server m1 MASTER
`

// TestMasterMigratesAndIsConfiguredByPuppet: a master moves from the xinetd check to
// pmcheck. Then the Puppet module configures it.
func TestMasterMigratesAndIsConfiguredByPuppet(t *testing.T) {
	lab.Real(t)
	t.Parallel() // with TestModulePassesItsOwnTests, which runs while Puppet Server starts here
	h := lab.StartNetwork(t).Boot("m1")
	master := h.StartPuppetMaster(lab.PuppetMasterOptions{HeapMB: 768})
	s := lab.NewSite(t, lab.SiteOptions{Puppet: master})
	removePmcheck(h)
	h.Copy(lab.DEB(t, "0.0.1"), debFile, 0o644)
	h.StartAncestor()
	copyModule(t, h, productionModules)
	t.Logf("Puppet Server starts in %v", s.Puppet.WaitReady(2*time.Minute))
	s.Balance(balancer)
	s.HAProxy.WaitStat("puppet", "m1", func(stat lab.ServerStat) bool {
		return stat.CheckStatus == "L7OK"
	}, 10*time.Second)
	t.Run("migrate", func(t *testing.T) { testMigrate(t, s.With(t)) })
	h.MustRun("systemctl", "stop", "xinetd")
	h.MustRun("dpkg", "--purge", "pmcheck")
	t.Run("module", func(t *testing.T) { testModule(t, s) })
}
