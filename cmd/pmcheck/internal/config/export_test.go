package config

// Validate reports every rule that c breaks, as Faults without origins. Settings that
// only Puppet knows may be empty.
func (c Config) Validate() error {
	l := &loader{config: &c, settings: fields(&c)}
	l.validate()
	return l.err()
}
