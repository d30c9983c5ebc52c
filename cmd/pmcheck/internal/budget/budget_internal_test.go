package budget

import (
	"encoding/json"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// The variables of a root shell must neither lead elsewhere nor make the budget look unreachable, which refuses every
// drain; nor must what a site has set on its server, for PuppetDB's sake, be the isolation of a claim.
func TestVariablesDoNotMatter(t *testing.T) {
	for _, name := range []string{"PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGSERVICE", "PGSERVICEFILE", "PGPASSFILE",
		"PGSSLMODE", "PGSSLROOTCERT", "PGSSLCERT", "PGSSLKEY", "PGSSLCERTMODE", "PGSSLNEGOTIATION", "PGCONNECT_TIMEOUT",
		"PGTARGETSESSIONATTRS", "PGREQUIREAUTH", "PGCHANNELBINDING", "PGMINPROTOCOLVERSION", "PGMAXPROTOCOLVERSION",
		"PGPASSWORD", "PGKRBSRVNAME", "PGKRBSPN"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "/nonsense")
			c, err := session(config.Database{Host: "db", Port: "5432", Name: "budget", Role: "pmcheck"})
			if err != nil {
				t.Fatal(err)
			}
			got := []any{c.Host, c.Port, c.Database, c.User, c.Password, c.KerberosSrvName + c.KerberosSpn, c.TLSConfig != nil,
				len(c.Fallbacks), c.ValidateConnect != nil || c.AfterConnect != nil,
				c.RuntimeParams["default_transaction_isolation"]}
			want := []any{"db", uint16(5432), "budget", "pmcheck", "", "", false, 0, false, "read committed"}
			if !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
}

func TestAnswersOutOfBoundsAreRefused(t *testing.T) {
	slots := func(n int) string { return `{"allowed": 1, "slots": [` + strings.Repeat(`{},`, n-1) + `{}]}` }
	if v, err := parseUsage([]byte(slots(maxSlots))); err != nil || len(v.Slots) != maxSlots {
		t.Errorf("%d slots, %v", len(v.Slots), err)
	}
	for answer, want := range map[string]string{
		slots(maxSlots + 1):            "more slots than a pool can have",
		slots(maxSent / 3):             "more slots than a pool can have",
		`{"slots": {}}`:                "is not a list",
		`{"allowed": 1}`:               "slots",
		`{"slots": [], "allowed": -1}`: "negative",
		`[]`:                           "unexpected answer",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v, err := parseUsage([]byte(answer))
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), want) || len(v.Slots) > 0 {
			t.Errorf("%.40s: %+v, %v; want %q", answer, v, err, want)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 4*maxSent {
			t.Errorf("%.40s: %d bytes of memory", answer, took)
		}
	}
}

// A server that sends without end is no longer read.
func TestNoMoreIsReadThanAnAnswerHas(t *testing.T) {
	l := &limited{from: endless{}, left: maxSent}
	n, err := io.Copy(io.Discard, l)
	if n != maxSent || err == nil || !strings.Contains(err.Error(), "longer than 4 MiB") {
		t.Errorf("%d bytes, %v", n, err)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

// FuzzUsage: an answer of the database is refused, or is one whose texts can be shown and are short.
func FuzzUsage(f *testing.F) {
	f.Add([]byte(`{"allowed": 1, "out": 1, "forced": 0, "has_slot": true, "slots": [{"master": "puppet1.example.com",
		"since": "2026-11-26T12:00:00.123456+00:00", "reason": "\u001b[2J", "by": "alice", "forced": false,
		"recorded": true, "own": true, "lapsed": false}]}`))
	f.Add([]byte(`{"slots": null, "Slots": [{}], "SLOTS": []}`))
	f.Add([]byte(`{"slots": [{"since": "0000-01-01T00:00:00+23:59"}], "allowed": 9223372036854775807}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := parseUsage(data)
		if err != nil {
			return
		}
		if len(v.Slots) > maxSlots {
			t.Errorf("%d slots are kept", len(v.Slots))
		}
		for _, s := range v.Slots {
			if len(s.Master) > maxLabel || len(s.By) > maxLabel || len(s.Reason) > maxReason ||
				strings.ContainsFunc(s.String(), unicode.IsControl) {
				t.Errorf("kept %+v", s)
			}
		}
		if _, err := json.Marshal(v); err != nil {
			t.Error(err)
		}
		_ = (&TakenError{Slots: v.Others(), Allowed: v.Allowed}).Error()
	})
}
