package puppetconf

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/mistake"
)

// derive takes what cannot be set in pmcheck.yaml: how deep certificates are looked up in the CRL, the port, and the
// names that agents use for this master.
func (r *reading) derive(conf puppetConf, certname string) (wrong []mistake.Mistake) {
	server := conf.reader(puppetServer, r.layout, certname)
	agent := conf.reader(puppetAgent, r.layout, certname)
	value := func(of *reader, setting string) resolved {
		v := of.value(setting)
		if one, is := errors.AsType[mistake.Mistake](v.err); is {
			wrong = append(wrong, one)
		}
		return v
	}

	if depth := value(server, "certificate_revocation"); depth.err == nil {
		r.said.Files.Revocation = puppetclient.Revocation(depth.text)
	}
	if port := value(server, "serverport"); port.line > 0 {
		r.said.ServerPort = port.text
	}

	// Agents use this environment, so the master has it, even if it has no production.
	if environment := agent.value("environment"); environmentName.MatchString(environment.text) {
		r.said.Environment = environment.text
	}

	requested := altNames(value(agent, "dns_alt_names").text)
	own := altNames(value(server, "dns_alt_names").text)
	used := value(agent, "server")
	ca := value(agent, "ca_server")
	if len(wrong) > 0 && len(r.said.Names) > 0 {
		return wrong // a name may be missing here, so the names that puppet.conf said last stand
	}

	// On all masters but the CA it is the agent that requests the certificate, so these must be in it.
	inCertificate := slices.Clone(requested)
	name := strings.ToLower(used.text)
	if isPool(used, ca) && !slices.Contains(requested, name) {
		inCertificate = append(inCertificate, name)
	}
	r.said.Requested = inCertificate

	// Each of these may be what agents verify the master by.
	r.said.Names = requested
	for _, other := range append(own, name) {
		if other != "" && !slices.Contains(r.said.Names, other) {
			r.said.Names = append(r.said.Names, other)
		}
	}
	return wrong
}

var environmentName = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

// isPool reports whether the server of agents is the name of a pool: with a ca_server of its own, it is not there to
// reach the CA.
func isPool(server, ca resolved) bool {
	bothWritten := server.line > 0 && ca.line > 0
	bothKnown := server.text != "" && ca.text != ""
	return bothWritten && bothKnown && !strings.EqualFold(server.text, ca.text)
}

// altNames returns the names in dns_alt_names, without addresses, which have "IP:" before them.
func altNames(text string) (names []string) {
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimPrefix(strings.TrimSpace(name), "DNS:")
		if name != "" && !strings.Contains(name, ":") {
			names = append(names, strings.ToLower(name))
		}
	}
	return names
}
