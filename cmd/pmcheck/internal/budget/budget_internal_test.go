package budget

import (
	"slices"
	"testing"

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
			c, err := session(config.Budget{Database: "postgresql://db/budget"}.Target())
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
