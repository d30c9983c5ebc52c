package config

import (
	"cmp"
	"log/slog"
	"regexp"
	"strings"
)

// Database is where the table of a budget is. The zero value stands for no budget.
type Database struct {
	// URL is the setting as it is written: postgresql://[role@]host[:port]/name.
	URL string
	// Host, Port, Name and Role are the parts of URL; Role is the masters' role unless the URL has another. All are
	// empty if URL is not the URL of a database.
	Host, Port, Name, Role string
}

var databaseURL = regexp.MustCompile(`^postgres(?:ql)?://(?:([\w-]+)@)?([\w.-]+|\[[\w:.]+\])(?::(\d+))?/(\w[\w-]*)$`)

// UnmarshalText accepts every text, and Load refuses a text that names no database. A command that goes on without a
// valid configuration must not take a budget that is misspelt for none.
func (d *Database) UnmarshalText(text []byte) error {
	*d = Database{URL: string(text)}
	parts := databaseURL.FindStringSubmatch(d.URL)
	if parts == nil {
		return nil
	}
	port := cmp.Or(parts[3], "5432")
	if !isPort(port) {
		return nil
	}

	d.Role = cmp.Or(parts[1], "pmcheck")
	d.Host = strings.Trim(parts[2], "[]")
	d.Port = port
	d.Name = parts[4]
	return nil
}

// IsZero reports whether no database is configured.
func (d Database) IsZero() bool { return d.URL == "" }

// valid reports whether a database can be asked, or none is configured.
func (d Database) valid() bool { return d.IsZero() || d.Host != "" }

// LogLevel is the least severe level that is logged, as slog.Level reads it. It is a slog.Leveler.
type LogLevel string

// Level returns the level of slog; info for a text that Load refuses.
func (l LogLevel) Level() (level slog.Level) {
	_ = level.UnmarshalText([]byte(l))
	return level
}

// Words lists the levels.
func (LogLevel) Words() []string { return []string{"debug", "info", "warn", "error"} }
