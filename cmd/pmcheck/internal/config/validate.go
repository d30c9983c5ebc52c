package config

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/puppetconf"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/sockets"
	"github.com/pmcheck/pmcheck/drain"
)

// validate checks the rules of single settings, which are in their tags, and the rules that involve several settings.
func (l *loader) validate() {
	for _, f := range fields(&l.config) {
		l.setting(f)
	}

	c := l.config
	l.rule("listen", isAddress(c.Listen), text.Show(c.Listen)+" is not an address",
		"host:port, or :9200 for every interface")
	l.rule("allow", len(c.Allow) > 0, "is empty", "leave it out to allow every client")
	l.rule("unit.names", len(c.Checks.Unit().Names) > 0, "is empty", "to watch no unit, set checks.unit: off")
	puppetDB := c.Checks.PuppetDB().Address
	l.rule("puppetdb.address", puppetDB == "" || isTarget(puppetDB),
		text.Show(puppetDB)+" is not a host and port", "such as localhost:8081")
	for _, m := range c.Fleet {
		_, err := MemberURL(m)
		l.rule("fleet", err == nil, text.Show(m)+" is not a master", "such as m1 or m1:9200")
	}

	l.services(c.Services)
	l.probe(c.Probe)
	for _, one := range c.Checks {
		l.rule("checks."+one.Name, !one.Shared || one.Severity != check.Eject, "cannot be eject",
			"the masters share what it looks at, so all of them would be taken out in the same minute")
	}
	l.budget(c.Budget)
}

func (l *loader) rule(key string, ok bool, problem, hint string) {
	if !ok {
		l.mistake(l.places[key], key, problem, hint)
	}
}

// setting applies the rules in the tags of a setting, which check.Check describes.
func (l *loader) setting(f field) {
	low := f.tag.Get("min")
	high := f.tag.Get("max")
	if high != "" {
		inside := f.bound(low) <= f.value.Int() && f.value.Int() <= f.bound(high)
		l.rule(f.key, inside, format(f.value)+" is out of range", low+" to "+high)
	}

	if f.tag.Get("path") == "" {
		return
	}
	paths, areSeveral := f.value.Interface().([]string)
	if path := f.value.String(); !areSeveral && path != "" {
		paths = []string{path}
	}
	for _, path := range paths {
		l.rule(f.key, filepath.IsAbs(path), text.Show(path)+" is not an absolute path", "")
	}
}

// bound parses a bound in a tag. Each configuration parses every tag, so this cannot fail.
func (f field) bound(written string) int64 {
	v, err := parse(f.value.Type(), written)
	if err != nil {
		panic(err)
	}
	return reflect.ValueOf(v).Int()
}

// services checks the names of services, which become URL paths and parts of the
// names of hold files. Paths with a meaning of their own are reserved.
func (l *loader) services(names []string) {
	taken := map[string]string{
		string(drain.Master): "always exists",
		"puppetdb":           "exists if puppetdb.address is set",
		"live":               "is a reserved path",
		"status":             "is a reserved path",
		"metrics":            "is a reserved path",
	}
	for _, n := range names {
		l.rule("services", drain.CheckName(n) == nil, text.Show(n)+" is not the name of a service",
			"a-z, 0-9, dot, underscore and hyphen")
		l.rule("services", taken[n] == "", text.Show(n)+" "+taken[n], "")
		taken[n] = "is listed twice"
	}
}

func (l *loader) probe(p Probe) {
	target, plain := strings.CutPrefix(p.Address, "http://")
	l.rule("probe.address", isTarget(target), text.Show(p.Address)+" is not a host and port", "such as localhost:8140")
	exposed := plain && isTarget(target) && !sockets.IsLocal(target)
	l.rule("probe.address", !exposed, text.Show(p.Address)+" is not known to be on this host",
		"plain HTTP is for a master on this host, whose TLS ends at the balancer")
	l.rule("probe.address", !sockets.SameListener(target, l.config.Listen),
		text.Show(p.Address)+" is where pmcheck itself listens", "the address of Puppet Server, such as localhost:8140")
	isCertname := p.Certname == "" || puppetconf.IsCertname(p.Certname)
	l.rule("probe.certname", isCertname, text.Show(p.Certname)+" is not a certname",
		"lower case, no spaces, no slash")

	if p.Timeout >= p.Interval {
		l.mistake(cmp.Or(l.places["probe.timeout"], l.places["probe.interval"]), "probe.timeout",
			fmt.Sprintf("%s is not below probe.interval, %s", text.Duration(p.Timeout), text.Duration(p.Interval)),
			"a probe has to end before the next begins")
	}
}

func (l *loader) budget(b Budget) {
	l.rule("budget.pool", validPool.MatchString(b.Pool),
		text.Show(b.Pool)+" is not the name of a pool", "letters, digits, dot, underscore and hyphen")
	// The URL is not shown: it may have a password.
	l.rule("budget.database", b.Database.valid(), "is not the URL of a database",
		"such as postgresql://puppetdb.example.com/pmcheck; the host's Puppet certificate takes the place of a password")
}

var (
	validPool = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]{0,63}$`)
	validHost = regexp.MustCompile(`^[0-9A-Za-z._-]*$`)
)

func isAddress(s string) bool {
	host, port, _ := net.SplitHostPort(s) // both are empty if s has no port
	_, notIP := netip.ParseAddr(host)
	isHost := notIP == nil || validHost.MatchString(host)
	return isPort(port) && isHost
}

func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

func isTarget(s string) bool {
	host, port, _ := net.SplitHostPort(s)
	return host != "" && isAddress(s) && strings.Trim(port, "0") != ""
}

// MemberURL returns the URL of pmcheck on a master of the pool. A member is a name or an address, with or without a
// port; for any other text MemberURL returns an error.
func MemberURL(member string) (*url.URL, error) {
	for _, address := range []string{member, net.JoinHostPort(member, "9200")} {
		if isTarget(address) {
			return &url.URL{Scheme: "http", Host: address}, nil
		}
	}
	return nil, fmt.Errorf("%q is not a host: write m1 or m1:9200", member)
}
