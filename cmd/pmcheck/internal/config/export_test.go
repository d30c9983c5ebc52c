package config

// Validate reports every rule that c breaks, as Faults without origins. Settings that
// only Puppet knows may be empty.
func (c Config) Validate() error {
	found := &faults{}
	c.validate(nil, found)
	return found.err()
}
