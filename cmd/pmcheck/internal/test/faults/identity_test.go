package faults_test

import "strings"

const puppetConf = "/etc/puppet/puppet.conf"

// identityFaults returns mistakes in puppet.conf that pmcheck meets when it is restarted, beside a master that runs.
// None is the master's fault: all answers are 200, unless the master itself refuses agents or is stopped meanwhile.
func identityFaults() []fault {
	const look = unanswered
	edit := func(script string) func(*faultSite) {
		return func(s *faultSite) { s.editPuppetConf(script) }
	}
	faults := []fault{
		{name: "mode 0600", inject: edit("chown root:root FILE; chmod 0600 FILE"), lasts: look},
		{name: "mode 0600, and an expired CRL", inject: func(s *faultSite) {
			s.keepSSL()
			s.editPuppetConf("chown root:root FILE; chmod 0600 FILE")
			s.Puppet.ExpireCRL()
		}, mend: func(s *faultSite) {
			s.restoreSSL()
			s.restorePuppetConf()
		}, said: []string{"503 unhealthy: crl-expired"}, within: 2 * look, back: look}, // the master reloads it first
		{name: "mode 0600, and `kill -STOP`", inject: func(s *faultSite) {
			s.editPuppetConf("chown root:root FILE; chmod 0600 FILE")
			signalJVM("STOP")(s)
		}, mend: func(s *faultSite) {
			signalJVM("CONT")(s)
			s.restorePuppetConf()
		}, long: true, said: []string{"503 unhealthy: timeout"}, within: look, back: look},
		{name: "`ssldir = ${confdir}/ssl`", inject: edit("echo '[main]\nssldir = ${confdir}/ssl' >>FILE"), long: true},
		{name: "`[ agent ]`", inject: edit("echo '[ agent ]' >>FILE"), long: true},
		{name: "`ssldir = $confdir/$site`", inject: edit("sed -i '1a ssldir = $confdir/$site' FILE"), long: true},
		{name: "`ssldir = ssl`, and a new runtime directory", inject: func(s *faultSite) {
			s.editPuppetConf("sed -i '1a ssldir = ssl' FILE; systemctl stop pmcheck")
		}, long: true, gaps: true}, // systemd keeps the socket for a restart only
		{name: "a certname in capitals", inject: edit("sed -i 's/^certname = .*/certname = M1/' FILE"), long: true},
		{name: "a byte order mark", inject: edit(`sed -i '1s/^/\xef\xbb\xbf/' FILE`), long: true},
		{name: "deleted", inject: edit("rm FILE"), long: true},
	}
	for i := range faults {
		if faults[i].mend == nil {
			faults[i].mend = (*faultSite).restorePuppetConf
		}
	}
	return faults
}

// editPuppetConf keeps puppet.conf, runs a script with its path as FILE, and restarts pmcheck.
func (s *faultSite) editPuppetConf(script string) {
	script = strings.ReplaceAll(script, "FILE", puppetConf)
	s.Host.MustRun("sh", "-ec", "cp -a "+puppetConf+" /root/puppet.conf\n"+script+"\nsystemctl restart pmcheck")
}

// restorePuppetConf takes the file back. pmcheck notices by itself.
func (s *faultSite) restorePuppetConf() { s.Host.MustRun("cp", "-a", "/root/puppet.conf", puppetConf) }
