package check_test

import (
	"testing"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/checktest"
)

func TestProbeReadsThePool(t *testing.T) {
	const path = "/status/v1/services/jruby-metrics"
	full := `{"state":"running","status":{"experimental":{"metrics":{"num-jrubies":1,"num-free-jrubies":1,` +
		`"borrowed-instances":[],"requested-instances":[]}}}}`
	tests := []struct {
		name      string
		set       func(*checktest.Master)
		reason    check.Reason
		read      bool
		questions [2]int64 // of the first probe, and of the second
	}{
		{"in one request", func(*checktest.Master) {}, check.OK, true, [2]int64{1, 1}},
		{"a count of zero is confirmed", func(m *checktest.Master) { m.SetPool(check.Pool{Size: 2}) }, check.OK, true,
			[2]int64{2, 2}},
		{"under its name in PE", func(m *checktest.Master) {
			m.SetAnswer(path, 404, "not found")
			m.SetAnswer("/status/v1/services/pe-jruby-metrics", 200, full)
		}, check.OK, true, [2]int64{2, 1}},
		{"denied", func(m *checktest.Master) { m.SetAnswer(path, 403, "") }, check.OK, false, [2]int64{3, 1}},
		{"in another format", func(m *checktest.Master) { m.SetAnswer(path, 200, `{"state":"running"}`) }, check.OK, false,
			[2]int64{1, 1}},
		{"not running", func(m *checktest.Master) { m.SetAnswer(path, 503, `{"state":"unknown"}`) }, check.OK, false,
			[2]int64{3, 3}},
		{"a web page", func(m *checktest.Master) { m.SetAnswer(path, 200, "<html>") }, check.OK, false, [2]int64{3, 3}},
		{"not running, as the master", func(m *checktest.Master) { m.Set(checktest.Error) }, check.StateError, false,
			[2]int64{3, 3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMaster(t)
			tt.set(m)
			p := newProber(t, m)
			for i, want := range tt.questions {
				before := m.Questions()
				r := p.Probe(t.Context())
				wantReason(t, r, tt.reason)
				if (r.Pool != nil) != tt.read || tt.reason == check.OK && (r.PoolErr == nil) != tt.read {
					t.Errorf("probe %d: pool %v, %v", i+1, r.Pool, r.PoolErr)
				}
				if asked := m.Questions() - before; asked != want {
					t.Errorf("probe %d asked %d questions, want %d", i+1, asked, want)
				}
			}
		})
	}
}
