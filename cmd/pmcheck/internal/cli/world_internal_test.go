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

// TestConnectionsAreThoseToTheMaster wherever the daemon has found it, unless the configuration says where it is.
func TestConnectionsAreThoseToTheMaster(t *testing.T) {
	const found = "localhost:8141"
	var c config.Config
	c.Probe.Address = "localhost:8140"
	if got := served(c, found); got != c.Probe.Address {
		t.Errorf("an address that is set: %s", got)
	}

	c.Probe.Assumed = true
	if got := served(c, found); got != found {
		t.Errorf("an address that is assumed, and found elsewhere: %s", got)
	}
	if got := served(c, ""); got != c.Probe.Address {
		t.Errorf("the daemon has never answered: %s", got)
	}
}
