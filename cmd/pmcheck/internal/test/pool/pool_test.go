//go:build linux

package pool_test

import (
	"os"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

func TestMain(m *testing.M) { lab.Main(m) }

// TestPool operates one pool under load, first with pmcheck and then with the
// xinetd check that it replaces.
func TestPool(t *testing.T) {
	lab.Real(t)
	size, backend := short(), quickStart
	if isLong() {
		size, backend = long(), func(readme string) string { return readme }
	}
	p := startPool(t, alike(2), size.jrubies, size.largest())
	p.balance(backend(p.installPmcheck()))
	rows := p.measureAll(size.withPmcheck, size)
	if len(size.withAncestor) > 0 {
		p.installAncestor()
		rows = append(rows, p.measureAll(size.withAncestor, size)...)
	}
	lab.Publish(t, "pool", table(rows))
	t.Logf("measured:\n%s", table(rows))
}

// isLong reports whether PMCHECK_LONG asks for the long form.
func isLong() bool { return os.Getenv("PMCHECK_LONG") != "" }

// measureAll measures one scenario after the other, each as a subtest.
func (p *pool) measureAll(list []scenario, size form) (rows []row) {
	for _, s := range list {
		p.t.Run(s.name+", "+s.mix.String(), func(t *testing.T) {
			rows = append(rows, p.with(t).measure(s, size))
		})
	}
	return rows
}

// measure has agents run, first with nothing else going on.
func (p *pool) measure(s scenario, size form) row {
	p.t.Helper()
	p.waitForUp()
	l := p.start(p.t, s.mix)
	l.waitForRuns(p.t, size.runs/8)
	r := row{operation: s.name, mix: s.mix, began: time.Now()}
	err := s.operate(p)
	r.took = time.Since(r.began)
	if err != nil {
		p.t.Error(err)
	}
	l.waitForRuns(p.t, size.runs)
	l.end()
	r.runs = l.runs
	r.report(p.t)
	p.t.Logf("measured: %s", r)
	if n := len(r.failed()); n > 0 && !s.mayFail {
		p.t.Errorf("%d of %d runs failed", n, len(r.runs))
	}
	return r
}
