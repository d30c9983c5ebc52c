package budget

import "testing"

// The variables of a root shell must neither lead elsewhere nor make the budget look
// unreachable, which refuses every drain.
func TestVariablesDoNotMatter(t *testing.T) {
	for _, name := range []string{"PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGSERVICE", "PGSERVICEFILE", "PGPASSFILE",
		"PGSSLMODE", "PGSSLROOTCERT", "PGSSLCERT", "PGSSLKEY", "PGSSLCERTMODE", "PGSSLNEGOTIATION", "PGCONNECT_TIMEOUT",
		"PGTARGETSESSIONATTRS", "PGREQUIREAUTH", "PGCHANNELBINDING", "PGMINPROTOCOLVERSION", "PGMAXPROTOCOLVERSION"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "/nonsense")
			c, err := defaults()
			if err != nil || c.Host != "localhost" || c.User != "pmcheck" || c.TLSConfig != nil {
				t.Errorf("it connects to %s as %s, TLS %v: %v", c.Host, c.User, c.TLSConfig != nil, err)
			}
		})
	}
}

// A site may have set default_transaction_isolation on its server, for PuppetDB's sake.
func TestTheIsolationOfAClaimIsNotTheServersDefault(t *testing.T) {
	if got := parameters()["default_transaction_isolation"]; got != "read committed" {
		t.Errorf("a session has the isolation level %q", got)
	}
}
