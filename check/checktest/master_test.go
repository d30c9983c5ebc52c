package checktest_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/check/checktest"
)

// The master listens on any free port, so puppet.conf must name the real one.
func TestPuppetConfNamesThePort(t *testing.T) {
	m, err := checktest.NewMaster(t.TempDir(), "puppet1.example.test", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	_, port, err := net.SplitHostPort(m.Address())
	if err != nil {
		t.Fatal(err)
	}
	conf, err := os.ReadFile(filepath.Join(m.Dir, "puppet.conf"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "serverport = " + port + "\n"; !strings.Contains(string(conf), want) {
		t.Errorf("puppet.conf has no line %q:\n%s", want, conf)
	}
}
