package puppetclient

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

// ends is a connection between two addresses.
type ends struct {
	net.Conn
	here, there string
}

func (e ends) LocalAddr() net.Addr  { return &net.TCPAddr{IP: net.ParseIP(e.here), Port: 40000} }
func (e ends) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(e.there), Port: 8140} }

func TestOnlyAServerOnThisHostMayBeUnverifiedOrHaveAnotherName(t *testing.T) {
	for _, tt := range []struct {
		here, there string
		local       bool
	}{
		{"127.0.0.1", "127.0.0.1", true},
		{"127.0.0.1", "127.0.0.2", true},
		{"::1", "::1", true},
		{"192.0.2.11", "192.0.2.11", true},
		{"::ffff:192.0.2.11", "192.0.2.11", true},
		{"2001:db8::11", "2001:db8::11", true},
		{"192.0.2.11", "192.0.2.12", false},
		{"2001:db8::11", "2001:db8::12", false},
		{"127.0.0.1", "192.0.2.12", false},
	} {
		if got := local(ends{here: tt.here, there: tt.there}); got != tt.local {
			t.Errorf("from %s to %s: on this host %v", tt.here, tt.there, got)
		}
		server := &x509.Certificate{DNSNames: []string{"m2"}}
		for _, c := range []*Client{{Names: []string{"puppet"}}, {Guessed: true}} {
			made := &conn{Conn: ends{here: tt.here, there: tt.there}, client: c}
			if got := made.otherNames(server); (len(got) > 0) != tt.local {
				t.Errorf("from %s to %s: it may be called %q", tt.here, tt.there, got)
			}
		}
	}
	for _, tt := range []struct {
		name       string
		client     *Client
		roots      *x509.CertPool
		unverified bool
	}{
		{name: "certname and CA", client: &Client{Address: "m1:8140"}, roots: x509.NewCertPool()},
		{name: "no certname", client: &Client{Address: "m1:8140", AnyName: true}, roots: x509.NewCertPool(),
			unverified: true},
		{name: "a CA that cannot be read", client: &Client{Address: "m1:8140"}, unverified: true},
		{name: "no TLS", client: &Client{Address: "http://m1:8080"}, roots: x509.NewCertPool(), unverified: true},
	} {
		tt.client.Credentials = &Credentials{Files: Files{CA: "/ca.pem"}}
		if got := tt.client.unverified(&material{roots: tt.roots}); got != tt.unverified {
			t.Errorf("%s: unverified %v", tt.name, got)
		}
	}
}

func TestAnUnknownServerIsCalledByANameInItsCertificate(t *testing.T) {
	for _, tt := range []struct {
		cn   string
		dns  []string
		want string // empty: there is none
	}{
		{"m1.example.org", []string{"puppet", "m1.example.org"}, "m1.example.org"},
		{"m1.example.org", nil, "m1.example.org"},
		{"m1.example.org", []string{"puppet"}, "puppet"},
		{"Puppet", []string{"*.example.org"}, "puppet.example.org"},
		{"", []string{"m1"}, "m1"},
		{"", nil, ""},
	} {
		c := &x509.Certificate{Subject: pkix.Name{CommonName: tt.cn}, DNSNames: tt.dns}
		err := askByName(c)
		other, is := errors.AsType[*otherNameError](err)
		switch {
		case is != (tt.want != "") || is && other.name != tt.want:
			t.Errorf("%q, %q: %v, want %q", tt.cn, tt.dns, err, tt.want)
		case is && named(c, other.name) != nil:
			t.Errorf("%q is not a name in the certificate %q, %q", other.name, tt.cn, tt.dns)
		}
	}
}

// A name that looks like the one in the certificate is told apart.
func TestNamesThatLookAlikeAreToldApart(t *testing.T) {
	m1 := &x509.Certificate{DNSNames: []string{"m1", "puppet"}}
	for name, want := range map[string]string{
		"m1\u00a0": `is not for "m1\u00a0", but for m1, puppet`,
		"m1\u200b": `is not for "m1\u200b", but for m1, puppet`,
		"m\u0131":  `is not for "m\u0131", but for m1, puppet`,
		"m2":       "is not for m2, but for m1, puppet",
	} {
		if got := named(m1, name).Error(); !strings.HasSuffix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// An empty name must never pass for one that is not known.
func TestAnEmptyNameIsNeverVerified(t *testing.T) {
	for _, c := range []*x509.Certificate{
		{},
		{Subject: pkix.Name{CommonName: "m1"}},
		{DNSNames: []string{"m1"}},
		{DNSNames: []string{""}},
	} {
		if e, is := errors.AsType[*Error](named(c, "")); !is || e.Reason != NotVerified {
			t.Errorf("%q, %q: %v", c.Subject.CommonName, c.DNSNames, e)
		}
	}
}

// Without the CA no signature of a CRL can be verified, but its end may explain why the server refuses us.
func TestWithoutTheCAAnExpiredCRLExplainsARefusal(t *testing.T) {
	now := time.Now()
	list := func(issuer string, made, end time.Duration) *x509.RevocationList {
		name := pkix.Name{CommonName: issuer}
		return &x509.RevocationList{Issuer: name, ThisUpdate: now.Add(made), NextUpdate: now.Add(end)}
	}
	own := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "m1"},
		Issuer:    pkix.Name{CommonName: "Puppet CA"},
		NotBefore: now.Add(-time.Hour),
		NotAfter:  now.Add(time.Hour),
	}
	for _, tt := range []struct {
		name    string
		crls    []*x509.RevocationList
		expired bool
	}{
		{"none", nil, false},
		{"valid", []*x509.RevocationList{list("Puppet CA", -time.Hour, time.Hour)}, false},
		{"expired", []*x509.RevocationList{list("Puppet CA", -2*time.Hour, -time.Hour)}, true},
		{"replaced", []*x509.RevocationList{list("Puppet CA", -2*time.Hour, -time.Hour),
			list("Puppet CA", -time.Hour, time.Hour)}, false},
		{"of a former CA", []*x509.RevocationList{list("Puppet CA", -time.Hour, time.Hour),
			list("Old CA", -2*time.Hour, -time.Hour)}, false},
	} {
		m := &material{own: tls.Certificate{Leaf: own}, crls: tt.crls}
		doubt, fault := m.verifyOwn(now)
		if e, is := errors.AsType[*Error](doubt); fault != nil || is != tt.expired || is && e.Reason != CRLExpired {
			t.Errorf("%s: %v, %v", tt.name, doubt, fault)
		}
		if _, fault := m.verifyServer([]*x509.Certificate{own}, expected{name: "m1"}, now); fault != nil {
			t.Errorf("%s: the server is at fault: %v", tt.name, fault)
		}
	}
}
