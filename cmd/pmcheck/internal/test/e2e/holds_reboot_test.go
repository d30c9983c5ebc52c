//go:build linux

package e2e_test

import (
	"net"
	"os"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/systemd"
)

// standInEnv is set for a test process that must be a stand-in master.
const standInEnv = "PMCHECK_E2E_STANDIN"

// unitFiles are what a package would install to make a host a master with pmcheck.
var unitFiles = map[string]string{
	config.DefaultFile:             "puppet: {conf: /var/lib/standin/puppet.conf}\n",
	"/etc/tmpfiles.d/pmcheck.conf": "d /run/pmcheck/holds 0755 root root\nd /var/lib/pmcheck/holds 0755 root root\n",
	"/etc/systemd/system/pmcheck.service": `[Unit]
After=standin.service
[Service]
Type=notify
ExecStart=/usr/local/bin/pmcheck serve
[Install]
WantedBy=multi-user.target
`,
	"/etc/systemd/system/standin.service": `[Service]
Type=notify
Environment=` + standInEnv + `=/var/lib/standin
ExecStart=/usr/local/bin/standin
[Install]
WantedBy=multi-user.target
`,
}

// TestHoldOutlivesAReboot: a hold outlives a reboot of its host, unless it was set until
// reboot, and the daemon never answers 200 while it starts.
func TestHoldOutlivesAReboot(t *testing.T) {
	lab.Real(t)
	t.Parallel()
	n := lab.StartNetwork(t)
	h := n.Boot("m1")
	h.Copy(lab.Build(t), "/usr/local/bin/pmcheck", 0o755)
	h.Copy(os.Args[0], "/usr/local/bin/standin", 0o755)
	for path, content := range unitFiles {
		h.WriteFile(path, content, 0o644)
	}
	h.MustRun("systemd-tmpfiles", "--create", "pmcheck.conf")
	h.MustRun("systemctl", "enable", "--now", "standin", "pmcheck")
	site := lab.NewSite(t, lab.SiteOptions{Host: h})
	site.SetPatience(100 * time.Millisecond) // nothing answers while the host is down
	rememberHost(t, n, h)
	site.WaitServing(20 * time.Second)
	h.MustRun("pmcheck", "drain", "--hold", "upgrade", "--reason", "new kernel")
	h.MustRun("pmcheck", "maint", "--hold", "cables", "--until-reboot")

	d := site.Record(time.Millisecond)
	d.WaitMore(10)
	began := time.Now()
	h.Reboot()
	d.WaitMore(10)
	d.Stop()

	measured(t, "answers across a reboot while held", d.Counts())
	status := site.Status()
	if len(status.Holds) != 1 || status.Holds[0].Holder != "upgrade" || status.Holds[0].Reason != "new kernel" {
		t.Errorf("holds after the reboot: %+v, want that of upgrade", status.Holds)
	}
	measured(t, "reboot asked for to the first answer", d.First("503 drain").Sub(began))
	measured(t, "start of the daemon to the first answer", d.First("503 drain").Sub(status.Started))
	if got := d.Told(); got != "503 maint, 503 drain" || d.Count(lab.NoAnswer) == 0 {
		t.Errorf("across the reboot balancers were told %s; want 503 maint, then 503 drain", got)
	}
	h.MustRun("pmcheck", "ready", "--hold", "upgrade")
	site.WaitServing(20 * time.Second)
}

// runStandIn makes this process the stand-in master of a host. It returns only with
// an error.
func runStandIn(dir string) error {
	if _, err := checktest.NewMaster(dir, "m1.lab.example", "localhost:8140"); err != nil {
		return err
	}
	// The network learns the host's hardware address from a packet that it sends.
	c, err := net.Dial("udp", net.JoinHostPort(lab.BridgeAddress, "discard"))
	if err != nil {
		return err
	}
	if _, err := c.Write([]byte{0}); err != nil {
		return err
	}
	if err := systemd.Ready("a stand-in"); err != nil {
		return err
	}
	select {}
}

// rememberHost puts the hardware address of a host into the network's neighbour table.
// Without it, the network would resolve the address when the host is back, and reach the
// host up to a second late.
func rememberHost(t *testing.T, n *lab.Network, h *lab.Host) {
	t.Helper()
	mac := h.MustRun("cat", "/sys/class/net/eth0/address")
	out, err := n.Command("ip", "neighbour", "replace", h.Address, "lladdr", mac, "dev", "lab0").CombinedOutput()
	if err != nil {
		t.Fatalf("ip neighbour: %v: %s", err, out)
	}
}
