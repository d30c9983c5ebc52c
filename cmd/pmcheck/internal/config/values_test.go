package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

func TestDatabaseHasThePartsOfItsURL(t *testing.T) {
	for _, want := range []config.Database{
		{URL: "postgresql://db/pmcheck", Host: "db", Port: "5432", Name: "pmcheck", Role: "pmcheck"},
		{URL: "postgres://alice@db.example.com:5433/a-b", Host: "db.example.com", Port: "5433", Name: "a-b", Role: "alice"},
		{URL: "postgresql://[2001:db8::1]/x", Host: "2001:db8::1", Port: "5432", Name: "x", Role: "pmcheck"},
		{URL: "postgresql://db:65536/pmcheck"},
		{URL: "postgresql://db1,db2/pmcheck"},
		{URL: "db"},
		{},
	} {
		var got config.Database
		must(t, got.UnmarshalText([]byte(want.URL)))
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", want.URL, d)
		}
		if got.IsZero() != (want.URL == "") {
			t.Errorf("%q: IsZero is %v", want.URL, got.IsZero())
		}
	}
}
