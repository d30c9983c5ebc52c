//go:build linux

package faults_test

import (
	"math/rand/v2"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

const holds = state + "/holds"

// pmcheckFaults returns faults of pmcheck itself, its holds and its configuration.
func pmcheckFaults() []fault {
	faults := []fault{
		{
			name:    "stopped (`kill -STOP`)",
			said:    []string{lab.NoAnswer},
			haproxy: "DOWN",
			within:  4 * time.Second,
			back:    20 * time.Second,
			long:    true,
			inject:  sh("systemctl kill --signal=STOP pmcheck"),
		},
		{name: "a second daemon by hand: refuses", long: true, inject: sh(`
! said=$(timeout 5 pmcheck serve 2>&1)
echo "$said" | grep -q 'address already in use (another pmcheck'`)},
		{
			name: "configuration with a typo, reloaded: the old one stays",
			long: true,
			mend: configure(hostConfig),
			inject: func(s *faultSite) {
				s.Host.WriteFile(config.DefaultFile, hostConfig+"lisen: \":9200\"\n", 0o644)
				sh(`if systemctl reload pmcheck; then exit 1; fi
timeout 5 sh -c 'until journalctl -q -u pmcheck | grep -q lisen; do sleep 0.1; done'`)(s)
			},
		},
		{
			name:  "configuration with a typo, restarted: the last good one",
			lasts: 4 * time.Second,
			inject: func(s *faultSite) {
				s.Host.WriteFile(config.DefaultFile, "lisen: \":9200\"\n", 0o644)
				s.Host.MustRun("systemctl", "restart", "pmcheck")
			},
			mend: configure(hostConfig),
		},
		{
			name:   "configuration deleted, restarted: the defaults",
			long:   true,
			inject: sh("rm " + config.DefaultFile + "; systemctl restart pmcheck"),
			mend:   configure(hostConfig),
		},
		{name: "program deleted", long: true, inject: sh("mv /usr/bin/pmcheck /root"), mend: sh("mv /root/pmcheck /usr/bin")},
	}
	return append(faults, directoryFaults()...)
}

// directoryFaults returns faults of a hold and of the directory of holds. The last one unmounts the file
// system that it is on.
func directoryFaults() []fault {
	again := sh("pmcheck ready; systemctl reload pmcheck")
	faults := []fault{
		{
			name:   "half a hold",
			inject: sh(`printf '{"mode": "dr' >` + holds + `/torn.json`),
			mend:   sh("pmcheck ready --hold torn"),
		},
		{
			name:   "directory of holds replaced",
			inject: sh("cd " + state + "; mv holds was; mkdir holds"),
			mend:   sh("systemctl reload pmcheck"),
		},
		{
			name:   "directory of holds deleted",
			inject: sh("rm -r " + holds),
			mend:   again,
			long:   true,
		},
		{
			name:   "a file system mounted over the holds", // for which the kernel sends no event
			inject: sh("mount -t tmpfs -o mode=755 tmpfs " + holds),
			mend:   sh("umount " + holds),
		},
		{
			name:   "file system of the holds unmounted",
			inject: sh("umount --lazy " + state),
			mend:   again,
			long:   true,
		},
	}
	return heldOut(faults)
}

// heldOut adds the expected answer to faults that count as maint.
func heldOut(faults []fault) []fault {
	for i := range faults {
		faults[i].said, faults[i].haproxy, faults[i].within = []string{"503 maint"}, "DOWN", 3*time.Second
	}
	return faults
}

// memory prints a limit for pmcheck's current memory plus 64 MiB.
const memory = `
pid=$(systemctl show --property=MainPID --value pmcheck)
awk '/VmSize/ { printf "LimitAS=%dK", $2 + 65536 }' "/proc/$pid/status"`

// killFaults returns faults for a balancer with the check intervals of README.md: after a
// crash, pmcheck does not answer for half a second.
func killFaults() []fault {
	kill := func(s *faultSite) { s.Host.MustRun("systemctl", "kill", "--signal=KILL", "pmcheck") }
	return []fault{
		{name: "killed (`kill -9`)", gaps: true, inject: kill, lasts: 4 * time.Second},
		{name: "killed twenty times", gaps: true, long: true, lasts: 4 * time.Second, inject: func(s *faultSite) {
			for range 20 {
				kill(s)
				// HAProxy needs three failed checks: never kill twice in that time.
				lab.Pause(s.t, 4*time.Second+time.Duration(rand.Int64N(int64(time.Second))))
			}
		}},
		{name: "64 MiB of memory to spare (`LimitAS=`), 1000 connections", gaps: true, long: true, lasts: 8 * time.Second,
			inject: limited(memory, 1000), mend: unlimit},
	}
}
