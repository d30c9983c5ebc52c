package config

import (
	"net/url"
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

func defaultBudget() Budget {
	return Budget{
		Pool:  "puppet",
		Lapse: 30 * time.Minute,
	}
}

// budgetRole is the role of the masters in the database, unless the URL names one.
const budgetRole = "pmcheck"

// Target returns the parts of Database.
func (b Budget) Target() (host, port, database, role string) {
	u, err := url.Parse(b.Database)
	if err != nil {
		return "", "", "", ""
	}
	if port = u.Port(); port == "" {
		port = "5432"
	}
	if role = u.User.Username(); role == "" {
		role = budgetRole
	}
	return u.Hostname(), port, strings.TrimPrefix(u.Path, "/"), role
}

// warnings are not mistakes: a file that has the pool of all sites, and is to get
// the database of each later, must not keep a daemon from starting.
func (b Budget) warnings() []string {
	if b.Database != "" || b == defaultBudget() {
		return nil
	}
	return []string{"budget limits nothing without budget.database, such as postgresql://puppetdb.example.com/pmcheck"}
}

func (j judge) budget(b Budget) {
	if b.Database != "" {
		problem, hint := databaseProblem(b.Database)
		j.rule("budget.database", problem == "", problem, hint)
	}
	j.rule("budget.pool", regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]{0,63}$`).MatchString(b.Pool),
		show(b.Pool)+" is not the name of a pool", "letters, digits, dot, underscore and hyphen")
}

// databaseProblem returns what is wrong with the URL of a database, or "".
func databaseProblem(database string) (problem, hint string) {
	const example = "such as postgresql://puppetdb.example.com/pmcheck"
	u, err := url.Parse(database)
	if err != nil {
		return show(database) + " is not a URL", example
	}
	name := strings.TrimPrefix(u.Path, "/")
	_, password := u.User.Password()
	switch mode := u.Query().Get("sslmode"); {
	case u.Scheme != "postgresql" && u.Scheme != "postgres", u.Hostname() == "", u.Fragment != "",
		!isHostname(u.Hostname()), u.Port() != "" && !isTarget("host:"+u.Port()), !isDatabase(name):
		return show(database) + " is not the URL of a database", example
	case password:
		return "has a password", "the host's Puppet certificate is used instead"
	case mode != "" && mode != "verify-full":
		return "sslmode " + show(mode) + " is not allowed", "the server is always verified, as with verify-full"
	case len(u.Query()) > 1, mode == "" && u.RawQuery != "":
		return show(u.RawQuery) + " is not allowed", "the settings of a connection are fixed"
	}
	return "", ""
}

func isHostname(s string) bool { return regexp.MustCompile(`^[0-9A-Za-z._:-]+$`).MatchString(s) }

func isDatabase(s string) bool { return regexp.MustCompile(`^\w[\w-]*$`).MatchString(s) }

// MaxOut is how many masters of a pool may be out at one time: a number from 1 to 1000, or a percentage
// from 1% to 100%, which is at least one master.
type MaxOut string

// Of returns how many of these masters, or of this weight of servers, may be out. One master has the
// weight unit.
func (m MaxOut) Of(total, unit int) int {
	percent, is := strings.CutSuffix(string(m), "%")
	n, err := strconv.Atoi(percent)
	switch {
	case err != nil:
		return unit
	case is:
		return max(unit, n*total/100)
	}
	return max(1, n) * unit
}

// parseMaxOut is strict: a percentage that was meant as a number, or the reverse, empties a pool.
func parseMaxOut(text string) (any, error) {
	number, percent := strings.CutSuffix(text, "%")
	most := 1000
	if percent {
		most = 100
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil || n < 1 || int(n) > most {
		return nil, wrong(show(text)+" is not a number of masters", "1 to 1000, or a percentage such as 5%")
	}
	return MaxOut(text), nil
}
