//go:build linux

package faults_test

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

const (
	// handshake is how long pmcheck keeps a connection while something is wrong.
	handshake  = 30 * time.Second
	hostConfig = "status_allow: [198.18.0.0/15]\n"
)

// patientConfig has the health check of README.md, whose fall 3 outlasts short faults.
const patientConfig = `
defaults
    mode tcp
    timeout connect 5s
    timeout client 30m
    timeout server 30m
backend puppet
    option httpchk GET /
    http-check send-state
    default-server check port 9200 inter 2s fall 3 rise 2
    server m1 MASTER
`

// state is the directory in which pmcheck keeps the directory of holds.
const state = "/var/lib/pmcheck"

// startHostSite starts a site whose holds are on a small file system. Its mounts are shared,
// as on an ordinary host and unlike other hosts of the lab, so that a running service sees
// file systems that are mounted later.
func startHostSite(t *testing.T, all *table) *faultSite {
	t.Helper()
	s := startSite(t, all, lab.PuppetMasterOptions{}, hostConfig)
	s.Host.MustRun("sh", "-ec", `
mount --make-rshared /
mount -t tmpfs -o size=256k,mode=755 tmpfs `+state+`
mkdir `+state+`/holds
systemctl restart pmcheck`)
	if out, err := s.Net.Command("ip", "address", "add", clientAddress+"/15", "dev", "lab0").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return s
}

// patient returns the same site with the health check from README.md.
func (s *faultSite) patient() *faultSite {
	s.t.Helper()
	other := s.with(s.t)
	other.Balance(patientConfig)
	return other
}

// runAll runs the faults of an area.
func (s *faultSite) runAll(area string, faults []fault) {
	s.t.Helper()
	for _, f := range faults {
		f.area = area
		s.run(f)
	}
}

// configure writes a configuration and reloads pmcheck.
func configure(yaml string) func(*faultSite) {
	return func(s *faultSite) {
		s.t.Helper()
		s.Host.WriteFile(config.DefaultFile, yaml, 0o644)
		s.Host.MustRun("systemctl", "reload", "pmcheck")
	}
}

// hostFaults returns faults of disks, CPUs, memory and the system's own services.
func hostFaults() []fault {
	const (
		full    = "503 unhealthy: disk-full"
		vardir  = "/var/lib/puppetserver"
		codedir = "/etc/puppet/code"
	)
	look := 18 * time.Second // free space is read every 15 s, and the script takes a while
	faults := []fault{
		{
			name:    "disk full (`vardir`)",
			said:    []string{full},
			haproxy: "DOWN",
			within:  look,
			back:    look,
			inject:  mounted(vardir, "size=80m", "! dd if=/dev/zero of=filler bs=1M status=none"),
			mend:    unmount(vardir),
		},
		{
			name:    "disk read-only (`vardir`)",
			said:    []string{full},
			haproxy: "DOWN",
			within:  look,
			back:    look,
			long:    true,
			inject:  mounted(vardir, "size=80m", "mount -o remount,ro "+vardir),
			mend:    unmount(vardir),
		},
		{
			name:    "no inodes left (`vardir`)",
			said:    []string{full},
			haproxy: "DOWN",
			within:  look,
			back:    look,
			long:    true,
			inject:  mounted(vardir, "size=80m,nr_inodes=2000", "! (seq 3000 | xargs touch) 2>/dev/null"),
			mend:    unmount(vardir),
		},
		{name: "disk of the code full: `disk-full` as a warning", lasts: look, long: true,
			inject: mounted(codedir, "size=80m", "! dd if=/dev/zero of=filler bs=1M status=none"),
			mend: func(s *faultSite) {
				sh("pmcheck status | tr -s '\\n ' ' ' | grep -q 'disk-full:.*" + codedir + "'")(s)
				unmount(codedir)(s)
			}},
		{name: "no room for holds: `pmcheck drain` says so", mend: sh("rm " + state + "/filler"), inject: sh(`
! dd if=/dev/zero of=` + state + `/filler bs=4k status=none
! said=$(pmcheck drain --force 2>&1)
echo "$said" | grep -q 'no space left on device'`)},
		{
			name: "`/run` full: `pmcheck drain --until-reboot` says so",
			long: true,
			mend: sh("rm /run/filler; mount -o remount,size=1g /run"),
			inject: sh(`
mount -o remount,size=$(($(df --output=used /run | tail -n 1) + 4))k /run
! dd if=/dev/zero of=/run/filler bs=4k status=none
! said=$(pmcheck drain --force --until-reboot 2>&1)
echo "$said" | grep -q 'no space left on device'`),
		},
		{name: "every core busy, twice", long: true, inject: sh(`
for i in $(seq $((2 * $(nproc)))); do
    timeout 8 sh -c 'while :; do :; done' &
done
wait || true`)},
		{
			name:   "2000 processes more",
			long:   true,
			inject: sh("for i in $(seq 2000); do sleep 8 & done"),
			lasts:  8 * time.Second,
		},
		{name: "64 descriptors for pmcheck, 100 connections", lasts: 4 * time.Second,
			inject: limited("echo LimitNOFILE=64", 100), mend: unlimit},
	}
	return append(faults, serviceFaults()...)
}

// serviceFaults returns faults of systemd, D-Bus and journald.
func serviceFaults() []fault {
	return []fault{
		{name: "`systemctl daemon-reexec`", inject: sh("systemctl daemon-reexec")},
		{
			name:   "D-Bus stopped and started",
			long:   true,
			inject: sh("systemctl stop dbus.socket dbus.service"),
			mend: sh(`
systemctl start dbus.socket dbus.service
timeout 10 sh -c 'until pmcheck status | grep -q "unit  *ok"; do sleep 0.1; done'`),
		},
		{name: "D-Bus hangs (`kill -STOP`)", lasts: 5 * time.Second, long: true,
			inject: sh("systemctl kill --signal=STOP dbus.service"), mend: sh("systemctl kill --signal=CONT dbus.service")},
		{name: "journald hangs (`kill -STOP`), its socket full", long: true, inject: sh(`
systemctl kill --signal=STOP systemd-journald
timeout 20 sh -c 'while printf "MESSAGE=filler\n" | timeout 1 logger --journald; do :; done'`)},
		{
			name:    "a drain while journald hangs",
			said:    []string{"503 drain"},
			haproxy: "NOLB",
			within:  2 * time.Second,
			long:    true,
			inject:  sh("pmcheck drain --force"),
			mend:    sh("pmcheck ready"),
		},
		{name: "journald continues (`kill -CONT`)", long: true, inject: sh("systemctl kill --signal=CONT systemd-journald")},
		{name: "journald killed", long: true, inject: sh("systemctl kill --signal=KILL systemd-journald")},
	}
}

// powerFaults returns faults that must come last: they undo the mounts.
func powerFaults() []fault {
	return []fault{
		{
			name:    "shut down: the guard drains first",
			said:    []string{"503 drain"},
			haproxy: "NOLB",
			within:  leaveTime,
			back:    4 * time.Minute,
			long:    true,
			inject:  sh("systemctl --no-block poweroff"),
			mend: func(s *faultSite) {
				s.Host.Poweroff() // waits until the host is off
				s.Host.PowerOn()
			},
		},
		{
			name:    "power cut",
			said:    []string{lab.NoAnswer},
			haproxy: "DOWN",
			within:  4 * time.Second,
			back:    4 * time.Minute,
			long:    true,
			inject:  func(s *faultSite) { s.Host.Crash() },
			mend:    func(s *faultSite) { s.Host.PowerOn() },
		},
	}
}

// mounted returns a function that mounts a small file system over a directory, copies what the
// directory had into it, and runs a script there.
func mounted(dir, options, script string) func(*faultSite) {
	return sh(`
rm -rf /root/copy
cp -a ` + dir + ` /root/copy
mount -t tmpfs -o ` + options + `,mode=755 tmpfs ` + dir + `
cp -a /root/copy/. ` + dir + `
cd ` + dir + `
` + script)
}

func unmount(dir string) func(*faultSite) { return sh("umount --lazy " + dir) }

// limited returns a function that restarts pmcheck with the limit that a script prints, and
// connects enough clients to reach it.
func limited(script string, clients int) func(*faultSite) {
	return func(s *faultSite) {
		s.t.Helper()
		sh(`
limit=$(` + script + `)
mkdir -p /run/systemd/system/pmcheck.service.d
printf '[Service]\n%s\n' "$limit" >/run/systemd/system/pmcheck.service.d/limit.conf
systemctl daemon-reload
systemctl restart pmcheck`)(s)
		s.connectMany(clients, "GET / HTTP/1.1\r\nX-Slow: ")
	}
}

// unlimit removes the limit that limited has set.
func unlimit(s *faultSite) {
	s.t.Helper()
	sh(`
rm -r /run/systemd/system/pmcheck.service.d
systemctl daemon-reload
systemctl restart pmcheck`)(s)
}

// runHostFaults runs the faults of a host, of pmcheck and of its clients.
func (s *faultSite) runHostFaults() {
	s.t.Helper()
	s.runAll("network", networkFaults())
	s.runIPv6()
	s.runAll("clients", clientFaults())
	s.runAll("host", hostFaults())
	s.patient().runAll("pmcheck", killFaults())
	s.runAll("pmcheck", pmcheckFaults())
	s.runAll("host", powerFaults())
}
