package systemd_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/systemd"
)

// The guard asks while the host shuts down, so without a bus the calls must fail quickly.
func TestAskWithoutBusFailsQuickly(t *testing.T) {
	t.Setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path="+filepath.Join(t.TempDir(), "bus"))
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s, err := systemd.AskService(ctx, "no-such.service"); err == nil && (s.MainPID != 0 || s.Job != "") {
		t.Errorf("a service that does not exist: %+v", s)
	} else if err != nil && !strings.HasPrefix(err.Error(), "ask systemd about no-such.service: ") {
		t.Error(err)
	}
	if stops, err := systemd.HostStops(ctx); stops {
		t.Errorf("the host stops: %v", err)
	}
	if ctx.Err() != nil {
		t.Error("the calls took longer than a second")
	}
}

func TestServiceUnitAddsTheSuffixOnce(t *testing.T) {
	for _, name := range []string{"puppetserver", "puppetserver.service"} {
		if got := systemd.ServiceUnit(name); got != "puppetserver.service" {
			t.Errorf("%s: %s", name, got)
		}
	}
}
