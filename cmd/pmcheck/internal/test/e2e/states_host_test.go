package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// A hosted is a master on a host of its own, and the pmcheck beside it, which
// finds all of Puppet where the package puts it.
type hosted struct {
	t      *testing.T
	host   *lab.Host
	master *lab.PuppetMaster
	client http.Client // in the network of the host
}

// startPost is how the package waits for a start, without its look at the main
// process: on a busy machine that is still root's, and the look is denied.
const startPost = `[Service]
ExecStartPost=
ExecStartPost=sh -c "until head -c1 ${RUNTIME_DIRECTORY}/restart | grep -q '^1'; do sleep 1; done"
`

// testHostStates takes one host through the states in which systemd, the file
// system or PuppetDB have a say.
func testHostStates(t *testing.T, seen *sights) {
	n := lab.StartNetwork(t)
	h := n.Boot("m1")
	h.Copy(lab.Build(t), "/usr/local/bin/pmcheck", 0o755)
	for _, path := range []string{"/etc/tmpfiles.d/pmcheck.conf", "/etc/systemd/system/pmcheck.service"} {
		h.WriteFile(path, unitFiles[path], 0o644)
	}
	h.WriteFile("/etc/systemd/system/puppetserver.service.d/start.conf", startPost, 0o644)
	h.MustRun("systemctl", "daemon-reload")
	h.MustRun("systemd-tmpfiles", "--create", "pmcheck.conf")
	h.MustRun("mount", "-t", "tmpfs", "-o", "size=64m,mode=750,uid=puppet,gid=puppet", "tmpfs", vardir)
	m := &hosted{t: t, host: h, master: h.StartPuppetMaster(lab.PuppetMasterOptions{}), client: http.Client{
		Transport: &http.Transport{DialContext: n.DialContext, DisableKeepAlives: true},
		Timeout:   5 * time.Second,
	}}
	measured(t, "first start of puppetserver.service", m.master.WaitReady(5*time.Minute))

	m.serve("checks: {compile: eject}\ncompile: {interval: 1m}\n")
	awaitCompile := m.breakManifest(seen)
	db := m.startPuppetDB() // takes about as long as the rare check is away
	awaitCompile()

	m.serve(fmt.Sprintf("puppetdb: {address: %q}\n", h.FQDN()+":8081"))
	m.fullDisk(seen)
	m.reload(seen)
	m.stopDatabase(db, seen)
	m.stopUnit(seen)
}

// serve starts pmcheck, or starts it anew, and waits until it says that the
// master is fit.
func (m *hosted) serve(yaml string) {
	m.t.Helper()
	m.host.WriteFile(config.DefaultFile, yaml, 0o644)
	m.host.MustRun("systemctl", "restart", "pmcheck")
	m.awaitServing(30 * time.Second)
}

// ask asks as a balancer does.
func (m *hosted) ask(path string) (code int, body string, err error) {
	resp, err := m.client.Get("http://" + m.host.Address + ":9200" + path)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, strings.TrimSuffix(string(data), "\n"), err
}

// await polls until the answer is the wanted one, and returns how long that took.
func (m *hosted) await(path string, code int, body string, within time.Duration) time.Duration {
	m.t.Helper()
	return lab.RetryUntil(m.t, within, 2*time.Millisecond, func() error {
		gotCode, gotBody, err := m.ask(path)
		if err == nil && (gotCode != code || gotBody != body) {
			err = fmt.Errorf("%s: the answer is %d %q, want %d %q", path, gotCode, gotBody, code, body)
		}
		return err
	})
}

func (m *hosted) awaitServing(within time.Duration) time.Duration {
	m.t.Helper()
	return m.await("/", http.StatusOK, answer.Serving, within)
}

func (m *hosted) awaitRefusal(body string, within time.Duration) time.Duration {
	m.t.Helper()
	return m.await("/", http.StatusServiceUnavailable, body, within)
}

// curl asks for Puppet's own status without a certificate.
func (m *hosted) curl() string {
	out, err := m.host.Run("curl", "--insecure", "--silent", "--max-time", "2", "--write-out", "\n%{http_code}",
		"https://"+m.master.Address()+"/status/v1/simple")
	body, code, _ := strings.Cut(out, "\n")
	if err != nil {
		return puppetSays(0, "", err)
	}
	return fmt.Sprintf("%s `%s`", code, body)
}

// agentCurl is the arguments of curl for what an agent on the host asks for:
// a port and a path.
func (m *hosted) agentCurl(what string, more ...string) []string {
	name := m.master.Certname()
	const ssl = "/var/lib/puppet/ssl/"
	return append(more, "--silent", "--write-out", "\n%{http_code}",
		"--cacert", ssl+"certs/ca.pem", "--cert", ssl+"certs/"+name+".pem", "--key", ssl+"private_keys/"+name+".pem",
		"https://"+name+what)
}

// status returns what pmcheck status says.
func (m *hosted) status() (s api.Status) {
	m.t.Helper()
	out, err := m.host.Command("pmcheck", "status", "--json").Output() // its exit status is the master's
	if jsonErr := json.Unmarshal(out, &s); jsonErr != nil {
		m.t.Fatalf("pmcheck status: %v, %v in %q", err, jsonErr, out)
	}
	return s
}

// breakManifest breaks site.pp, which is 500 for every agent and shows in
// nothing but a catalog. It returns the function that waits for pmcheck's word
// and mends it.
func (m *hosted) breakManifest(seen *sights) (wait func()) {
	m.t.Helper()
	lab.RetryUntil(m.t, time.Minute, 100*time.Millisecond, func() error {
		if f := finding(m.status(), check.CheckCompile); f.State != check.StateOK {
			return fmt.Errorf("own catalog: %s %s", f.State, f.Detail)
		}
		return nil
	})
	measured(m.t, "own catalog", finding(m.status(), check.CheckCompile).Value)
	m.master.SetSitePP("this is no manifest {\n")
	began := time.Now()
	return func() {
		m.t.Helper()
		m.awaitRefusal("unhealthy: compile-failed", 90*time.Second)
		seen.add("broken `site.pp` (`checks: {compile: eject}`, every minute)", refuses("unhealthy: compile-failed"), time.Since(began), m.curl())
		measured(m.t, "broken site.pp, in words", finding(m.status(), check.CheckCompile).Detail)
		m.master.SetSitePP("")
	}
}
