package config

import (
	"strings"

	"github.com/pmcheck/pmcheck/drain"
)

// serviceRules check the names of services, which become paths and parts of
// the names of holds. Paths with a meaning of their own are not free.
func (c Config) serviceRules() []rule {
	taken := map[string]string{"server": "is always there", "puppetdb": "is there when puppetdb.address is set",
		"live": "is a path of its own", "status": "is a path of its own", "metrics": "is a path of its own"}
	var rules []rule
	name := func(key, n string) {
		rules = append(rules,
			rule{keys(key), drain.CheckName(n) == nil, show(n) + " is not the name of a service",
				"a-z, 0-9, dot, underscore and hyphen"},
			rule{keys(key), taken[n] == "", show(n) + " " + taken[n], ""})
		taken[n] = "is listed twice"
	}
	for _, n := range c.Services {
		name("services", n)
	}
	for _, s := range c.TCPServices {
		n, address, _ := strings.Cut(s, "=")
		name("tcp_services", n)
		rules = append(rules, rule{keys("tcp_services"), isTarget(address), show(s) + " has no host and port",
			"such as pcp=localhost:8142"})
	}
	return rules
}
