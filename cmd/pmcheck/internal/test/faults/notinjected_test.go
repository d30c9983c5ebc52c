//go:build linux

package faults_test

// notInjected lists the faults that cannot be produced on hosts in namespaces of one
// machine. packaging/doc/proof.md has the same list.
func notInjected() []string {
	return []string{
		"* Puppet Enterprise: the services beside Puppet Server (broker-service, file-sync) and its pool lock " +
			"are not free software. The simulated master of `pmcheck demo` has them.",
		"* Other versions: these faults were injected only with those of Debian 12. [versions.md](versions.md) " +
			"says what was tried with others; the unit tests use answers of Puppet Server 6 and 8.",
		"* Puppet's status service disabled: Puppet Server does not start without it. See the row of a start " +
			"that fails.",
		"* A full garbage collection of many seconds on a large heap: the rows of the stopped JVM and of the " +
			"exhausted heap are close to it.",
		"* The kernel kills the JVM for lack of memory (OOM): the row of the killed JVM is the same to " +
			"pmcheck. A real one would kill other processes too.",
		"* A JVM in uninterruptible sleep, or a kernel that hangs: a container can neither start nor end them.",
		"* A clock that jumps: all hosts of one machine share its clock. Certificates that are expired or not " +
			"yet valid are issued that way; the unit tests of `drain` move the clock around the end of a hold; " +
			"the age of a verdict uses the monotonic clock.",
		"* inotify without free watches: the limit belongs to the machine. A hold that no event reports is a " +
			"row, and the unit tests of `drain` have a watcher that gets no watches.",
		"* `MemoryMax=` and `TasksMax=`: the hosts' control groups have no controllers. `LimitAS=` is a row.",
		"* A full conntrack table: the hosts have no packet filter. Lost packets and reset connections are rows.",
	}
}
