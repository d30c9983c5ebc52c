package budget_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

func TestMain(m *testing.M) { lab.Main(m) }

// masters is how many may ask the database of TestBudget.
const masters = 20

// TestBudget asks one database as masters do. Each subtest begins with an empty
// schema.
func TestBudget(t *testing.T) {
	db := startDatabase(t, masters)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *lab.Postgres)
	}{
		{"a master has no rights but the functions", testRights},
		{"the name comes from the certificate", testName},
		{"the server must show its certificate", testServer},
		{"the schema can be run again and does not go back", testSchema},
		{"a master keeps its slot", testSlot},
		{"a forced claim is marked", testForced},
		{"an unhealthy master can be drained", testUnhealthy},
		{"a quiet master counts until it lapses", testQuiet},
		{"a slot lapses as its own master has configured", testLapse},
		{"an answer with more slots than a pool can have is refused as that", testTooMany},
		{"a percentage is of the masters that were seen", testPercentage},
		{"max_out means the same to the database and to the configuration", testTwins},
		{"pools are apart, and a master that is out keeps its own", testPools},
		{"text of others is printable", testText},
		{"an unreachable database is an error within the timeout", testUnreachable},
	} {
		t.Run(test.name, func(t *testing.T) {
			db.SQL("pmcheck", "drop schema if exists pmcheck cascade")
			db.SQL("pmcheck", budget.Schema())
			test.run(t, db)
		})
	}
}

// startDatabase starts a database with the schema, for the masters puppet1 to puppetN.
func startDatabase(t testing.TB, n int) *lab.Postgres {
	t.Helper()
	lab.Real(t)
	db := lab.StartPostgres(t, names(n)...)
	db.SQL("pmcheck", budget.Schema())
	return db
}

func name(i int) string { return fmt.Sprintf("puppet%d.example.test", i) }

func names(n int) (list []string) {
	for i := range n {
		list = append(list, name(i+1))
	}
	return list
}

func client(db *lab.Postgres, certname string, edit ...func(*config.Config)) *budget.Client {
	c := db.Config(certname)
	for _, e := range edit {
		e(&c)
	}
	return budget.New(c)
}

// assertClaim claims for a master that serves, which must get the slot or not.
func assertClaim(t *testing.T, c *budget.Client, want bool) {
	t.Helper()
	err := c.Claim(t.Context(), budget.Claim{Reason: "kernel", By: "alice", InService: true})
	if _, taken := errors.AsType[*budget.TakenError](err); err != nil && !taken || (err == nil) != want {
		t.Fatalf("claimed: %v, want %v", err, want)
	}
}

// backdate makes all rows look as if the masters had gone quiet that long ago.
func backdate(db *lab.Postgres, interval string) {
	db.SQL("pmcheck", fmt.Sprintf("update pmcheck.slot set since = since - interval '%[1]s', "+
		"claimed = claimed - interval '%[1]s', seen = seen - interval '%[1]s'", interval))
}

// startedLongAgo makes the server look as if it had run for a day.
func startedLongAgo(db *lab.Postgres) {
	db.SQL("pmcheck", "create or replace function pmcheck.started() returns timestamptz language sql stable as "+
		"$$ select clock_timestamp() - interval '1 day' $$")
}
