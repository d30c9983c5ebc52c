package config

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/drain"
)

// A rule is one condition on a configuration. It is about keys[0]; the other keys
// also take part in it, and it says nothing while one of them could not be read.
type rule struct {
	keys    []string
	ok      bool
	problem string
	hint    string
}

func keys(k ...string) []string { return k }

// rules are those of each setting alone, in their tags, and those of several.
func (c Config) rules() []rule {
	var rules []rule
	for _, f := range fields(&c) {
		rules = append(rules, f.rules()...)
	}
	rules = append(rules,
		rule{keys("listen"), isAddress(c.Listen), show(c.Listen) + " is not an address",
			"host:port, or :9200 for every interface"},
		// sun_path of a unix socket holds 107 bytes and a NUL.
		rule{keys("socket"), len(c.Socket) <= 107, fmt.Sprintf("is %d bytes long", len(c.Socket)),
			"a socket path has at most 107"},
		rule{keys("holds.until_reboot", "holds.persistent"), c.Holds.UntilReboot != c.Holds.Persistent,
			"is the same directory as holds.persistent", "a reboot must tell the two apart"})
	for _, m := range c.Fleet {
		rules = append(rules, rule{keys("fleet"), IsMember(m), show(m) + " is not a master",
			"such as m1, m1:9200 or https://m1:9200"})
	}
	rules = append(rules, c.tlsRules()...)
	rules = append(rules, c.Probe.rules()...)
	rules = append(rules,
		rule{keys("agent.listen"), c.Agent.Listen == "" || isAddress(c.Agent.Listen),
			show(c.Agent.Listen) + " is not an address", "host:port, or :9201 for every interface"},
		rule{keys("agent.listen", "listen"), c.Agent.Listen != c.Listen, "is the same as listen",
			"an agent-check is not HTTP: :9201 is usual"})
	return append(rules, c.serviceRules()...)
}

// rules are those in the tags of a setting, which check.Check describes.
func (f field) rules() []rule {
	var rules []rule
	if hint, is := f.tag.Lookup("required"); is {
		rules = append(rules, rule{keys(f.key), f.value.Len() > 0, "is empty", hint})
	}
	low, high := f.tag.Get("min"), f.tag.Get("max")
	switch v := f.value.Interface().(type) {
	case int:
		if high != "" {
			rules = append(rules, f.within(number(low) <= v && v <= number(high)))
		}
	case time.Duration:
		if high != "" {
			rules = append(rules, f.within(duration(low) <= v && v <= duration(high)))
		}
	case string:
		rules = append(rules, f.textRules(v)...)
	case []string:
		for _, item := range v {
			rules = append(rules, f.textRules(item)...)
		}
	}
	return rules
}

func (f field) within(ok bool) rule {
	return rule{keys(f.key), ok, format(f.value) + " is out of range", f.tag.Get("min") + " to " + f.tag.Get("max")}
}

func (f field) textRules(s string) []rule {
	if kind := f.tag.Get("path"); kind == "absolute" || kind == "optional" && s != "" {
		return []rule{{keys(f.key), filepath.IsAbs(s), show(s) + " is not an absolute path", ""}}
	}
	if example := f.tag.Get("target"); example != "" && s != "" {
		return []rule{{keys(f.key), isTarget(s), show(s) + " is not a host and port", "such as " + example}}
	}
	return nil
}

// number and duration read a bound in a tag, which the tests prove to be one.
func number(bound string) int {
	n, err := strconv.Atoi(bound)
	if err != nil {
		panic(err)
	}
	return n
}

func duration(bound string) time.Duration {
	d, err := ParseDuration(bound)
	if err != nil {
		panic(err)
	}
	return d
}

func (c Config) tlsRules() []rule {
	const need = "tls: files needs tls_certificate and tls_key"
	files := c.TLS == TLSFiles
	rules := []rule{
		{keys("tls_certificate", "tls"), !files || c.TLSCertificate != "", "is missing", need},
		{keys("tls_key", "tls"), !files || c.TLSKey != "", "is missing", need},
	}
	for _, f := range [][2]string{
		{"tls_certificate", c.TLSCertificate}, {"tls_key", c.TLSKey}, {"tls_client_ca", c.TLSClientCA},
	} {
		rules = append(rules, rule{keys(f[0], "tls"), files || f[1] == "", "means nothing with tls: " + string(c.TLS),
			"set tls: files"})
	}
	return rules
}

// serviceRules check the names of services, which become paths and parts of
// the names of holds. Paths with a meaning of their own are not free.
func (c Config) serviceRules() []rule {
	taken := map[string]string{"server": "is always there", "puppetdb": "is there when puppetdb.address is set",
		"live": "is a path of its own", "status": "is a path of its own", "metrics": "is a path of its own"}
	var rules []rule
	name := func(key, n string) {
		rules = append(rules,
			rule{keys(key), drain.CheckName(n) == nil, show(n) + " is not the name of a service",
				"a-z, 0-9, dot, underscore and hyphen"},
			rule{keys(key), taken[n] == "", show(n) + " " + taken[n], ""})
		taken[n] = "is listed twice"
	}
	for _, n := range c.Services {
		name("services", n)
	}
	for _, s := range c.TCPServices {
		n, address, _ := strings.Cut(s, "=")
		name("tcp_services", n)
		rules = append(rules, rule{keys("tcp_services"), isTarget(address), show(s) + " has no host and port",
			"such as pcp=localhost:8142"})
	}
	return rules
}
