package cli

import (
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// puppetEvery is how often a host without Puppet is looked over again.
const puppetEvery = 5 * time.Second

// loadForService reads the configuration for the daemon. If nothing but Puppet
// is wrong, missing says what: the daemon is often installed before Puppet, and
// has an answer for balancers all the same, that it knows nothing.
func loadForService(c *cli.Context, environ []string) (loaded *config.Loaded, missing, err error) {
	loaded, missing = load(c, environ)
	if missing == nil {
		return loaded, nil, nil
	}
	loaded, err = config.Check(options(c, environ))
	if err != nil {
		return nil, nil, missing // which names all that is wrong
	}
	return loaded, missing, nil
}
