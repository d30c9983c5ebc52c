package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

func TestBadOverridesAreRefused(t *testing.T) {
	tests := []struct {
		name    string
		environ []string
		listen  *string
		want    string
	}{
		{"unknown variable", []string{"PMCHECK_PROBE_TIMEUOT=1s"}, nil,
			"environment PMCHECK_PROBE_TIMEUOT: unknown variable (did you mean PMCHECK_PROBE_TIMEOUT?)"},
		{"nothing like it", []string{"PMCHECK_FROBNICATE=1"}, nil, "environment PMCHECK_FROBNICATE: unknown variable"},
		{"empty", []string{"PMCHECK_LISTEN="}, nil,
			"environment PMCHECK_LISTEN: listen: is empty (unset it, or give it a value)"},
		{"two items of a list", []string{"PMCHECK_ALLOW=a,::/0,b"}, nil,
			"environment PMCHECK_ALLOW: allow: a" + noNetwork + "\n" +
				"environment PMCHECK_ALLOW: allow: b" + noNetwork},
		{"a broken rule", []string{"PMCHECK_DISK_EJECT_MIB=-1"}, nil,
			"environment PMCHECK_DISK_EJECT_MIB: disk.eject_mib: -1 is out of range (0 to 1048576)"},
		{"environment before flag", []string{"PMCHECK_CHECKS_DISK=on"}, new("x"),
			"environment PMCHECK_CHECKS_DISK: checks.disk: on is not one of eject, warn, off\n" +
				"flag --listen: listen: x" + noAddress},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := config.Check(config.Options{Root: t.TempDir(), Environ: tt.environ, Listen: tt.listen})
			wantFaults(t, err, tt.want)
		})
	}
}

func TestGoodConfigsAreAccepted(t *testing.T) {
	tests := []struct {
		name, yaml string
		environ    []string
		want       string
	}{
		{"off", "checks: {disk: off}\n", nil, `checks.disk: "off" # F:1`},
		{"off became false", "checks: {disk: false}\n", nil, `checks.disk: "off" # F:1`},
		{"off in the environment", "", []string{"PMCHECK_CHECKS_DISK=off"},
			`checks.disk: "off" # environment PMCHECK_CHECKS_DISK`},
		{"bare zero", "guard: {turn: 0}\n", nil, "guard.turn: 0s # F:1"},
		{"bare addresses", "allow: [192.0.2.1, '2001:db8::1']\n", nil, "allow: [192.0.2.1/32, '2001:db8::1/128'] # F:1"},
		{"one network for a list", "allow: 10.0.0.0/8\n", nil, "allow: [10.0.0.0/8] # F:1"},
		{"a number in quotes", "disk: {eject_mib: '2'}\n", nil, "disk.eject_mib: 2 # F:1"},
		{"alias", "services: [&a ca]\nbudget: {pool: *a}\n", nil, "budget.pool: ca # F:2"},
		{"empty section", "probe:\n", nil, "probe.timeout: 1.5s # default"},
		{"any port", "listen: localhost:0\n", nil, "listen: localhost:0 # F:1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := root(t, map[string]string{"F": tt.yaml})
			l, err := config.Check(config.Options{File: "F", Root: root, Environ: tt.environ})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff([]string{tt.want}, values(l, tt.want)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
