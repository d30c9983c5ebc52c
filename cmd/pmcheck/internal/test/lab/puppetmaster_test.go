//go:build linux

package lab_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

func TestPuppetMastersOfOneCAServeTheSameAgents(t *testing.T) {
	lab.Real(t)
	t.Parallel() // with TestPuppetServerServesAndFailsAsAsked, which also mostly waits for starts
	n := lab.StartNetwork(t)
	h1, h2 := n.Boot("m1"), n.Boot("m2")
	m1 := h1.StartPuppetMaster(lab.PuppetMasterOptions{AltNames: []string{"puppet.lab.example"}})
	t.Logf("CA master: %v", m1.WaitReady(2*time.Minute))
	m2 := h2.StartPuppetMaster(lab.PuppetMasterOptions{CA: m1, AltNames: []string{"puppet.lab.example"}})
	t.Logf("compile server: %v", m2.WaitReady(2*time.Minute))
	for _, m := range []*lab.PuppetMaster{m1, m2} {
		code, body, err := m.Get("agent.lab.example", "/puppet/v3/catalog/agent.lab.example?environment=production")
		if code != http.StatusOK {
			t.Errorf("catalog from %s: %d %s, %v", m.Certname(), code, body, err)
		}
	}
	if out, err := h1.Run("puppet", "agent", "--test", "--color=false", "--server", m2.Certname()); err != nil {
		t.Errorf("agent of m1 at m2: %v", err)
	} else {
		t.Log(out)
	}
	h2.MustRun("systemctl", "stop", "puppetserver")
	if code, body, err := m2.Status(); err == nil {
		t.Errorf("a stopped master answers %d %s", code, body)
	}
}
