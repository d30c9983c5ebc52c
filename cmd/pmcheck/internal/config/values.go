package config

import (
	"cmp"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
)

// MaxOut is how many masters of a pool may be out at one time: a number from 1 to 1000, or a percentage
// from 1% to 100%, which is at least one master. The database of a budget counts the same way, in pmcheck.allowed.
type MaxOut struct {
	Number  int
	Percent bool // Number is a percentage
}

// UnmarshalText is strict: a percentage that was meant as a number, or the reverse, empties a pool.
func (m *MaxOut) UnmarshalText(text []byte) error {
	digits, percent := strings.CutSuffix(string(text), "%")
	most := uint64(1000)
	if percent {
		most = 100
	}

	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || digits[0] == '0' || n > most {
		return wrong(show(string(text))+" is not a number of masters", "1 to 1000, or a percentage such as 5%")
	}
	*m = MaxOut{Number: int(n), Percent: percent}
	return nil
}

// String returns the text that UnmarshalText reads.
func (m MaxOut) String() string {
	if m.Percent {
		return strconv.Itoa(m.Number) + "%"
	}
	return strconv.Itoa(m.Number)
}

// Of returns how many of these masters may be out.
func (m MaxOut) Of(masters int) int {
	if m.Percent {
		return max(1, m.Number*masters/100)
	}
	return max(1, m.Number)
}

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
