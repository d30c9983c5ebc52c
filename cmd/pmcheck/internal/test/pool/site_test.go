package pool_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

const (
	// quick and slow begin the names of agents, by which they get catalogs that
	// take 1 s and 20 s.
	quick, slow = "quick", "slow"
	// service is the name that agents know the pool by.
	service = "puppet.lab.example"
	sslDir  = "/var/lib/puppet/ssl"

	older, newer = "1.0.0", "1.0.1"
)

const sitePP = `
if $trusted['certname'] =~ /^slow/ {
  $slept = generate('/bin/sleep', '20')
} else {
  $slept = generate('/bin/sleep', '1')
}
notify { 'applied': }
`

// A shape is what the hosts of a pool run.
type shape struct {
	masters   []string // the suite of each; empty for what Network.Boot boots
	workshops []string // a host for real agents of each
	balancer  string   // of the second one, if it has a host
	port      string   // of the masters; empty for Puppet's
}

// alike is so many masters of one release.
func alike(masters int) shape {
	return shape{masters: make([]string, masters), workshops: []string{""}}
}

// A pool is two or three masters, two balancers, and hosts for real agents.
type pool struct {
	t         *testing.T // of the operation under way
	net       *lab.Network
	masters   []*lab.PuppetMaster
	workshops []*lab.Host // of the real agents
	balancers []*balancer
	host      *lab.Host          // of the second balancer; nil if it runs in net, as the first one does
	standIns  map[string][]agent // by kind
	puppets   map[string][]agent // by kind
	release   func()             // ends the requests of block
}

// startPool starts everything but the balancers.
func startPool(t *testing.T, s shape, jrubies int, largest mix) *pool {
	t.Helper()
	p := &pool{t: t, net: lab.StartNetwork(t)}
	names, known := []string{service}, ""
	for i, e := range endpoints() {
		names = append(names, e.fqdn())
		known += e.ip + " " + e.fqdn() + "\n"
		if i == 1 && s.balancer != "" {
			p.host = p.net.BootRelease(s.balancer, "balancer2")
			p.host.MustRun("ip", "address", "add", e.ip+"/15", "dev", "eth0")
		} else {
			p.addAddress(e.ip)
		}
	}
	opts := lab.PuppetMasterOptions{AltNames: names, MaxActiveInstances: jrubies, HeapMB: 400 + 100*jrubies,
		Port: s.port}
	for i, suite := range s.masters {
		host := p.net.BootRelease(suite, fmt.Sprintf("m%d", i+1))
		p.startMaster(host, opts)
		if opts.CA == nil {
			lab.DEB(t, older) // meanwhile
			p.masters[0].WaitReady(10 * time.Minute)
			opts.CA = p.masters[0]
		}
	}
	for i, suite := range s.workshops {
		p.workshops = append(p.workshops, p.net.BootRelease(suite, fmt.Sprintf("agents%d", i+1)))
	}
	for _, host := range p.workshops { // after the last boot, which writes their hosts files
		host.MustRun("sh", "-c", `printf %s "$1" >>/etc/hosts`, "sh", known)
	}
	p.addAgents(largest)
	for _, m := range p.masters[1:] {
		m.WaitReady(10 * time.Minute)
	}
	return p
}

func (p *pool) addAddress(ip string) {
	p.t.Helper()
	lab.Output(p.t, p.net.Command("ip", "address", "add", ip+"/15", "dev", "lab0"))
}

func (p *pool) startMaster(host *lab.Host, opts lab.PuppetMasterOptions) {
	m := host.StartPuppetMaster(opts)
	m.SetSitePP(sitePP)
	const environment = "/etc/puppet/code/environments/production/"
	host.WriteFile(environment+"environment.conf", "modulepath = modules\n", 0o644) // Debian's many modules cost time
	host.WriteFile(environment+"modules/lab/facts.d/lab.txt", "lab=yes\n", 0o644)
	host.WriteFile(environment+"modules/lab/lib/facter/lab.rb", "Facter.add(:lab_too) { setcode { 'yes' } }\n", 0o644)
	p.masters = append(p.masters, m)
}

func (p *pool) addAgents(largest mix) {
	p.t.Helper()
	p.standIns, p.puppets = map[string][]agent{}, map[string][]agent{}
	for kind, count := range map[string]int{quick: largest.quick, slow: largest.slow} {
		if count == 0 {
			continue
		}
		for i := range count {
			name := fmt.Sprintf("%s%d.lab.example", kind, i)
			p.standIns[kind] = append(p.standIns[kind], standIn{name, p.identity(name), p.net})
		}
		real := kind + "-real.lab.example"
		p.masters[0].IssueCert(p.workshops[0], real, nil)
		p.puppets[kind] = []agent{newPuppet(real, p.workshops[0])}
	}
}

// identity issues a certificate to the first host of real agents, and returns it.
func (p *pool) identity(certname string) *tls.Config {
	p.t.Helper()
	p.masters[0].IssueCert(p.workshops[0], certname, nil)
	read := func(name string) []byte {
		return []byte(p.workshops[0].MustRun("cat", filepath.Join(sslDir, name)))
	}
	pair, err := tls.X509KeyPair(read("certs/"+certname+".pem"), read("private_keys/"+certname+".pem"))
	lab.Must(p.t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(read("certs/ca.pem"))
	return &tls.Config{
		ServerName:   service,
		RootCAs:      roots,
		Certificates: []tls.Certificate{pair},
		CipherSuites: everySuite(),
	}
}

// everySuite returns what Go can speak: OpenSSL, in real agents, offers RSA key exchange too.
func everySuite() (ids []uint16) {
	for _, suite := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		ids = append(ids, suite.ID)
	}
	return ids
}

// sh runs a command line on a master, as an operator types it.
func (p *pool) sh(m *lab.PuppetMaster, line string) error {
	began := time.Now()
	out, err := m.Host.Run("sh", "-ec", line)
	p.t.Logf("%s %s# %s (%s)\n%s", began.Format("15:04:05"), m.Host.Name, line, tenths(time.Since(began)), out)
	return err
}

func (p *pool) with(t *testing.T) *pool {
	sub := *p
	sub.t = t
	return &sub
}
