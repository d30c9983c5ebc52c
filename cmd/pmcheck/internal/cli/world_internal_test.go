package cli

import (
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

func TestWitnessesAreThoseOfTheConfiguration(t *testing.T) {
	none, all := config.Default(), config.Default()
	all.Fleet = []string{"m1:9200", "m2:9200"}
	if err := all.Budget.Database.UnmarshalText([]byte("postgres://pmcheck@db.example/pmcheck")); err != nil {
		t.Fatal(err)
	}
	if w := worldOf(none); w.Claim != nil || w.Fleet != nil {
		t.Error("a budget or a fleet is asked that is not configured")
	}
	if w := worldOf(all); w.Claim == nil || w.Fleet == nil {
		t.Error("the budget or the fleet is not asked")
	}
}
