package check

// explanations holds the text about each check, for the command line and the
// manual.
func explanations() []Explanation {
	return append(masterExplanations(), []Explanation{
		{
			Name: CheckExpiry, Title: "certificates and CRLs that will expire", Severity: Warn,
			Asks:    "How long the certificate of the master, the one pmcheck offers, each CA certificate and each CRL of the bundle last. The first to expire counts.",
			Why:     "Agents are refused the moment one of them expires, all at once and without a warning; CRLs live five years and are forgotten.",
			Because: "nothing has failed yet; and what has expired and makes the master refuse agents makes it refuse the probe, which takes it out with a reason of its own.",
			Do:      "Renew what is named: a host's certificate with puppet ssl and a restart of puppetserver, CA certificates and CRLs on the CA, then puppet ssl download_crl on each master.",
		},
		{
			Name: CheckLoaded, Title: "the certificate on disk is the one in use", Severity: Warn,
			Asks:    "Whether the certificate that the master shows on the wire is the host's certificate on disk.",
			Why:     "Puppet Server reloads a CRL by itself, but a certificate only when it starts. One that was renewed is not in use, and the old one expires though everything on disk looks well.",
			Because: "agents are served until the old certificate expires, and then the probe fails.",
			Do:      "Drain the master, restart puppetserver, make it ready again.",
		},
		{
			Name: CheckDisk, Title: "free space and free inodes", Severity: Eject,
			Asks:    "How much is free, for others than root, on the file systems of Puppet's vardir, log directory and code directory; and whether one has turned read-only.",
			Why:     "Puppet Server stores each agent's facts before it compiles. On a full disk it answers every agent with status 500, and goes on saying running.",
			Because: "every agent fails there and would be served elsewhere. Low space, and a full code directory, only warn.",
			Do:      "Make room (old reports, logs, heap dumps, environments); df -h and df -i show what is short. If the file system is read-only, dmesg says why.",
		},
		{
			Name: CheckCode, Title: "which code is deployed", Severity: Warn,
			Asks:    "The record that r10k or g10k leaves in each environment (.r10k-deploy.json, .g10k-deploy.json): commit, modules, success, times, reduced to a short ID.",
			Why:     "Masters behind one balancer that serve different code give agents changes that come and go. Monitoring can compare the IDs of the masters; a deployment that failed or does not end is told.",
			Because: "during every deployment the masters differ; taking out those that do would take out the farm.",
			Do:      "Run the deployment again by hand and read its errors. If the IDs are equal and catalogs still differ, the server has old code in memory: see environment_timeout. Where nothing leaves such a record, switch this off: checks: {code: \"off\"}.",
		},
		{
			Name: CheckPuppetDB, Title: "the database behind the master", Severity: Warn,
			Asks:    "GET /status/v1/services/puppetdb-status of PuppetDB: its state, maintenance mode, and whether it reaches the databases it reads from and writes to.",
			Why:     "Without PuppetDB catalogs with exported resources fail, and all of them do unless soft_write_failure is set. Puppet Server says running.",
			Because: "one PuppetDB is shared by all masters, so ejecting would take all of them out at once and leave agents without even those catalogs that need no database. Where each master has its own, as in Puppet Enterprise, eject is right.",
			Do:      "systemctl status puppetdb postgresql, and puppetdb.log.",
		},
		{
			Name: CheckCompile, Title: "a whole catalog", Severity: Off,
			Asks:    "GET /puppet/v3/catalog/<certname>: the master compiles the host's own catalog, rarely, one at a time, never while a balancer waits.",
			Why:     "A site.pp that does not parse, a broken module or a hanging ENC make every agent fail, and nothing but a catalog shows it.",
			Because: "a compilation occupies a JRuby like an agent's does, and code that is broken everywhere would take all masters out at once. When it is switched on, eject is meant: a master on which its own catalog fails serves nobody.",
			Do:      "puppet agent -t --noop on the host shows the same error; so does puppetserver.log.",
		},
	}...)
}

// masterExplanations are those of what takes a master out most often.
func masterExplanations() []Explanation {
	return []Explanation{
		{
			Name: CheckProbe, Title: "the question that the verdict rests on", Severity: Eject,
			Asks:    "GET /status/v1/simple/server of the master, or what its generation of Puppet has instead, over TLS with the host's own certificate, with chain, name and CRLs verified as an agent does.",
			Why:     "It finds a master that is stopped, hangs, or refuses agents in the handshake, as with an expired CRL, which a client without a certificate never notices.",
			Because: "a master that does not answer its own host answers no agent. Definite faults are confirmed once, silence counts up to probe.fall.",
			Do:      "The reason says whose affair it is: the way there, this host's files, the master, its CRL, or its auth.conf.",
		},
		{
			Name: CheckJRuby, Title: "the pool of JRuby instances", Severity: Eject,
			Asks:    "GET /status/v1/services/jruby-metrics?level=debug of the master: how many instances are ready, at work, waited for; whether the pool is locked. It needs no instance and a few milliseconds.",
			Why:     "Puppet Server says running with one instance of eight started, while all are stuck, and while the pool is locked: agents then wait for up to 20 minutes.",
			Because: "a master that is not complete yet, or from which nothing comes back, fails agents that others would serve. A busy one stays in. What older servers do not tell is unknown and changes nothing.",
			Do:      "Stuck: see what the oldest loan does, then restart puppetserver. Busy: raise max-active-instances or add a master. Warming: wait; jruby.warming_max ends it.",
		},
		{
			Name: CheckUnit, Title: "the service manager's view", Severity: Eject,
			Asks:    "systemd, over D-Bus, for the state of the master's unit; changes are told as they happen.",
			Why:     "Puppet Server says running while a stop or a reload waits for compilations to end, takes nothing new meanwhile, and then closes the port. systemd knows at once.",
			Because: "it is certain, and earlier than anything else. A unit that is active, inactive or not there says nothing, so a master that is run by other means is left to the probe.",
			Do:      "Wait for a reload or a start; drain the master before a planned one. failed: journalctl -u puppetserver.",
		},
	}
}
