package config

// An enum is a setting with a closed vocabulary; words lists it.
type enum interface{ words() []string }

// TLSMode says with which certificate the HTTP listener speaks TLS.
type TLSMode string

// The values of tls.
const (
	TLSOff    TLSMode = "off"    // plain HTTP
	TLSPuppet TLSMode = "puppet" // the host's own Puppet certificate, as in Probe
	TLSFiles  TLSMode = "files"  // tls_certificate and tls_key
)

func (TLSMode) words() []string { return []string{"off", "puppet", "files"} }

// InitialMode is the mode of a host that has no history of holds.
type InitialMode string

// The values of initial_mode.
const (
	ModeReady InitialMode = "ready"
	ModeDrain InitialMode = "drain"
	ModeMaint InitialMode = "maint"
)

func (InitialMode) words() []string { return []string{"ready", "drain", "maint"} }

// Revocation says how much of the master's certificate chain is looked up in the CRL.
type Revocation string

// The values of probe.revocation.
const (
	RevocationChain Revocation = "chain" // every certificate of the chain
	RevocationLeaf  Revocation = "leaf"  // the master's own alone
	RevocationOff   Revocation = "off"   // none; probe.crl is not read
)

func (Revocation) words() []string { return []string{"chain", "leaf", "off"} }

// Severity says what a check may do to the verdict.
type Severity string

// The values of the settings below checks.
const (
	SeverityEject Severity = "eject" // take the master out
	SeverityWarn  Severity = "warn"  // show a warning
	SeverityOff   Severity = "off"   // the check is not made
)

func (Severity) words() []string { return []string{"eject", "warn", "off"} }

// LogLevel is the least severe level that is logged.
type LogLevel string

// The values of log.level.
const (
	LevelDebug LogLevel = "debug"
	LevelInfo  LogLevel = "info"
	LevelWarn  LogLevel = "warn"
	LevelError LogLevel = "error"
)

func (LogLevel) words() []string { return []string{"debug", "info", "warn", "error"} }

// LogFormat is the form of a log line.
type LogFormat string

// The values of log.format.
const (
	FormatAuto LogFormat = "auto" // the journal's own fields under systemd, text elsewhere
	FormatText LogFormat = "text"
	FormatJSON LogFormat = "json"
)

func (LogFormat) words() []string { return []string{"auto", "text", "json"} }
