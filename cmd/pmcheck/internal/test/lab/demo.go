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

// A Demo is "pmcheck demo" in a Network: one process with a stand-in master on port 8140
// and the daemon on port 9200.
type Demo struct {
	*Site
	typed io.Writer
}

// StartDemo starts a Demo on an address of the network, and waits until it serves. Another program than
// that of this tree may be named, one for another architecture after the emulator that runs it.
func StartDemo(tb testing.TB, n *Network, ip string, program ...string) *Demo {
	tb.Helper()
	if len(program) == 0 {
		program = []string{Build(tb)}
	}
	d := &Demo{Site: &Site{
		TB:     tb,
		Net:    n,
		Listen: net.JoinHostPort(ip, "9200"),
		client: newClient(n.DialContext),
	}}
	args := append(program[1:], "demo", "--listen", d.Listen, "--master", net.JoinHostPort(ip, "8140"))
	cmd := n.Command(program[0], args...)
	// The demo is killed at the end of the test, so it cannot remove its files itself. The
	// path that tb.TempDir returns is too long for a unix socket.
	dir := tempDir(tb)
	cmd.Env = append(cmd.Environ(), "TMPDIR="+dir)
	typed, err := cmd.StdinPipe()
	Must(tb, err)
	d.typed = typed
	StartProgram(tb, cmd)
	d.WaitServing(30 * time.Second)
	return d
}

// Type types a command, such as "drain", and waits until balancers get this body.
func (d *Demo) Type(word, body string) {
	d.TB.Helper()
	_, err := io.WriteString(d.typed, word+"\n")
	Must(d.TB, err)
	code := http.StatusServiceUnavailable
	if body == ServingBody {
		code = http.StatusOK
	}
	d.WaitAnswer(code, body, 30*time.Second)
}

// Get sends pmcheck a request with these headers.
func (d *Demo) Get(path string, header http.Header) (code int, body string, err error) {
	return get(d.client, "http://"+d.Listen+path, header)
}

// Get requests a URL from inside the network, over a new connection.
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

// StartProgram starts a program and kills it when the test ends. If the test fails, the end
// of the program's output is in the test's log.
func StartProgram(tb testing.TB, cmd *exec.Cmd) {
	tb.Helper()
	start(tb, cmd, filepath.Join(tempDir(tb), filepath.Base(cmd.Path)+".log"))
}
