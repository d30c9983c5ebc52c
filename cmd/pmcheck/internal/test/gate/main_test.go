package gate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

func TestMain(m *testing.M) { lab.Main(m) }

const (
	// near is the end of a link in the network namespace of the tests, where the gate is;
	// far and other are addresses at the other end.
	near4, far4, other4 = "192.0.2.1", "192.0.2.2", "192.0.2.3"
	near6, far6         = "2001:db8::1", "2001:db8::2"
	port                = "8140"
)

// A gatedHost is the network namespace of the tests with a server on Puppet's port, a gate
// that tests start, and clients at the other end of a link.
type gatedHost struct {
	t       *testing.T
	clients *lab.Network
	dir     string
}

// newGatedHost returns a host whose gate has not been started.
func newGatedHost(t *testing.T, yaml string) *gatedHost {
	t.Helper()
	lab.Real(t)
	lab.Need(t, "nft", "nftables")
	dir := t.TempDir()
	h := &gatedHost{t: t, clients: lab.StartNetwork(t), dir: dir}
	for _, name := range []string{"holds", "run", "gate"} {
		lab.Must(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	h.write("pmcheck.yaml", yaml)
	h.link()
	h.listen()
	for _, ends := range [][2]string{{far4, near4}, {other4, near4}, {far6, near6}} { // neighbours find each other
		lab.WaitFor(t, 20*time.Second, 10*time.Millisecond, func() error { return h.dial(ends[0], ends[1]) })
	}
	t.Cleanup(func() {
		if out, err := exec.Command("nft", "flush", "ruleset").CombinedOutput(); err != nil {
			t.Errorf("nft: %v: %s", err, out)
		}
		if t.Failed() {
			t.Logf("the gate's log:\n%s", lab.Read(t, h.logFile()))
		}
	})
	return h
}

// link connects this namespace with that of the clients.
func (h *gatedHost) link() {
	h.t.Helper()
	lab.Output(h.t, h.clients.Command("ip", "link", "add", "gate1", "type", "veth", "peer", "name", "gate0",
		"netns", fmt.Sprint(os.Getpid())))
	h.t.Cleanup(func() { exec.Command("ip", "link", "delete", "gate0").Run() })
	lab.Output(h.t, exec.Command("sh", "-ec", "ip address add "+near4+"/24 dev gate0; "+
		"ip address add "+near6+"/64 dev gate0 nodad; ip link set gate0 up"))
	lab.Output(h.t, h.clients.Command("sh", "-ec", "ip address add "+far4+"/24 dev gate1; "+
		"ip address add "+other4+"/24 dev gate1; ip address add "+far6+"/64 dev gate1 nodad; ip link set gate1 up"))
}

// listen starts an echo server on Puppet's port.
func (h *gatedHost) listen() {
	h.t.Helper()
	l, err := net.Listen("tcp", ":"+port)
	lab.Must(h.t, err)
	h.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				io.Copy(conn, conn)
			}()
		}
	}()
}

// start starts the gate and waits until it has looked at the holds.
func (h *gatedHost) start() {
	h.t.Helper()
	cmd := exec.Command(lab.Build(h.t), "gate", "--config", filepath.Join(h.dir, "pmcheck.yaml"), "run")
	// Not the test's own environment: a PMCHECK_LONG in it would be taken for a setting.
	cmd.Env = []string{"RUNTIME_DIRECTORY=" + filepath.Join(h.dir, "gate"), "PMCHECK_HOLDS=" + h.dir}
	log, err := os.OpenFile(h.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	lab.Must(h.t, err)
	defer log.Close()
	cmd.Stderr = log
	lab.Must(h.t, cmd.Start())
	h.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	began := time.Now()
	lab.WaitFor(h.t, 20*time.Second, 10*time.Millisecond, func() error {
		if s := h.status(); !s.Looked.After(began) {
			return fmt.Errorf("the gate looked last at %v", s.Looked)
		}
		return nil
	})
}

func (h *gatedHost) logFile() string { return filepath.Join(h.dir, "gate.log") }

func (h *gatedHost) status() (s status.GateStatus) {
	data, err := os.ReadFile(filepath.Join(h.dir, "gate", status.GateFile))
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		h.t.Error(err)
	}
	return s
}

// hold sets a hold as pmcheck drain does, but returns as soon as it is there: pmcheck also
// waits until it is on the disk.
func (h *gatedHost) hold() {
	h.t.Helper()
	h.write(".new", `{"mode": "drain"}`)
	lab.Must(h.t, os.Rename(filepath.Join(h.dir, ".new"), h.holdFile()))
}

func (h *gatedHost) lift() {
	h.t.Helper()
	lab.Must(h.t, os.Remove(h.holdFile()))
}

func (h *gatedHost) holdFile() string { return filepath.Join(h.dir, "holds", "operator.json") }

// waitFor waits until a new connection from far4 is refused, or accepted.
func (h *gatedHost) waitFor(refused bool, within time.Duration) time.Duration {
	h.t.Helper()
	return lab.WaitFor(h.t, within, time.Millisecond, func() error {
		if err := h.dial(far4, near4); refused != errors.Is(err, syscall.ECONNREFUSED) {
			return fmt.Errorf("a new connection: %v", err)
		}
		return nil
	})
}

func (h *gatedHost) dial(from, to string) error {
	conn, err := h.connect(from, to)
	if err == nil {
		conn.Close()
	}
	return err
}

func (h *gatedHost) connect(from, to string) (conn net.Conn, err error) {
	dialer := net.Dialer{Timeout: time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	err = h.clients.Inside(func() error {
		conn, err = dialer.Dial("tcp", net.JoinHostPort(to, port))
		return err
	})
	return conn, err
}

func echo(conn net.Conn) error {
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := conn.Write([]byte{1}); err != nil {
		return err
	}
	_, err := conn.Read(make([]byte, 1))
	return err
}

// ruleset returns all of nftables but counters and the numbers of rules.
func (h *gatedHost) ruleset() string {
	h.t.Helper()
	return lab.Output(h.t, exec.Command("nft", "--stateless", "list", "ruleset"))
}

func (h *gatedHost) nft(script string) {
	h.t.Helper()
	cmd := exec.Command("nft", "-f", "-")
	cmd.Stdin = strings.NewReader(script)
	lab.Output(h.t, cmd)
}

func (h *gatedHost) write(name, content string) {
	h.t.Helper()
	lab.Write(h.t, filepath.Join(h.dir, name), content)
}
