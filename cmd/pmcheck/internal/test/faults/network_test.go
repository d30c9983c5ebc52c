//go:build linux

package faults_test

import (
	"net/http"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// balancer is the address from which HAProxy asks.
const balancer = lab.BridgeAddress

// assertServing is a shell command that fails on a host whose pmcheck does not serve.
const assertServing = `test "$(curl --silent --max-time 2 http://localhost:9200/)" = "Puppet Server is running."
`

// sh returns a function that runs a script on the host.
func sh(script string) func(*faultSite) {
	return func(s *faultSite) {
		s.t.Helper()
		if _, err := s.Host.Run("sh", "-ec", script); err != nil {
			s.t.Fatal(err)
		}
	}
}

// networkFaults returns faults of the network between balancer and host, and of the host's
// own interfaces and routes. Where a balancer cannot reach pmcheck, pmcheck itself still
// serves.
func networkFaults() []fault {
	const unheard = 4 * time.Second // the test's own client gives up after 2 s
	// With probes every second, the loss of the loopback interface is seen well within the bound.
	quick := hostConfig + "probe: {interval: 1s, timeout: 900ms}\n"
	return []fault{
		{
			name:    "balancer cut off: answers are lost on the way",
			said:    []string{lab.NoAnswer},
			haproxy: "DOWN",
			within:  unheard,
			inject:  sh("ip route add blackhole " + balancer),
			mend:    sh(assertServing + "ip route del blackhole " + balancer),
		},
		{name: "interface down", said: []string{lab.NoAnswer}, haproxy: "DOWN", within: unheard, long: true,
			inject: sh("ip link set eth0 down"), mend: sh(assertServing + "ip link set eth0 up")},
		{
			name:    "loopback down: the master cannot be probed (`probe.interval: 1s`)",
			long:    true,
			said:    []string{"503 unhealthy: timeout", "503 unhealthy: unreachable"},
			haproxy: "DOWN",
			within:  unheard,
			inject:  func(s *faultSite) { configure(quick)(s); sh("ip link set lo down")(s) },
			mend:    func(s *faultSite) { sh("ip link set lo up")(s); configure(hostConfig)(s) },
		},
		{name: "connection to the master reset (`ss -K`), ten times", long: true, inject: sh(`
for i in 1 2 3 4 5 6 7 8 9 10; do
    timeout 5 sh -c 'until ss --no-header --kill --tcp dst 127.0.0.1 dport = 8140 | grep -q .; do sleep 0.05; done'
    sleep 1
done`)},
		{name: "MTU of 576", long: true, inject: sh("ip link set eth0 mtu 576"), mend: sh("ip link set eth0 mtu 1500")},
		{name: "resolver dead, and no name in /etc/hosts", lasts: handshake + 6*time.Second, mend: sh(`
cat /root/hosts >/etc/hosts
cat /root/resolv.conf >/etc/resolv.conf`), inject: sh(`
cp /etc/hosts /etc/resolv.conf /root
: >/etc/hosts
echo nameserver 198.18.255.53 >/etc/resolv.conf`)},
		{name: "PostgreSQL behind PuppetDB stopped: `/puppetdb` says 503", inject: stopPuppetDB,
			mend: func(s *faultSite) { sh("systemctl stop puppetdb")(s); configure(hostConfig)(s) }},
	}
}

// stopPuppetDB starts a PuppetDB, and stops its database when pmcheck reports it as healthy.
func stopPuppetDB(s *faultSite) {
	s.t.Helper()
	database := s.Host.StartPuppetDB()
	configure(hostConfig + "puppetdb: {address: \"" + s.Host.FQDN() + ":8081\"}\n")(s)
	s.WaitAnswerTo("/puppetdb", http.StatusOK, lab.ServingBody, 5*time.Minute)
	s.Host.MustRun("systemctl", "stop", database)
	s.WaitAnswerTo("/puppetdb", http.StatusServiceUnavailable, "unhealthy: puppetdb-down", time.Minute)
}

const (
	hostIPv6     = "fd00:198::2"
	balancerIPv6 = "fd00:198::1"
)

// runIPv6 removes the IPv4 address of a host whose balancer asks over IPv6.
func (s *faultSite) runIPv6() {
	s.t.Helper()
	s.Host.MustRun("ip", "address", "add", hostIPv6+"/64", "dev", "eth0", "nodad")
	add := s.Net.Command("ip", "address", "add", balancerIPv6+"/64", "dev", "lab0", "nodad")
	if out, err := add.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	other := s.with(s.t)
	other.Listen = "[" + hostIPv6 + "]:9200"
	other.Balance(strings.ReplaceAll(balancerConfig, "MASTER", "["+hostIPv6+"]:8140"))
	other.run(fault{
		area:   "network",
		name:   "IPv6 only",
		lasts:  handshake + 6*time.Second,
		inject: sh("ip -4 address flush dev eth0"),
		mend:   sh("ip address add " + s.Host.Address + "/15 dev eth0"),
	})
	other.HAProxy.Stop()
}
