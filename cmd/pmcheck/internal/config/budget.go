package config

import (
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Budget limits how many masters of a pool may be out at one time.
type Budget struct {
	// Database is postgresql://[role@]host[:port]/database; empty means no budget.
	Database string `yaml:"database"`
	// Pool names the masters that share a budget.
	Pool string `yaml:"pool"`
	// MaxOut is how many of them may be out.
	MaxOut int `yaml:"max_out" min:"1" max:"1000"`
	// Lapse is how long a master that does not renew its slot counts as out.
	Lapse time.Duration `yaml:"lapse" min:"5m" max:"30d"`
}

func defaultBudget() Budget {
	return Budget{
		Pool:   "puppet",
		MaxOut: 1,
		Lapse:  30 * time.Minute,
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

// warnings are not mistakes: a file that has the pool or max_out of all sites, and is to get
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
