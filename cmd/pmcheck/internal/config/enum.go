package config

// An enum is a setting with a closed vocabulary; Words lists it.
type enum interface{ Words() []string }

// TLSMode says with which certificate the HTTP listener speaks TLS.
type TLSMode string

// The values of tls.
const (
	TLSOff    TLSMode = "off"    // plain HTTP
	TLSPuppet TLSMode = "puppet" // the host's own Puppet certificate, as in Probe
	TLSFiles  TLSMode = "files"  // tls_certificate and tls_key
)

// Words lists the modes.
func (TLSMode) Words() []string { return []string{"off", "puppet", "files"} }

// LogLevel is the least severe level that is logged, as slog.Level reads it.
type LogLevel string

// Words lists the levels.
func (LogLevel) Words() []string { return []string{"debug", "info", "warn", "error"} }

// LogFormat is the form of a log line.
type LogFormat string

// The values of log.format.
const (
	FormatAuto LogFormat = "auto" // the journal's own fields under systemd, text elsewhere
	FormatJSON LogFormat = "json" // anything else is text
)

// Words lists the formats.
func (LogFormat) Words() []string { return []string{"auto", "text", "json"} }
