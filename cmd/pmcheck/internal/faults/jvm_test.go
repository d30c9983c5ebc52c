package faults_test

import "time"

// jvmFaults are those of Puppet Server's process.
func jvmFaults() []fault {
	return []fault{
		{area: "JVM", name: "killed (`kill -9`)",
			inject: func(s *site) {
				s.host.MustRun("systemctl", "kill", "--signal=KILL", "puppetserver")
			},
			said: []string{"503 unhealthy: refused", "503 unhealthy: unit-failed", "503 warming: unit-starting"}, haproxy: "DOWN", within: time.Second, back: time.Minute, by: "systemd"},
	}
}
