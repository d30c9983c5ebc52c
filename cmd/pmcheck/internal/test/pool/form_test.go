//go:build linux

package pool_test

// A scenario is something that operators do while agents run.
type scenario struct {
	name    string
	mix     mix
	operate func(*pool) error
	mayFail bool // it is there to be compared with
}

// A form is how much is done.
type form struct {
	jrubies      int // of each master
	runs         int // of agents, at least, in each scenario
	withPmcheck  []scenario
	withAncestor []scenario
}

// largest is the mix that has the agents of all scenarios.
func (f form) largest() (m mix) {
	for _, list := range [][]scenario{f.withPmcheck, f.withAncestor} {
		for _, s := range list {
			m.quick, m.slow = max(m.quick, s.mix.quick), max(m.slow, s.mix.slow)
		}
	}
	return m
}

func short() form {
	few := mix{quick: 5, slow: 1}
	return form{jrubies: 3, runs: 25, withPmcheck: []scenario{
		{"`systemctl restart puppetserver` on both at once", few, restartAtOnce, false},
		{"drain, reinstall Puppet Server, ready, one after the other", few, reinstallEach, false},
	}}
}

func long() form {
	mixed := mix{quick: 10, slow: 3}
	return form{jrubies: 8, runs: 200, withPmcheck: []scenario{
		{"`systemctl restart puppetserver`, one after the other", mixed, restartEach, false},
		{"`systemctl reload puppetserver`, one after the other", mix{slow: 4}, reloadEach, false},
		{"`drain --wait`, reinstalled, `ready --wait`, one after the other", mixed, reinstallEach, false},
		{"reboot of a host", mixed, rebootOne, false},
		{"pmcheck upgraded and downgraded on both", mixed, upgradePmcheck, false},
	}, withAncestor: []scenario{
		{"xinetd: `systemctl restart puppetserver`, one after the other", mixed, restartEach, true},
		{"xinetd: stopped, restarted 10 s later, one after the other", mixed, stopXinetdEach, true},
	}}
}
