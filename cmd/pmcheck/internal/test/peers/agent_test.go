package peers_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// agentName is the certname of a real agent, which has no key and no certificate when it starts.
const agentName = "agent.example.com"

// startMaster boots a real master with pmcheck at an address of the examples. It does not wait until the master is
// ready.
func startMaster(t *testing.T, n *lab.Network, name, address, yaml string,
	opts lab.PuppetMasterOptions) *lab.PuppetMaster {
	t.Helper()
	h := n.Boot(name)
	h.MustRun("ip", "address", "add", address+"/24", "dev", "eth0")
	h.Copy(lab.Build(t), "/usr/local/bin/pmcheck", 0o755)
	h.MustRun("mkdir", "-p", "/run/pmcheck/holds", "/var/lib/pmcheck/holds")
	h.WriteFile("/etc/pmcheck/pmcheck.yaml", yaml, 0o644)
	master := h.StartPuppetMaster(opts)
	master.SetSitePP(`notify { "compiled by ${facts['clientcert']}": }` + "\n")
	lab.StartProgram(t, h.Command("/usr/local/bin/pmcheck", "serve"))
	return master
}

// runAgent runs the real agent once, which must print these texts.
func runAgent(t *testing.T, h *lab.Host, options []string, wanted ...string) {
	t.Helper()
	out, err := h.Run("puppet", append([]string{"agent", "--onetime", "--no-daemonize", "--debug", "--color=false",
		"--certname", agentName, "--confdir", "/tmp/agent", "--vardir", "/tmp/agent/var", "--ssldir", "/tmp/agent/ssl",
		"--keylength", "2048", "--no-usecacheonfailure"}, options...)...)
	lab.Must(t, err)
	for _, want := range append(wanted, "compiled by "+agentName, "Applied catalog") {
		if !strings.Contains(out, want) {
			t.Errorf("the agent's output lacks %q:\n%s", want, out)
		}
	}
}

// realNetwork makes a network whose bridge is in the network of the examples, so that hosts reach the other addresses.
func realNetwork(t *testing.T, addresses ...string) *lab.Network {
	t.Helper()
	lab.Real(t)
	lab.Need(t, "puppet", "puppet-agent")
	n := network(t, addresses...)
	lab.Output(t, n.Command("ip", "address", "add", front+"/24", "dev", "lab0"))
	return n
}

// TestAgentReachesTheNextSite: an agent that is configured with the domain of its site, and nothing else, gets its
// catalog from the other site while the masters of its own are drained.
func TestAgentReachesTheNextSite(t *testing.T) {
	t.Parallel()
	n := realNetwork(t, first, second, names)
	master := startMaster(t, n, "m3", third, "services: [ca]\n", lab.PuppetMasterOptions{
		AltNames: []string{"puppet-north.example.com", "puppet-south.example.com", "ca.example.com"},
	})
	lab.StartDemo(t, n, first).Type("drain", "drain")
	lab.StartDemo(t, n, second).Type("drain", "drain")
	dns := startGdnsd(t, n)
	master.Host.WriteFile("/etc/resolv.conf", "nameserver "+names+"\n", 0o644)
	master.WaitReady(5 * time.Minute)
	dns.waitFor("puppet-north", third)
	runAgent(t, master.Host, []string{"--use_srv_records", "--srv_domain", "north.example.com"},
		"Found 1 SRV records for: _x-puppet-ca._tcp.north.example.com",
		"Found 2 SRV records for: _x-puppet._tcp.north.example.com",
		"Yielding next server of puppet-north.example.com:8140")
}

// TestAgentUsesEveryRole: through one address, an agent gets its certificate and its catalog from one master, and
// sends its report to another, from which it fetches a large file.
func TestAgentUsesEveryRole(t *testing.T) {
	t.Parallel()
	n := realNetwork(t)
	compiler := startMaster(t, n, "m1", first, "services: [ca]\n", lab.PuppetMasterOptions{
		AltNames: []string{"puppet.example.com", "puppetca.example.com"},
	})
	compiler.WaitReady(5 * time.Minute)
	reporter := startMaster(t, n, "m3", third, "", lab.PuppetMasterOptions{
		CA:       compiler,
		AltNames: []string{"puppetreport.example.com", "puppetfiles.example.com"},
	})
	reporter.WaitReady(5 * time.Minute)
	haproxy := n.StartHAProxy(t, lab.Read(t, example(t, "haproxy/roles.cfg")))
	servers := map[string]string{
		"puppet":       "puppet1",
		"puppetca":     "puppet1",
		"puppetreport": "puppet3",
		"puppetfiles":  "puppet3",
	}
	for backend, name := range servers {
		haproxy.WaitStatus(backend, name, "UP", time.Minute)
	}
	const fetched = "/var/tmp/fetched"
	h := reporter.Host
	h.WriteFile("/etc/puppet/fileserver.conf", "[large]\n    path /srv/large\n    allow *\n", 0o644)
	h.MustRun("sh", "-c", "install -d /srv/large; head -c 20000000 /dev/urandom >/srv/large/image")
	compiler.SetSitePP(fmt.Sprintf(`
file { %q: source => 'puppet://puppetfiles.example.com/large/image' }
notify { "compiled by ${facts['clientcert']}": }
`, fetched))
	h.MustRun("sh", "-c", "echo "+front+" puppet.example.com puppetca.example.com puppetreport.example.com "+
		"puppetfiles.example.com >>/etc/hosts")
	runAgent(t, h, []string{"--server", "puppet.example.com", "--ca_server", "puppetca.example.com",
		"--report_server", "puppetreport.example.com", "--report"})
	reports := func(h *lab.Host) string {
		return h.MustRun("find", "/var/lib/puppet", "/var/lib/puppetserver", "-path", "*/reports/"+agentName+"/*")
	}
	if reports(h) == "" {
		t.Error("the master for reports has none")
	}
	if got := reports(compiler.Host); got != "" {
		t.Errorf("the master for catalogs has the report %s", got)
	}
	h.MustRun("cmp", "/srv/large/image", fetched)
	for backend, name := range servers {
		if haproxy.Stat(backend, name).SessionsTotal == 0 {
			t.Errorf("HAProxy sent no connection to %s/%s", backend, name)
		}
	}
}
