//go:build linux

package lab

import (
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A Demo is "pmcheck demo" in a Network: a stand-in master and the daemon, on the
// ports 8140 and 9200, in a process of their own.
type Demo struct {
	*Site
	typed io.Writer
}

// StartDemo starts one on an address of the network, and waits until it serves.
func StartDemo(tb testing.TB, n *Network, ip string) *Demo {
	tb.Helper()
	d := &Demo{Site: &Site{
		TB:     tb,
		Net:    n,
		Listen: net.JoinHostPort(ip, "9200"),
		client: newClient(n.DialContext),
	}}
	cmd := n.Command(Build(tb), "demo", "--listen", d.Listen, "--master", net.JoinHostPort(ip, "8140"))
	// It is killed, so it cannot remove its files; and a test's own directory is too
	// long for a socket.
	dir := tempDir(tb)
	cmd.Env = append(cmd.Environ(), "TMPDIR="+dir)
	typed, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	d.typed = typed
	StartProgram(tb, cmd)
	d.WaitServing(30 * time.Second)
	return d
}

// Type types a word, such as "drain", and waits until balancers get this body.
func (d *Demo) Type(word, body string) {
	d.TB.Helper()
	if _, err := io.WriteString(d.typed, word+"\n"); err != nil {
		d.TB.Fatal(err)
	}
	d.WaitBody(body)
}

// WaitBody waits until balancers get this body.
func (d *Demo) WaitBody(body string) {
	d.TB.Helper()
	code := http.StatusServiceUnavailable
	if body == ServingBody {
		code = http.StatusOK
	}
	d.WaitAnswer(code, body, 30*time.Second)
}

// Get asks pmcheck with these headers.
func (d *Demo) Get(path string, header http.Header) (code int, body string, err error) {
	return get(d.client, "http://"+d.Listen+path, header)
}

// Metrics returns a scrape.
func (d *Demo) Metrics() string {
	d.TB.Helper()
	code, body, err := d.Get("/metrics", nil)
	if err != nil || code != http.StatusOK {
		d.TB.Fatalf("/metrics: %d, %v: %s", code, err, body)
	}
	return body
}

// Get asks for a URL from inside the network, over a connection of its own.
func (n *Network) Get(url string) (code int, body string, err error) {
	return get(newClient(n.DialContext), url, nil)
}

func get(client *http.Client, url string, header http.Header) (code int, body string, err error) {
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

// StartProgram starts a program that ends with the test, and shows what it wrote if
// the test fails.
func StartProgram(tb testing.TB, cmd *exec.Cmd) {
	tb.Helper()
	log := filepath.Join(tempDir(tb), filepath.Base(cmd.Path)+".log")
	showOnFailure(tb, log)
	start(tb, cmd, log)
}
