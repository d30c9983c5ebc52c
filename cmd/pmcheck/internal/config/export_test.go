package config

// Validate reports every rule that c breaks, as Faults without origins. Settings that
// only Puppet knows may be empty.
func (c Config) Validate() error {
	found := &faults{}
	layer{}.judge(&c, found)
	return found.err()
}
