package leave

import "time"

// What is not known is a blocker of the kind blocker.Unknown, and keeps the master until its end: never for want of a
// list, and never for ever. Blocker.Until says when that is. These are the ends, for a command and for a stop:
//
//	not known                      a command                  a stop
//	daemon, in the first moments   daemonTime                 daemonTime
//	daemon, it runs and is silent  refused; once held: lasts  30 s, see status.Unattended
//	daemon, there is no process    at once; --wait: 30 s      30 s, see status.Unattended
//	the master, no probe has ended 15 s: then it may serve     15 s: then it may serve
//	its balancers, it is young     status.HeardAll            status.HeardUsual
//	daemon, the hold is firm       at once                    at once: nothing that it says would change
//	database of the budget         refused                    databaseTime, then the fleet is asked
//	fleet, each view shows servers muteTime                   muteTime
//	fleet, else                    as long as it lasts        its turn
//	a balancer that is forgotten,  as long as it lasts        its turn
//	or that cannot be read
//	perhaps a balancer             balancer.TellTimes, or until it is silent
//
// As long as it lasts means for a command: until its --timeout is over. Then it is refused.
const (
	// daemonTime is how long a restart of the daemon may take. The socket is systemd's, and stays open meanwhile.
	daemonTime = 5 * time.Second
	// databaseTime is how long a stop waits for a database that does not answer: a restart of PostgreSQL, or of what
	// forwards to it, takes some seconds.
	databaseTime = 30 * time.Second
	// muteTime is how long a fleet that is silent as a whole delays a master whose balancers show other servers: fifteen
	// times the longest answer of another master.
	muteTime = 30 * time.Second
)
