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
	"slices"
	"strconv"
	"strings"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/drain"
	"github.com/pmcheck/pmcheck/drain/tcp"
)

// validate checks the rules for single settings, which are in their tags, and those that involve several settings.
func (l *loader) validate() {
	j, c := judge{l, slices.Clone(l.faults)}, l.config
	for _, f := range l.settings {
		j.setting(f)
	}
	j.rule("listen", isAddress(c.Listen), show(c.Listen)+" is not an address",
		"host:port, or :9200 for every interface")
	for _, m := range c.Fleet {
		j.rule("fleet", IsMember(m), show(m)+" is not a master", "such as m1 or m1:9200")
	}
	j.rule("max_out", c.MaxOut.valid(), show(string(c.MaxOut))+" is not a number of masters",
		"1 to 1000, or a percentage such as 5%")
	j.services(c.Services)
	j.probe(c.Probe)
	for _, one := range c.Checks {
		j.rule("checks."+one.Name, !one.Shared || one.Severity != check.Eject, "cannot be eject",
			"the masters share what it looks at, so all of them would be taken out in the same minute")
	}
	j.budget(c.Budget)
}

// A judge reports the rules that a configuration breaks.
type judge struct {
	*loader
	unread []Fault // of values that could not be read
}

// rule adds a fault of key unless ok is true. The others are further keys that the
// rule involves. If the value of one of these keys could not be read, the rule is
// skipped. The fault is located at the first of them that is not a default: if the
// timeout exceeds the interval, perhaps only the interval was set.
func (j judge) rule(key string, ok bool, problem, hint string, others ...string) {
	at, keys := place{}, append([]string{key}, others...)
	for _, k := range keys {
		at = cmp.Or(at, j.places[k])
		ok = ok || slices.ContainsFunc(j.unread, func(f Fault) bool { return f.key == k })
	}
	if !ok {
		j.fault(at, key, problem, hint)
	}
}

// setting applies the rules in the tags of a setting, which check.Check describes.
func (j judge) setting(f field) {
	if hint, is := f.tag.Lookup("required"); is {
		j.rule(f.key, f.value.Len() > 0, "is empty", hint)
	}
	if low, high := f.tag.Get("min"), f.tag.Get("max"); high != "" {
		ok := f.bound(low) <= f.value.Int() && f.value.Int() <= f.bound(high)
		j.rule(f.key, ok, format(f.value)+" is out of range", low+" to "+high)
	}
	switch v := f.value.Interface().(type) {
	case string:
		j.text(f, v)
	case []string:
		for _, item := range v {
			j.text(f, item)
		}
	}
}

// bound parses a bound in a tag. Each configuration parses every tag, so this cannot fail.
func (f field) bound(text string) int64 {
	v, err := parse(f.value.Type(), text)
	if err != nil {
		panic(err)
	}
	return reflect.ValueOf(v).Int()
}

func (j judge) text(f field, s string) {
	if kind := f.tag.Get("path"); kind == "absolute" || kind == "optional" && s != "" {
		j.rule(f.key, filepath.IsAbs(s), show(s)+" is not an absolute path", "")
	}
	if example := f.tag.Get("target"); example != "" && s != "" {
		j.rule(f.key, isTarget(s), show(s)+" is not a host and port", "such as "+example)
	}
}

// services checks the names of services, which become URL paths and parts of the
// names of hold files. Paths with a meaning of their own are reserved.
func (j judge) services(names []string) {
	taken := map[string]string{"server": "always exists", "puppetdb": "exists if puppetdb.address is set",
		"live": "is a reserved path", "status": "is a reserved path", "metrics": "is a reserved path"}
	for _, n := range names {
		j.rule("services", drain.CheckName(n) == nil, show(n)+" is not the name of a service",
			"a-z, 0-9, dot, underscore and hyphen")
		j.rule("services", taken[n] == "", show(n)+" "+taken[n], "")
		taken[n] = "is listed twice"
	}
}

func (j judge) probe(p Probe) {
	target, plain := strings.CutPrefix(p.Address, "http://")
	j.rule("probe.address", isTarget(target), show(p.Address)+" is not a host and port", "such as localhost:8140")
	j.rule("probe.address", !plain || !isTarget(target) || tcp.IsLocal(target), show(p.Address)+" is on another host",
		"plain HTTP is for a master on this host, whose TLS ends at the balancer")
	certname := p.Certname == strings.ToLower(p.Certname) && !strings.ContainsAny(p.Certname, "/\\ \t\r\n\x00")
	j.rule("probe.certname", certname, show(p.Certname)+" is not a certname", "lower case, no spaces, no slash")
	j.rule("probe.timeout", p.Timeout < p.Interval,
		fmt.Sprintf("%s is not below probe.interval, %s", text.Duration(p.Timeout), text.Duration(p.Interval)),
		"a probe has to end before the next begins", "probe.interval")
}

func (j judge) budget(b Budget) {
	j.rule("budget.pool", matches(`^[0-9A-Za-z][0-9A-Za-z._-]{0,63}$`, b.Pool),
		show(b.Pool)+" is not the name of a pool", "letters, digits, dot, underscore and hyphen")
	if b.Database == "" {
		return
	}
	u, err := url.Parse(b.Database)
	if err != nil {
		u = &url.URL{}
	}
	_, password := u.User.Password()
	isURL := (u.Scheme == "postgresql" || u.Scheme == "postgres") && matches(`^[0-9A-Za-z._:-]+$`, u.Hostname()) &&
		(u.Port() == "" || isTarget("host:"+u.Port())) && matches(`^/\w[\w-]*$`, u.Path) && u.Fragment == ""
	j.rule("budget.database", isURL, show(b.Database)+" is not the URL of a database",
		"such as postgresql://puppetdb.example.com/pmcheck")
	j.rule("budget.database", !password, "has a password", "the host's Puppet certificate is used instead")
	j.rule("budget.database", u.RawQuery == "" || u.RawQuery == "sslmode=verify-full", show(u.RawQuery)+" is not allowed",
		"the settings of a connection are fixed; the server is always verified")
}

func matches(pattern, s string) bool { return regexp.MustCompile(pattern).MatchString(s) }

func isAddress(s string) bool {
	host, port, _ := net.SplitHostPort(s) // both are empty if s has no port
	_, notIP := netip.ParseAddr(host)
	return isPort(port) && (host == "" || notIP == nil || matches(`^[0-9A-Za-z._-]+$`, host))
}

func isPort(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

func isTarget(s string) bool {
	host, port, err := net.SplitHostPort(s)
	return err == nil && host != "" && isAddress(s) && strings.Trim(port, "0") != ""
}

// IsMember reports whether s names a master of the pool: a host, or a host and port.
func IsMember(s string) bool {
	if addr, err := netip.ParseAddr(s); err == nil && addr.Is6() { // without a port, colons need no brackets
		s = "[" + addr.WithZone("").String() + "]"
	}
	return isTarget(s) || isTarget(s+":9200")
}
