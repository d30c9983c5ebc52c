package config

// Agent says how HAProxy's agent-checks are answered.
type Agent struct {
	// Listen is the TCP address, host:port; empty means that they are not.
	Listen string `yaml:"listen"`
	// Weight says whether the weight in an answer follows the JRuby pool; it is
	// 100% otherwise.
	Weight bool `yaml:"weight"`
}

func (a Agent) rules(listen string) []rule {
	return []rule{
		{keys("agent.listen"), a.Listen == "" || isAddress(a.Listen), show(a.Listen) + " is not an address",
			"host:port, or :9201 for every interface"},
		{keys("agent.listen", "listen"), a.Listen != listen, "is the same as listen",
			"an agent-check is not HTTP: :9201 is usual"},
	}
}
