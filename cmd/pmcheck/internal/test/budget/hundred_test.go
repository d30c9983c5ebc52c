package budget_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// TestHundredMastersLeaveAtOnce: a hundred masters with max_out 5% want to leave in the same moment, each over
// connections of its own. Meanwhile the server is frozen, stopped and killed, and a transaction holds the lock of the
// pool. Never more than five may be out, no question takes longer than its timeout, and each master leaves in the end.
func TestHundredMastersLeaveAtOnce(t *testing.T) {
	lab.RealLong(t)
	const masters, most, slack = 100, 5, time.Second // for a busy machine
	db := startDatabase(t, masters)
	// A slot is given back at once here, so that a hundred turns take no hour.
	db.SQL("pmcheck", strings.Replace(budget.Schema(), "< clock_timestamp() - settle", "< clock_timestamp()", 1))
	startedLongAgo(db)
	percent := func(c *config.Config) { c.MaxOut = answer.MaxOut{Number: 5, Percent: true} }
	clients := map[string]*budget.Client{}
	for _, n := range names(masters) {
		clients[n] = client(db, n, percent)
		_, err := clients[n].Look(t.Context()) // is seen
		lab.Must(t, err)
	}
	var out, highest, longest, unreachable atomic.Int64
	raise := func(to *atomic.Int64, n int64) {
		for old := to.Load(); n > old && !to.CompareAndSwap(old, n); old = to.Load() {
		}
	}
	// until asks until there is an answer other than that the database cannot be asked or that too many are out.
	until := func(ask func() error) error {
		for {
			began := time.Now()
			err := ask()
			raise(&longest, int64(time.Since(began)))
			if errors.Is(err, budget.ErrUnreachable) {
				unreachable.Add(1)
			} else if _, taken := errors.AsType[*budget.TakenError](err); !taken {
				return err
			}
			time.Sleep(2*time.Second + rand.N(time.Second)) // a master asks no more often
		}
	}
	var all sync.WaitGroup
	for n, c := range clients {
		all.Go(func() {
			err := until(func() error { return c.Claim(t.Context(), budget.Claim{InService: true}) })
			if err != nil {
				t.Errorf("%s: %v", n, err)
			}
			raise(&highest, out.Add(1))
			time.Sleep(rand.N(time.Second)) // its restart
			out.Add(-1)
			err = until(func() error {
				_, err := c.Return(t.Context())
				return err
			})
			if err != nil {
				t.Errorf("%s: %v", n, err)
			}
		})
	}
	for _, trouble := range []func(){
		func() { db.Freeze(); time.Sleep(budget.Timeout + slack); db.Thaw() },
		func() { db.Stop(); db.Start() },
		func() {
			db.SQL("pmcheck", "begin; select pg_advisory_xact_lock(hashtextextended('pmcheck puppet', 0)); select pg_sleep(4)")
		},
	} {
		trouble()
		if n := db.SQL("pmcheck", "select count(*) from pmcheck.slot"); len(n) > 1 || n > "5" {
			t.Errorf("%s masters are out by the table", n)
		}
	}
	all.Wait()
	if highest.Load() > most {
		t.Errorf("%d masters were out at once, want %d at most", highest.Load(), most)
	}
	if took := time.Duration(longest.Load()); took > 3*budget.Timeout+slack { // a claim asks up to three times
		t.Errorf("a question took %v", took)
	}
	if unreachable.Load() == 0 {
		t.Error("the database was always reachable: nothing was tested")
	}
}
