package cli

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/drain"
)

// The unit runs "in-use --served" before it stops the daemon. By then the file may have an
// initial_mode that is meant for new hosts.
func TestInitialModeLeavesAMasterAloneThatHasServed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		args   []string
		served float64
		new    bool // with initial_mode: maint, afterwards
	}{
		{"served for months", []string{"in-use", "--served"}, 1e7, false},
		{"served since the package was installed in this run of Puppet", []string{"in-use", "--served"}, 300, true},
		{"never served", []string{"in-use", "--served"}, 0, true},
		{"an upgrade of a host that is held", []string{"in-use"}, 0, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			file, socket, holds := filepath.Join(dir, "pmcheck.yaml"), filepath.Join(dir, "s"), filepath.Join(dir, "holds")
			write(t, file, fmt.Sprintf("initial_mode: maint\nsocket: %s\n", socket))
			if err := os.Mkdir(holds, 0o755); err != nil {
				t.Fatal(err)
			}
			l, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				json.NewEncoder(w).Encode(api.Status{Served: tt.served})
			})}
			go server.Serve(l)
			defer server.Close()
			var out, said strings.Builder
			args := append([]string{"pmcheck"}, tt.args...)
			args = append(args, "--config", file)
			if exit := Run(args, environOf(file, socket), strings.NewReader(""), &out, &said); exit != exitOK {
				t.Fatalf("exit status %d: %s", exit, &said)
			}
			later := (&drain.Store{Persistent: holds, Initial: drain.Maint}).Read()
			if mode, _ := later.Mode("server", later.Taken()); (mode == drain.Maint) != tt.new {
				t.Errorf("the next daemon has the mode %s", mode)
			}
		})
	}
}
