package e2e_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// runAgent runs a real agent, which has a CRL of its own, and returns why it gets no catalog.
func runAgent(t *testing.T, s *lab.PuppetServer, crl string) error {
	t.Helper()
	own := t.TempDir()
	files := s.CertFiles(agentName)
	for name, content := range map[string]string{
		"hosts":                                  "127.0.0.1 localhost " + s.Certname() + "\n",
		"ssl/certs/ca.pem":                       lab.Read(t, files.CA),
		"ssl/certs/" + agentName + ".pem":        lab.Read(t, files.Certificate),
		"ssl/private_keys/" + agentName + ".pem": lab.Read(t, files.Key),
		"ssl/crl.pem":                            crl,
	} {
		lab.Write(t, filepath.Join(own, name), content)
	}
	_, port, err := net.SplitHostPort(s.Address())
	lab.Must(t, err)
	out, err := exec.Command("unshare", "--mount", "sh", "-c", `mount --bind "$0/hosts" /etc/hosts && exec "$@"`, own,
		lab.Need(t, "puppet", "puppet-agent"), "agent", "--test", "--color=false", "--certname="+agentName,
		"--server="+s.Certname(), "--serverport="+port, "--confdir="+own+"/conf", "--vardir="+own+"/var",
		"--ssldir="+own+"/ssl").CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 2 {
		err = nil // it has changed something
	}
	if err != nil || !strings.Contains(string(out), "Applied catalog") {
		return fmt.Errorf("puppet agent: %w: %s", err, out)
	}
	return nil
}

// webserverFiles returns settings of webserver.conf. Without crl, they are those of a compile master of the Foreman's
// module.
func webserverFiles(files puppetclient.Files, crl bool) string {
	settings := fmt.Sprintf("ssl-cert: %q, ssl-key: %q, ssl-ca-cert: %q", files.Certificate, files.Key, files.CA)
	if crl {
		settings += fmt.Sprintf(", ssl-crl-path: %q", files.CRL)
	}
	return settings
}

// testOwnLists: hostcrl ends. A master that does not use it serves agents, and one that has loaded it serves none.
func testOwnLists(t *testing.T, s *lab.PuppetServer) {
	files := s.CertFiles(s.Certname())
	fresh := lab.Read(t, files.CRL)
	r := lab.StartSite(t, lab.SiteOptions{Server: s})
	startAnew(t, s, webserverFiles(files, false))
	r.WaitVerdict("healthy: ok", startTime)
	answers := r.Record(5 * time.Millisecond)
	s.ExpireCRL()
	t.Cleanup(s.RenewCRL)
	took := r.WaitFinding(check.CheckExpiry, puppetclient.CRLExpired, 20*time.Second)
	lab.Must(t, runAgent(t, s, fresh))
	answers.Stop().AssertOnly("200 Puppet Server is running.")
	t.Logf("measured: no ssl-crl-path: %v, %s: %s", took, r.Answer(), lab.Finding(r.Status(), check.CheckExpiry).Detail)

	startAnew(t, s, webserverFiles(files, true))
	r.WaitRefusal("unhealthy: crl-expired", startTime)
	err := runAgent(t, s, fresh)
	if err == nil {
		t.Error("an agent is served by a master with an expired CRL")
	}
	t.Logf("measured: ssl-crl-path: %s; %.200v", r.Answer(), err)

	s.RenewCRL()
	r.WaitServing(20 * time.Second)
	lab.Must(t, runAgent(t, s, fresh))
	startAnew(t, s, "")
	r.WaitVerdict("healthy: ok", startTime)
}

// testCertificatesOfOtherCAs: some have negative serial numbers, or names that Go does not parse.
func testCertificatesOfOtherCAs(t *testing.T, s *lab.PuppetServer) {
	files := s.CertFiles(s.Certname())
	was := lab.Read(t, files.Certificate)
	crl := lab.Read(t, files.CRL)
	r := lab.StartSite(t, lab.SiteOptions{Server: s})
	for _, tt := range []struct{ serial, names, want string }{
		{"-5", "DNS:" + s.Certname(), "healthy: ok"},
		{"1000", "DNS:" + s.Certname() + ",URI:http://a b/", "unknown: server-certificate-unreadable"},
	} {
		request := filepath.Join(t.TempDir(), "request.pem")
		openssl := lab.Need(t, "openssl", "openssl")
		lab.Output(t, exec.Command(openssl, "req", "-new", "-key", files.Key, "-subj", "/CN="+s.Certname(),
			"-addext", "subjectAltName="+tt.names, "-out", request))
		lab.Output(t, exec.Command(openssl, "x509", "-req", "-in", request, "-CA", s.Dir+"/ca/ca_crt.pem",
			"-CAkey", s.Dir+"/ca/ca_key.pem", "-set_serial", tt.serial, "-copy_extensions", "copy", "-days", "30",
			"-out", files.Certificate))
		startAnew(t, s, "")
		if strings.HasPrefix(tt.want, "healthy") {
			r.WaitVerdict(tt.want, startTime)
		} else {
			r.WaitRefusal(tt.want, startTime)
		}
		lab.Must(t, runAgent(t, s, crl))
		t.Logf("measured: serial %s, %s: %s: %s", tt.serial, tt.names, r.Answer(), r.Status().Services[0].Verdict.Detail)
	}
	lab.Must(t, os.WriteFile(files.Certificate, []byte(was), 0o640))
	startAnew(t, s, "")
	r.WaitVerdict("healthy: ok", startTime)
}

// testRequiresCertificate: with client-auth: need, a master tells a client without a certificate nothing but that.
func testRequiresCertificate(t *testing.T, s *lab.PuppetServer) {
	conf := filepath.Join(s.Dir, "server/conf.d/webserver.conf")
	was := lab.Read(t, conf)
	lab.Write(t, conf, strings.Replace(was, "client-auth: want", "client-auth: need", 1))
	files := s.CertFiles(s.Certname())
	key := files.Key
	r := lab.StartSite(t, lab.SiteOptions{Server: s})
	for _, version := range []string{"TLSv1.2", "TLSv1.3"} {
		startAnew(t, s, "ssl-protocols: ["+version+"]")
		r.WaitVerdict("healthy: ok", startTime)

		lab.Must(t, os.Rename(key, key+".away"))
		r.Stop()
		r.Start()
		r.WaitVerdict("healthy: ok", 20*time.Second)
		r.WaitFinding(check.CheckJRuby, puppetclient.CertificateRequired, 10*time.Second)
		r.WaitFinding(check.CheckExpiry, puppetclient.OwnFilesMissing, 10*time.Second)
		t.Logf("measured: %s: %s: %s", version, r.Answer(), lab.Finding(r.Status(), check.CheckJRuby).Detail)

		// Without the CA, which is a second doubt, the same refusal may be that of any server.
		lab.Must(t, os.Rename(files.CA, files.CA+".away"))
		r.Stop()
		r.Start()
		r.WaitRefusal("unknown: own-files-missing", 20*time.Second)
		lab.Must(t, os.Rename(files.CA+".away", files.CA))
		r.WaitServing(20 * time.Second)

		s.Kill()
		r.WaitRefusal("unhealthy: refused", 10*time.Second) // there is no connection that could end
		lab.Must(t, os.Rename(key+".away", key))
	}
	lab.Write(t, conf, was)
	startAnew(t, s, "")
}
