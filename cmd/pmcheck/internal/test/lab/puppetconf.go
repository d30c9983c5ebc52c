package lab

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// packagedConfig is where the Debian package keeps Puppet Server's own
// configuration.
const packagedConfig = "/etc/puppet/puppetserver"

// writeConfig lays out Dir: puppet/puppet.conf, the packaged server
// configuration with every path moved below Dir, and empty data directories.
func (s *PuppetServer) writeConfig() {
	s.tb.Helper()
	for _, dir := range []string{"puppet", "ssl", "var", "run", "log", "server",
		"code/environments/production/manifests"} {
		Must(s.tb, os.MkdirAll(s.path(dir), 0o755))
	}
	Must(s.tb, os.CopyFS(s.path("server"), os.DirFS(filepath.Join(s.root, packagedConfig))))
	s.moveLogs("server/logback.xml")
	s.moveLogs("server/request-logging.xml")
	s.writeFile("puppet/puppet.conf", s.puppetConf())
	s.writeFile("server/conf.d/global.conf", fmt.Sprintf("global.logging-config: %q\n", s.path("server/logback.xml")))
	s.writeFile("server/conf.d/webserver.conf", s.webserverConf())
	s.writeFile("server/conf.d/puppetserver.conf", s.jrubyConf())
	s.addAccessRules()
	Output(s.tb, exec.Command("chown", "-hR", s.owner, s.Dir))
}

// puppetConf returns the content of puppet.conf. Its keys are short, since the generation
// of keys is the main reason why a first start is slower than later ones.
func (s *PuppetServer) puppetConf() string {
	return fmt.Sprintf(`[main]
certname = %[1]s
server = %[1]s
serverport = %[2]s
keylength = 2048
ssldir = %[3]s/ssl
cadir = %[3]s/ca
vardir = %[3]s/var
codedir = %[3]s/code
logdir = %[3]s/log
rundir = %[3]s/run
`, s.Certname(), Port(s.tb, s.addr), s.Dir)
}

func (s *PuppetServer) webserverConf() string {
	host, port, err := net.SplitHostPort(s.addr)
	Must(s.tb, err)
	return fmt.Sprintf(`webserver: {
    access-log-config: %q
    client-auth: want
    ssl-host: %q
    ssl-port: %s
}
`, s.path("server/request-logging.xml"), host, port)
}

func (s *PuppetServer) jrubyConf() string {
	return fmt.Sprintf(`jruby-puppet: {
    ruby-load-path: [/usr/lib/puppetserver/ruby/vendor_ruby]
    gem-home: "%[1]s/var/jruby-gems"
    gem-path: [${jruby-puppet.gem-home}, "/usr/lib/puppetserver/vendored-jruby-gems"]
    server-conf-dir: "%[1]s/puppet"
    server-code-dir: "%[1]s/code"
    server-var-dir: "%[1]s/var"
    server-run-dir: "%[1]s/run"
    server-log-dir: "%[1]s/log"
    max-active-instances: %[2]d
    %[3]s
}
`, s.Dir, s.opts.MaxActiveInstances, s.opts.JRubyConf)
}

// addAccessRules puts the caller's rules in front of the first packaged one.
func (s *PuppetServer) addAccessRules() {
	if s.opts.AccessRules == "" {
		return
	}
	const head = "rules: ["
	conf := Read(s.tb, s.path("server/conf.d/auth.conf"))
	if !strings.Contains(conf, head) {
		s.tb.Fatalf("auth.conf of the package has no %q", head)
	}
	s.writeFile("server/conf.d/auth.conf", strings.Replace(conf, head, head+"\n"+s.opts.AccessRules+",", 1))
}

func (s *PuppetServer) moveLogs(name string) {
	s.writeFile(name, strings.ReplaceAll(Read(s.tb, s.path(name)), "/var/log/puppetserver", s.path("log")))
}

func (s *PuppetServer) writeFile(name, content string) {
	s.tb.Helper()
	Write(s.tb, s.path(name), content)
}

// account returns the user and the group, as numbers, that the package has made for Puppet Server.
func (s *PuppetServer) account() string {
	s.tb.Helper()
	for line := range strings.Lines(Read(s.tb, filepath.Join(s.root, "etc/passwd"))) {
		if f := strings.Split(line, ":"); f[0] == "puppet" && len(f) > 3 {
			return f[2] + ":" + f[3]
		}
	}
	s.tb.Fatalf("%s has no user puppet (apt-get install --no-install-recommends puppetserver)", s.root)
	return ""
}
