package budget_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// assertUnreachable asserts an error that names its cause, within the timeout.
func assertUnreachable(t *testing.T, err error, cause string) {
	t.Helper()
	if !errors.Is(err, budget.ErrUnreachable) || !strings.Contains(err.Error(), cause) {
		t.Errorf("error %v, want ErrUnreachable with %q", err, cause)
	}
	t.Logf("%v; hint: %s", err, budget.Hint(err))
}

func testRights(t *testing.T, db *lab.Postgres) {
	for _, attempt := range []string{
		"delete from pmcheck.slot",
		"insert into pmcheck.slot select * from pmcheck.slot",
		"select * from pmcheck.slot",
		"select pmcheck.view('puppet', 'puppet2', '1')",
		"create table pmcheck.mine ()",
	} {
		out := db.SQL("pmcheck", "do $$ begin set local role pmcheck; "+attempt+
			"; raise exception 'allowed'; exception when insufficient_privilege then raise notice 'refused'; end $$")
		if !strings.Contains(out, "refused") {
			t.Errorf("%s: %s", attempt, out)
		}
	}
}

func testName(t *testing.T, db *lab.Postgres) {
	assertClaim(t, client(db, name(1)), true)
	if got := db.SQL("pmcheck", "select master from pmcheck.slot"); got != name(1) {
		t.Errorf("master %q, want %q", got, name(1))
	}
	// PostgreSQL cuts a subject after 63 bytes, and two such masters would share a slot.
	long := strings.Repeat("a", 50) + ".test.test"
	db.LetIn(long)
	db.Reload()
	_, err := client(db, long).Look(t.Context())
	assertUnreachable(t, err, "does not name a master")
}

func testServer(t *testing.T, db *lab.Postgres) {
	other := lab.StartPostgres(t)
	c := db.Config(name(1))
	c.Probe.CA, c.Probe.CRL = other.Config(name(1)).Probe.CA, other.Config(name(1)).Probe.CRL
	_, err := budget.New(c).Look(t.Context())
	assertUnreachable(t, err, "certificate")
	c = db.Config(name(1))
	c.Budget.Database.Host = "127.0.0.1"
	_, err = budget.New(c).Look(t.Context())
	assertUnreachable(t, err, "127.0.0.1")
}

func testSchema(t *testing.T, db *lab.Postgres) {
	assertClaim(t, client(db, name(1)), true)
	db.SQL("pmcheck", budget.Schema())
	if got := db.SQL("pmcheck", "select count(*) from pmcheck.slot"); got != "1" {
		t.Errorf("%s slots after the second time", got)
	}
}

// testUnreachable is the last one: it stops the server.
func testUnreachable(t *testing.T, db *lab.Postgres) {
	c := client(db, name(1))
	fails := func(cause string, least time.Duration) {
		t.Helper()
		began := time.Now()
		err := c.Claim(t.Context(), budget.Claim{})
		assertUnreachable(t, err, cause)
		if took := time.Since(began); took < least || lab.Since(began) > budget.Timeout+time.Second {
			t.Errorf("%s: took %v", cause, took)
		}
	}
	db.Freeze()
	fails("no answer within 2s", budget.Timeout)
	db.Thaw()
	assertClaim(t, c, true)
	db.SQL("pmcheck", "drop schema pmcheck cascade")
	fails("pmcheck", 0)
	db.Stop()
	fails("connection refused", 0)
	c = client(db, name(1), func(c *config.Config) { c.Budget.Database.Host = "nowhere.invalid" })
	fails("nowhere.invalid", 0)
}
