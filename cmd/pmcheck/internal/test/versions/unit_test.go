package versions_test

import (
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// reloads is a service as OpenVox Server 9 is one: it says itself when it has been reloaded. It takes its time,
// and is not Puppet Server: the probe is refused, and the unit explains why.
const (
	reloads = `[Service]
Type=notify-reload
NotifyAccess=all
ExecStart=/usr/local/bin/reloads
`
	reloadsScript = `#!/bin/bash
trap 'systemd-notify --reloading; sleep 3; systemd-notify --ready' HUP
sleep 3
systemd-notify --ready
while :; do
	sleep 1 &
	wait
done
`
)

// TestServiceThatSaysWhenItHasReloaded: Type=notify-reload has sub-states of its own, reload-signal and
// reload-notify.
func TestServiceThatSaysWhenItHasReloaded(t *testing.T) {
	lab.Real(t)
	host := lab.StartNetwork(t).BootRelease("trixie", "trixie")
	site := lab.NewSite(t, lab.SiteOptions{Host: host, YAML: "unit: {names: [reloads]}\n"})
	host.WriteFile("/usr/local/bin/reloads", reloadsScript, 0o755)
	host.WriteFile("/etc/systemd/system/reloads.service", reloads, 0o644)
	host.MustRun("systemctl", "daemon-reload")
	site.Install(lab.DEB(t, ""))
	for _, step := range []struct {
		verb string   // of systemctl
		says []string // by and by
	}{
		{"start", []string{"warming: unit-starting", "unhealthy: refused"}},
		{"reload", []string{"warming: unit-reloading", "unhealthy: refused"}},
	} {
		host.MustRun("systemctl", step.verb, "--no-block", "reloads")
		for _, says := range step.says {
			t.Logf("measured: systemctl %s, %s: %v", step.verb, says, site.WaitRefusal(says, slow))
		}
	}
}
