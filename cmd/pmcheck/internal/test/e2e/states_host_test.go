//go:build linux

package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A hostSite is a master on a host of its own, and the pmcheck beside it, which
// finds all of Puppet where the package puts it.
type hostSite struct {
	*lab.Site
	t      *testing.T
	host   *lab.Host
	master *lab.PuppetMaster
}

// startPost is the ExecStartPost= of Puppet Server's package without its check of the
// main process: on a busy machine, that process still belongs to root at this time, and
// the check is denied.
const startPost = `[Service]
ExecStartPost=
ExecStartPost=sh -c "until head -c1 ${RUNTIME_DIRECTORY}/restart | grep -q '^1'; do sleep 1; done"
`

// unitFiles are what a package would install for pmcheck.
var unitFiles = map[string]string{
	"/etc/tmpfiles.d/pmcheck.conf": "d /run/pmcheck/holds 0755 root root\nd /var/lib/pmcheck/holds 0755 root root\n",
	"/etc/systemd/system/pmcheck.service": `[Service]
Type=notify
ExecStart=/usr/local/bin/pmcheck serve
[Install]
WantedBy=multi-user.target
`,
}

// testHostStates takes one host through the states that depend on systemd, the file
// system or PuppetDB.
func testHostStates(t *testing.T, seen *stateTable) {
	n := lab.StartNetwork(t)
	h := n.Boot("m1")
	h.Copy(lab.Build(t), "/usr/local/bin/pmcheck", 0o755)
	for path, content := range unitFiles {
		h.WriteFile(path, content, 0o644)
	}
	h.WriteFile("/etc/systemd/system/puppetserver.service.d/start.conf", startPost, 0o644)
	h.MustRun("systemctl", "daemon-reload")
	h.MustRun("systemd-tmpfiles", "--create", "pmcheck.conf")
	h.MustRun("mount", "-t", "tmpfs", "-o", "size=64m,mode=750,uid=puppet,gid=puppet", "tmpfs", vardir)
	m := &hostSite{
		Site:   lab.NewSite(t, lab.SiteOptions{Host: h}),
		t:      t,
		host:   h,
		master: h.StartPuppetMaster(lab.PuppetMasterOptions{}),
	}
	measured(t, "first start of puppetserver.service", m.master.WaitReady(5*time.Minute))

	database := h.StartPuppetDB()
	m.restart(fmt.Sprintf("puppetdb: {address: %q}\n", h.FQDN()+":8081"))
	m.fullDisk(seen)
	m.reload(seen)
	m.stopDatabase(database, seen)
	m.stopUnit(seen)
}

// restart starts or restarts pmcheck with this configuration, and waits until it serves.
func (m *hostSite) restart(yaml string) {
	m.t.Helper()
	m.Configure(yaml)
	m.host.MustRun("systemctl", "restart", "pmcheck")
	m.WaitServing(30 * time.Second)
}

// curl asks for Puppet's own status without a certificate.
func (m *hostSite) curl() string {
	out, err := m.host.Run("curl", "--insecure", "--silent", "--max-time", "2", "--write-out", "\n%{http_code}",
		"https://"+m.master.Address()+"/status/v1/simple")
	body, code, _ := strings.Cut(out, "\n")
	if err != nil {
		return puppetSays(0, "", err)
	}
	return fmt.Sprintf("%s `%s`", code, body)
}

// agentCurl returns the arguments of curl for a request that an agent on the host makes.
// what is a port and a path.
func (m *hostSite) agentCurl(what string, more ...string) []string {
	name := m.master.Certname()
	const ssl = "/var/lib/puppet/ssl/"
	return append(more, "--silent", "--write-out", "\n%{http_code}",
		"--cacert", ssl+"certs/ca.pem", "--cert", ssl+"certs/"+name+".pem", "--key", ssl+"private_keys/"+name+".pem",
		"https://"+name+what)
}
