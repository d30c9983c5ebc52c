package peers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// The addresses that the examples are written with.
const (
	first  = "192.0.2.11"
	second = "192.0.2.12"
	names  = "192.0.2.53" // the name server
)

// example returns the path of a file in examples.
func example(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../../../../examples", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// network makes a network that has these addresses, so that the examples can
// be run as they are.
func network(t *testing.T, addresses ...string) *lab.Network {
	t.Helper()
	n := lab.StartNetwork(t)
	for _, a := range addresses {
		must(t, n.Command("ip", "address", "add", a+"/32", "dev", "lo"))
	}
	return n
}

// must runs a command and returns what it printed.
func must(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

// start starts a program that ends with the test, and shows what it wrote if
// the test fails.
func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // with its children
		cmd.Wait()
		if t.Failed() {
			t.Logf("%s wrote:\n%s", cmd.Args, read(t, log.Name()))
		}
	})
}

// A demo is "pmcheck demo": a stand-in master and the agent.
type demo struct {
	t       *testing.T
	net     *lab.Network
	address string // without a port
	typed   io.Writer
}

// startDemo starts one on the ports the examples name, and waits until it is
// fit.
func startDemo(t *testing.T, n *lab.Network, address string) *demo {
	t.Helper()
	cmd := n.Command(lab.Build(t), "demo", "--listen", address+":9200", "--master", address+":8140")
	// It is killed, so it cannot clear up; and a test's own directory is too long for a socket.
	dir, err := os.MkdirTemp("", "pmcheck-peers-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	cmd.Env = append(cmd.Environ(), "TMPDIR="+dir)
	typed, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	start(t, cmd)
	d := &demo{t: t, net: n, address: address, typed: typed}
	d.await(fit)
	return d
}

// fit is what balancers are told of a master they should use.
const fit = "Puppet Server is running."

// become types a word and waits until that is what balancers are told.
func (d *demo) become(word, told string) {
	d.t.Helper()
	if _, err := io.WriteString(d.typed, word+"\n"); err != nil {
		d.t.Fatal(err)
	}
	d.await(told)
}

func (d *demo) await(told string) {
	d.t.Helper()
	lab.RetryUntil(d.t, 30*time.Second, 20*time.Millisecond, func() error {
		_, body, err := d.get("/", nil)
		if err == nil && body != told {
			err = fmt.Errorf("balancers of %s are told %q, want %q", d.address, body, told)
		}
		return err
	})
}

// get asks pmcheck as a balancer does, over a connection of its own.
func (d *demo) get(path string, header http.Header) (code int, body string, err error) {
	return get(d.net.DialContext, "http://"+d.address+":9200"+path, header)
}

// metrics returns a scrape.
func (d *demo) metrics() string {
	d.t.Helper()
	code, body, err := d.get("/metrics", nil)
	if err != nil || code != http.StatusOK {
		d.t.Fatalf("/metrics: %d, %v: %s", code, err, body)
	}
	return body
}

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

func get(dial dialer, url string, header http.Header) (code int, body string, err error) {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial}, Timeout: 10 * time.Second}
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	req.Header = header
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, strings.TrimSpace(string(data)), err
}
