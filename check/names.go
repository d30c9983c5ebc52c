package check

// The names of the checks beside the probe, as they appear in configuration,
// status and metrics.
const (
	CheckJRuby    = "jruby"    // the pool of JRuby instances
	CheckUnit     = "unit"     // the service manager's view
	CheckExpiry   = "expiry"   // certificates and CRLs
	CheckLoaded   = "loaded"   // the certificate on disk is the one in use
	CheckDisk     = "disk"     // free space
	CheckCode     = "code"     // which code is deployed
	CheckPuppetDB = "puppetdb" // the database behind the master
	CheckCompile  = "compile"  // a whole catalog
)
