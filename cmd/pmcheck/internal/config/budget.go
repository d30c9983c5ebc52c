package config

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Budget limits how many masters of a pool may be out at one time.
type Budget struct {
	// Database is postgresql://[role@]host[:port]/database; empty means no budget.
	Database string `yaml:"database"`
	// Pool names the masters that share a budget.
	Pool string `yaml:"pool"`
	// Lapse is how long a master that does not renew its slot counts as out.
	Lapse time.Duration `yaml:"lapse" min:"5m" max:"30d"`
}

// Target returns the parts of Database, which are empty if it is not the URL of a database. The role is that of the
// masters, unless the URL names one.
func (b Budget) Target() (host, port, database, role string) {
	parts := regexp.MustCompile(`^postgres(?:ql)?://(?:([\w-]+)@)?([\w.-]+|\[[\w:.]+\])(?::(\d+))?/(\w[\w-]*)$`).
		FindStringSubmatch(b.Database)
	if parts == nil {
		return "", "", "", ""
	}
	return strings.Trim(parts[2], "[]"), cmp.Or(parts[3], "5432"), parts[4], cmp.Or(parts[1], "pmcheck")
}

// MaxOut is how many masters of a pool may be out at one time: a number from 1 to 1000, or a percentage
// from 1% to 100%, which is at least one master.
type MaxOut string

// Of returns how many of these masters may be out.
func (m MaxOut) Of(masters int) int {
	number, percent := strings.CutSuffix(string(m), "%")
	n, _ := strconv.Atoi(number)
	if percent {
		n = n * masters / 100
	}
	return max(1, n)
}

// valid is strict: a percentage that was meant as a number, or the reverse, empties a pool.
func (m MaxOut) valid() bool {
	number, percent := strings.CutSuffix(string(m), "%")
	n, err := strconv.ParseUint(number, 10, 16)
	return err == nil && n >= 1 && (n <= 100 || n <= 1000 && !percent)
}
