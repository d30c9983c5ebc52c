package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/systemd"
)

// standInEnv is set for a test process that is to be a stand-in master.
const standInEnv = "PMCHECK_E2E_STANDIN"

// unitFiles make a host a master with pmcheck: what a package would bring.
var unitFiles = map[string]string{
	config.DefaultFile:             puppetConf("/var/lib/standin/puppet.conf"),
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
ExecStart=/usr/local/bin/standin -test.run=^TestReboot$
[Install]
WantedBy=multi-user.target
`,
}

// TestReboot: a hold outlives a reboot of its host, unless it was not meant to,
// and the daemon that boots with it never says that the master may be used.
func TestReboot(t *testing.T) {
	lab.Real(t)
	if dir := os.Getenv(standInEnv); dir != "" {
		beStandIn(t, dir)
	}
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
	ask := asker(t, n, h)
	awaitAnswer(t, ask, http.StatusOK)
	h.MustRun("pmcheck", "drain", "--hold", "upgrade", "--reason", "new kernel")
	h.MustRun("pmcheck", "maint", "--hold", "cables", "--until-reboot")

	d, stop := observe(ask)
	defer stop()
	d.await(t, 10)
	began := time.Now()
	h.Reboot()
	d.await(t, 10)
	stop()

	measured(t, "answers across a reboot while held", d)
	var status api.Status
	out, _ := h.Command("pmcheck", "status", "--json").Output() // exits with 3
	if err := json.Unmarshal(out, &status); err != nil {
		t.Fatalf("pmcheck status: %v in %q", err, out)
	}
	if len(status.Holds) != 1 || status.Holds[0].Holder != "upgrade" || status.Holds[0].Reason != "new kernel" {
		t.Errorf("holds after the reboot: %+v, want that of upgrade", status.Holds)
	}
	measured(t, "reboot asked for to the first answer", d.first("503 drain").Sub(began))
	measured(t, "start of the daemon to the first answer", d.first("503 drain").Sub(status.Started))
	if got := d.told(); got != "503 maint, 503 drain" || d.counts[noAnswer] == 0 {
		t.Errorf("across the reboot balancers were told %s; want 503 maint, then 503 drain", got)
	}
	h.MustRun("pmcheck", "ready", "--hold", "upgrade")
	awaitAnswer(t, ask, http.StatusOK)
}

// beStandIn makes this process the stand-in master of a host, for good.
func beStandIn(t *testing.T, dir string) {
	t.Helper()
	if _, err := checktest.NewMaster(dir, "m1.lab.example", "localhost:8140"); err != nil {
		t.Fatal(err)
	}
	// The network learns where the host is from what it sends.
	c, err := net.Dial("udp", net.JoinHostPort(lab.BridgeAddress, "discard"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte{0}); err != nil {
		t.Fatal(err)
	}
	if err := systemd.Ready("a stand-in"); err != nil {
		t.Fatal(err)
	}
	select {}
}

// asker returns the function that asks the pmcheck of a host as a balancer in
// its network does.
func asker(t *testing.T, n *lab.Network, h *lab.Host) func() (code int, body string, err error) {
	t.Helper()
	// Who has to look for the host first meets it up to a second late.
	mac := h.MustRun("cat", "/sys/class/net/eth0/address")
	if out, err := n.Command("ip", "neighbour", "replace", h.Address, "lladdr", mac, "dev", "lab0").CombinedOutput(); err != nil {
		t.Fatalf("ip neighbour: %v: %s", err, out)
	}
	client := http.Client{
		Transport: &http.Transport{DialContext: n.DialContext, DisableKeepAlives: true},
		Timeout:   100 * time.Millisecond, // nobody answers while the host is down
	}
	return func() (code int, body string, err error) {
		resp, err := client.Get("http://" + h.Address + ":9200/")
		if err != nil {
			return 0, "", err
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		return resp.StatusCode, strings.TrimSuffix(string(data), "\n"), err
	}
}

// awaitAnswer asks until the answer has a status code.
func awaitAnswer(t *testing.T, ask func() (int, string, error), want int) {
	t.Helper()
	lab.RetryUntil(t, 20*time.Second, 5*time.Millisecond, func() error {
		code, body, err := ask()
		if err == nil && code != want {
			err = fmt.Errorf("the answer is %d %s, want %d", code, body, want)
		}
		return err
	})
}
