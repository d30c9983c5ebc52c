package faults_test

import (
	"io"
	"net"
	"net/http"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// sh returns a function that runs a script on the host.
func sh(script string) func(*faultSite) {
	return func(s *faultSite) {
		s.t.Helper()
		_, err := s.Host.Run("sh", "-ec", script)
		lab.Must(s.t, err)
	}
}

// hostFaults returns faults of the host: its disks, its own services, the names and programs that it knows.
func hostFaults() []fault {
	const vardir = "/var/lib/puppetserver"
	look := 18 * time.Second // free space is read every 15 s, and the script takes a while
	return []fault{
		{
			name:   "disk full (`vardir`)",
			said:   []string{"503 unhealthy: disk-full"},
			within: look,
			back:   look,
			inject: sh(`
cp -a ` + vardir + ` /root/copy
mount -t tmpfs -o size=80m,mode=755 tmpfs ` + vardir + `
cp -a /root/copy/. ` + vardir + `
! dd if=/dev/zero of=` + vardir + `/filler bs=1M status=none`),
			mend: sh("umount --lazy " + vardir),
		},
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
		{name: "resolver dead, and no name in /etc/hosts", lasts: 36 * time.Second, long: true, mend: sh(`
cat /root/hosts >/etc/hosts
cat /root/resolv.conf >/etc/resolv.conf`), inject: sh(`
cp /etc/hosts /etc/resolv.conf /root
: >/etc/hosts
echo nameserver 198.18.255.53 >/etc/resolv.conf`)},
		{name: "PostgreSQL behind PuppetDB stopped: `/puppetdb` says 503", long: true, inject: stopPuppetDB,
			mend: func(s *faultSite) { sh("systemctl stop puppetdb")(s); s.configure("") }},
	}
}

// stopPuppetDB starts a PuppetDB, and stops its database when pmcheck reports it as healthy.
func stopPuppetDB(s *faultSite) {
	s.t.Helper()
	database := s.Host.StartPuppetDB()
	s.configure("puppetdb: {address: \"" + s.Host.FQDN() + ":8081\"}\n")
	s.WaitAnswerTo("/puppetdb", http.StatusOK, lab.ServingBody, 5*time.Minute)
	s.Host.MustRun("systemctl", "stop", database)
	s.WaitAnswerTo("/puppetdb", http.StatusServiceUnavailable, "unhealthy: puppetdb-down", time.Minute)
}

// pmcheckFaults returns faults of pmcheck itself, its clients, holds and configuration.
func pmcheckFaults() []fault {
	const (
		holds  = "/var/lib/pmcheck/holds"
		dropIn = "/run/systemd/system/pmcheck.service.d"
	)
	maint := []string{"503 maint"}
	var leave func()
	return []fault{
		{name: "2000 connections with half a request", inject: func(s *faultSite) { leave = s.crowd(2000) },
			mend: func(*faultSite) { leave() }},
		{name: "64 descriptors for pmcheck, 100 connections", lasts: 4 * time.Second, inject: func(s *faultSite) {
			sh("mkdir -p " + dropIn + `
printf '[Service]\nLimitNOFILE=64\n' >` + dropIn + `/limit.conf
systemctl daemon-reload
systemctl restart pmcheck`)(s)
			leave = s.crowd(100)
		}, mend: func(s *faultSite) {
			leave()
			sh("rm -r " + dropIn + "; systemctl daemon-reload; systemctl restart pmcheck")(s)
		}},
		{
			name:  "configuration with a typo, restarted: the last good one",
			lasts: 4 * time.Second,
			inject: func(s *faultSite) {
				s.Host.WriteFile(config.DefaultFile, "lisen: \":9200\"\n", 0o644)
				s.Host.MustRun("systemctl", "restart", "pmcheck")
			},
			mend: func(s *faultSite) { s.configure("") },
		},
		{name: "half a hold", inject: sh(`printf '{"mode": "dr' >` + holds + `/torn.json`),
			mend: sh("pmcheck ready --hold torn"), said: maint, within: 3 * time.Second},
		// Holds that are out of sight hold as they did when they were read last: there was none.
		{name: "a file system mounted over the holds",
			inject: sh("mount -t tmpfs -o mode=755 tmpfs " + holds), mend: sh("umount " + holds), lasts: 3 * time.Second},
	}
}

// killFaults returns the fault for a balancer with the check intervals of README.md: after a crash, pmcheck does not
// answer for half a second.
func killFaults() []fault {
	return []fault{{
		name:   "killed (`kill -9`)",
		gaps:   true,
		lasts:  4 * time.Second,
		inject: sh("systemctl kill --signal=KILL pmcheck"),
	}}
}

// clientAddress is the address of many clients. It is not the balancer's.
const clientAddress = "198.19.0.1"

// crowd makes connections to pmcheck that send half a request and stay open until leave is called.
func (s *faultSite) crowd(size int) (leave func()) {
	s.t.Helper()
	var conns []net.Conn
	leave = func() {
		for _, conn := range conns {
			conn.Close()
		}
	}
	s.t.Cleanup(leave)
	dialer := net.Dialer{Timeout: 5 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(clientAddress)}}
	for range size {
		conn, err := s.Net.Dial(s.t.Context(), dialer, "tcp", s.Host.Address+":9200")
		if err != nil {
			s.t.Fatalf("connection %d: %v", len(conns), err)
		}
		conns = append(conns, conn)
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nX-Slow: "); err != nil {
			s.t.Logf("connection %d: %v", len(conns), err)
		}
	}
	return leave
}
