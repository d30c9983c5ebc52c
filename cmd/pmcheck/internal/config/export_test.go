package config

// Validate reports every rule that c breaks, as Faults without origins. What
// only Puppet can tell may be empty.
func (c Config) Validate() error {
	found := &faults{}
	layer{}.judge(&c, found)
	return found.err()
}
