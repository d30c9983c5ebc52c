//go:build linux

package faults_test

// notInjected lists faults that cannot be injected here.
func notInjected() []string {
	return []string{
		"* PE: its services beside Puppet Server (broker-service, file-sync) and its pool lock are not free " +
			"software. The stand-in of `pmcheck demo` has them.",
		"* other versions: Puppet Server 6 and 8, OpenVox and Puppet 3 are not in Debian. Their answers are " +
			"in the unit tests.",
		"* Puppet's status service disabled: Puppet Server does not start without it; see the row of a start " +
			"that fails.",
		"* a full garbage collection of many seconds on a large heap: the stopped JVM stands for it, and the " +
			"heap that is used up.",
		"* a kernel that kills the JVM for want of memory (OOM): the killed JVM stands for it; this would " +
			"take others with it.",
		"* a JVM in uninterruptible sleep, or a kernel that hangs: neither can be brought about from a " +
			"container, or ended.",
		"* a clock that jumps: all hosts of one machine share its clock. Certificates that have expired or " +
			"are not valid yet are issued so; the ends of holds are in drain's tests, and the age of a verdict " +
			"is of the monotonic clock.",
		"* inotify without watches left: the limits are the machine's. A hold that no event tells of is a " +
			"row, and a watcher that gets no watches in drain's tests.",
		"* MemoryMax= and TasksMax= of a unit: the hosts' control groups have no controllers. LimitAS= is a row.",
		"* a full conntrack table: there is no packet filter on the hosts. Lost packets and ended " +
			"connections are rows.",
	}
}
