package budget_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/budget"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

func testSlot(t *testing.T, db *lab.Postgres) {
	one, two := client(db, name(1)), client(db, name(2))
	assertClaim(t, one, true)
	assertClaim(t, one, true)
	err := two.Claim(t.Context(), budget.Claim{InService: true})
	taken, is := errors.AsType[*budget.TakenError](err)
	if !is || len(taken.Slots) != 1 || taken.Slots[0].Master != name(1) || taken.Slots[0].By != "alice" {
		t.Errorf("error %v, want a TakenError with the slot of the first", err)
	}
}

func testForced(t *testing.T, db *lab.Postgres) {
	for i, want := range []bool{false, true} {
		c := client(db, name(i+1))
		if err := c.Claim(t.Context(), budget.Claim{Force: true, InService: true}); err != nil {
			t.Fatalf("master %d: a forced claim is refused: %v", i+1, err)
		}
		v, err := c.Look(t.Context())
		if own, found := v.Own(); err != nil || !found || own.Forced != want {
			t.Errorf("master %d: %+v, %v; want forced %v", i+1, own, err, want)
		}
	}
	assertClaim(t, client(db, name(3)), false)
}

// testUnhealthy: a master that is recorded as out may be held although another is out, as long as it does not serve.
func testUnhealthy(t *testing.T, db *lab.Postgres) {
	one, two := client(db, name(1)), client(db, name(2))
	assertClaim(t, one, true)
	v, err := two.Renew(t.Context(), "unhealthy: refused")
	if own, _ := v.Own(); err != nil || !own.Recorded || len(v.Slots) != 2 {
		t.Fatalf("%+v, %v; want it recorded", v, err)
	}
	assertClaim(t, two, false) // it serves again
	if err := two.Claim(t.Context(), budget.Claim{Reason: "disk", By: "bob"}); err != nil {
		t.Errorf("an unhealthy master is refused: %v, %v", v, err)
	}
	v, err = two.Look(t.Context())
	if own, _ := v.Own(); err != nil || own.Recorded || own.By != "bob" || own.Reason != "disk" {
		t.Errorf("slot %+v, %v; want bob's", own, err)
	}
}

// testQuiet: a master that has gone quiet counts for half an hour, and longer after a start of the server.
func testQuiet(t *testing.T, db *lab.Postgres) {
	assertClaim(t, client(db, name(1)), true)
	backdate(db, "29 minutes")
	assertClaim(t, client(db, name(2)), false)
	backdate(db, "2 minutes")
	assertClaim(t, client(db, name(2)), false) // the server has just started, and gives it a lapse from then on
	startedLongAgo(db)
	db.SQL("pmcheck", "update pmcheck.slot set seen = now() - interval '29 minutes'")
	assertClaim(t, client(db, name(2)), false)
	backdate(db, "2 minutes")
	assertClaim(t, client(db, name(2)), true)
}

// testLapse: a claim must not end the slot of another master by a shorter lapse, nor keep it by a longer one. Nor must
// the views of others depend on the lapse of the master that looks.
func testLapse(t *testing.T, db *lab.Postgres) {
	lapse := func(d time.Duration) func(*config.Config) { return func(c *config.Config) { c.Budget.Lapse = d } }
	startedLongAgo(db)
	assertClaim(t, client(db, name(1)), true)
	backdate(db, "6 minutes")
	short := client(db, name(3), lapse(5*time.Minute))
	assertClaim(t, short, false)
	if v, err := short.Look(t.Context()); err != nil || v.Out != 1 || len(v.Others()) != 1 {
		t.Errorf("%+v, %v; want the slot to count", v, err)
	}

	_, err := client(db, name(1), lapse(5*time.Minute)).Renew(t.Context(), "") // its owner shortens it
	lab.Must(t, err)
	backdate(db, "6 minutes")
	long := client(db, name(3), lapse(24*time.Hour))
	if v, err := long.Look(t.Context()); err != nil || v.Out != 0 || len(v.Slots) != 1 || !v.Slots[0].Lapsed {
		t.Errorf("%+v, %v; want the slot to have lapsed", v, err)
	}
	assertClaim(t, long, true)

	for _, d := range []time.Duration{0, 5*time.Minute - time.Millisecond, 30*24*time.Hour + time.Millisecond} {
		_, err := client(db, name(4), lapse(d)).Look(t.Context())
		assertUnreachable(t, err, "is not from 5 minutes to 30 days")
	}
}

// testTooMany: each of a thousand masters has a slot with the longest texts, which fits, and then one more has.
func testTooMany(t *testing.T, db *lab.Postgres) {
	add := func(from, to int) {
		db.SQL("pmcheck", fmt.Sprintf("insert into pmcheck.slot select 'm' || n, 'puppet', now(), now(), now(), '30 days', "+
			"repeat(E'\\x01', 300), repeat(E'\\x01', 64), false, true from generate_series(%d, %d) as n", from, to))
	}
	add(1, 1000)
	c := client(db, name(1))
	if v, err := c.Look(t.Context()); err != nil || v.Out != 1000 {
		t.Errorf("%d are out, %v; want 1000", v.Out, err)
	}
	add(1001, 1001)
	_, err := c.Look(t.Context())
	assertUnreachable(t, err, "more slots than a pool can have")
}

// testPercentage: 10% of 20 masters are two, and of three one.
func testPercentage(t *testing.T, db *lab.Postgres) {
	percent := func(c *config.Config) { c.MaxOut = answer.MaxOut{Number: 10, Percent: true} }
	look := func(n, allowed int) {
		t.Helper()
		if v, err := client(db, name(n), percent).Look(t.Context()); err != nil || v.Allowed != allowed {
			t.Errorf("%d may be out, %v; want %d", v.Allowed, err, allowed)
		}
	}
	for n := range 3 {
		look(n+1, 1)
	}
	assertClaim(t, client(db, name(1), percent), true)
	assertClaim(t, client(db, name(2), percent), false)
	for n := range masters {
		_, err := client(db, name(n+1), percent).Look(t.Context())
		lab.Must(t, err)
	}
	look(1, 2)
	assertClaim(t, client(db, name(2), percent), true)
	assertClaim(t, client(db, name(3), percent), false)
	startedLongAgo(db)
	db.SQL("pmcheck", "update pmcheck.seen set at = at - interval '1 hour' where master not in "+
		"('"+name(1)+"', '"+name(2)+"')")
	look(1, 1)
}

// testPools: with another pool it would be out in both, or in neither.
func testPools(t *testing.T, db *lab.Postgres) {
	assertClaim(t, client(db, name(1)), true)
	inOther := func(c *config.Config) { c.Budget.Pool = "other" }
	other := client(db, name(1), inOther)
	assertClaim(t, client(db, name(2), inOther), true)
	if _, err := other.Renew(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "is out in another pool") {
		t.Errorf("error %v", err)
	}
	startedLongAgo(db)
	db.SQL("pmcheck", "update pmcheck.slot set seen = seen - interval '1 year'")
	assertClaim(t, other, true)
}

func testText(t *testing.T, db *lab.Postgres) {
	assertClaim(t, client(db, name(1)), true)
	db.SQL("pmcheck", `update pmcheck.slot set reason = E'\x1b[2J' || repeat('y', 5000), by = E'a\nb'`)
	err := client(db, name(2)).Claim(t.Context(), budget.Claim{InService: true})
	taken, is := errors.AsType[*budget.TakenError](err)
	if !is || strings.ContainsAny(taken.Error(), "\x1b\n") || len(taken.Error()) > 1000 {
		t.Errorf("error %q", err)
	}
}

// testTwins: for each max_out that the configuration accepts, the database allows as many masters as MaxOut.Of, of a
// pool of any size; what the database refuses, the configuration refuses, too.
func testTwins(t *testing.T, db *lab.Postgres) {
	texts := []string{"1", "2", "10", "99", "100", "101", "999", "1000",
		"1%", "5%", "9%", "10%", "33%", "50%", "99%", "100%"}
	for _, masters := range []int{0, 1, 2, 3, 9, 10, 19, 20, 21, 100, 199, 200} {
		db.SQL("pmcheck", fmt.Sprintf("truncate pmcheck.seen; insert into pmcheck.seen "+
			"select 'm' || n, 'puppet', now(), '1 hour' from generate_series(1, %d) as n", masters))
		got := strings.Fields(db.SQL("pmcheck", fmt.Sprintf("select pmcheck.allowed('puppet', max_out) "+
			"from unnest('{%s}'::text[]) with ordinality as t (max_out, n) order by n", strings.Join(texts, ","))))
		var want []string
		for _, text := range texts {
			var maxOut answer.MaxOut
			lab.Must(t, maxOut.UnmarshalText([]byte(text)))
			want = append(want, strconv.Itoa(maxOut.Of(masters)))
		}
		if !slices.Equal(got, want) {
			t.Errorf("of %d masters the database allows %v, for %v; want %v", masters, got, texts, want)
		}
	}

	for _, text := range []string{"", "0", "00", "01", "05%", "0%", "-1", "+1", "1.5", "1e2", "%", "5%%", "5 %", " 5",
		"10000", "10000%", "0x10", "1_0", "five"} {
		var maxOut answer.MaxOut
		if maxOut.UnmarshalText([]byte(text)) == nil {
			t.Errorf("the configuration accepts %q", text)
		}
		out, err := db.TrySQL("pmcheck", fmt.Sprintf("select pmcheck.allowed('puppet', '%s')", text))
		if err == nil || !strings.Contains(out, "is neither a number nor a percentage") {
			t.Errorf("the database accepts %q: %s", text, out)
		}
	}
}
