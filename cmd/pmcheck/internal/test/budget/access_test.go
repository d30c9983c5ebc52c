//go:build linux

package budget_test

import (
	"errors"
	"fmt"
	"os/exec"
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

func testStrangers(t *testing.T, db *lab.Postgres) {
	const agent = "agent1.example.test"
	db.Issue(agent)
	_, err := client(db, agent).Look(t.Context())
	assertUnreachable(t, err, "certificate authentication failed")
	_, err = client(db, name(1)).Free(t.Context(), name(2))
	assertUnreachable(t, err, "certificate authentication failed")
	if err := client(db, name(1)).Init(t.Context()); err == nil {
		t.Error("a master may create the schema")
	}
}

func testRights(t *testing.T, db *lab.Postgres) {
	for _, attempt := range []string{
		"delete from pmcheck.slot",
		"insert into pmcheck.slot select * from pmcheck.slot",
		"select * from pmcheck.slot",
		"select pmcheck.free('puppet', 'puppet2')",
		"select pmcheck.view('puppet', 'puppet2', '1 hour', '1')",
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
	db.LetIn("pmcheck", long)
	db.Reload()
	_, err := client(db, long).Look(t.Context())
	assertUnreachable(t, err, "does not name a master")
}

func testServer(t *testing.T, db *lab.Postgres) {
	other := lab.StartPostgres(t, admin)
	c := db.Config(name(1))
	c.Probe.CA, c.Probe.CRL = other.Config(admin).Probe.CA, other.Config(admin).Probe.CRL
	_, err := budget.New(c).Look(t.Context())
	assertUnreachable(t, err, "certificate")
	c = db.Config(name(1))
	c.Budget.Database = strings.Replace(c.Budget.Database, lab.PostgresHost, "127.0.0.1", 1)
	_, err = budget.New(c).Look(t.Context())
	assertUnreachable(t, err, "127.0.0.1")
}

// testAdministrator does what leaving.md says, with a configuration for that certificate alone.
func testAdministrator(t *testing.T, db *lab.Postgres) {
	const administrator = "pmcheck-admin"
	db.SQL("pmcheck", "drop schema pmcheck cascade")
	db.LetIn("pmcheck_admin", administrator)
	db.Reload()
	site := lab.NewSite(t, lab.SiteOptions{})
	db.Trust(site.Master.Files())
	files := db.CertFiles(administrator)
	site.Configure(fmt.Sprintf("probe: {certname: %s, certificate: %s, key: %s}\nbudget: {database: '%s'}\n",
		administrator, files.Cert, files.Key, db.URL()))
	site.MustRun("budget", "init")
	assertClaim(t, client(db, name(1)), true)
	free := func(args ...string) (said string, status int) {
		cmd := exec.Command(lab.Build(t), append([]string{"budget"}, args...)...)
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	if said, status := free("--config", site.ConfigFile(), "free", name(1)); status != 0 {
		t.Errorf("exit status %d\n%s", status, said)
	}
	if said, status := free("free", "--config", site.ConfigFile(), name(1)); status != 1 ||
		!strings.Contains(said, "has no slot") {
		t.Errorf("the second time: exit status %d\n%s", status, said)
	}
}

func testInit(t *testing.T, db *lab.Postgres) {
	assertClaim(t, client(db, name(1)), true)
	c := client(db, admin)
	if err := c.Init(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := db.SQL("pmcheck", "select count(*) from pmcheck.slot"); got != "1" {
		t.Errorf("%s slots after the second init", got)
	}
	db.SQL("pmcheck", budget.Schema()) // as a database administrator does, printed
	db.SQL("pmcheck", "create or replace function pmcheck.version() returns integer language sql as 'select 2'")
	assertUnreachable(t, c.Init(t.Context()), "version 2, which is newer")
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
	c = client(db, name(1), func(c *config.Config) { c.Budget.Database = "postgresql://nowhere.invalid/pmcheck" })
	fails("nowhere.invalid", 0)
}
