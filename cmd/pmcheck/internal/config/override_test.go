package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

func TestBadOverridesAreRefused(t *testing.T) {
	for want, variable := range map[string]string{
		"FLEET: fleet: is empty (unset it, or give it a value)":                             "FLEET=",
		"ALLOW: allow: a" + noNetwork + "\nenvironment PMCHECK_ALLOW: allow: b" + noNetwork: "ALLOW=a,::/0,b",
		"DISK_EJECT_MIB: disk.eject_mib: -1 is out of range (0 to 1048576)":                 "DISK_EJECT_MIB=-1",
		"CHECKS_DISK: checks.disk: on is not one of eject, warn, off":                       "CHECKS_DISK=on",
	} {
		t.Run(variable, func(t *testing.T) {
			setenv(t, "PMCHECK_"+variable)
			o := config.Options{Root: t.TempDir(), Environment: true}
			_, err := config.Load(o)
			wantFaults(t, err, "environment PMCHECK_"+want)

			if _, err := config.Load(o.Without(err)); err != nil {
				t.Errorf("without the variable: %v", err)
			}
		})
	}
}

// A variable that is mistyped, or that Kubernetes sets beside a Service called pmcheck, keeps no daemon from starting.
func TestUnknownVariablesAreNamedAndIgnored(t *testing.T) {
	setenv(t, "PMCHECK_PROBE_TIMEUOT=1s", "PMCHECK_SERVICE_HOST=10.0.0.1", "PMCHECK_LOG_LEVEL=debug")
	l, err := config.Load(config.Options{Root: t.TempDir(), Environment: true})
	must(t, err)
	want := []string{
		"environment PMCHECK_PROBE_TIMEUOT: unknown variable, which is ignored",
		"environment PMCHECK_SERVICE_HOST: unknown variable, which is ignored",
	}
	if d := cmp.Diff(want, l.Ignored); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if l.Config.Log.Level != "debug" {
		t.Error("the variable of a setting was ignored, too")
	}
}

func TestGoodConfigsAreAccepted(t *testing.T) {
	for _, tt := range []struct{ name, yaml, want string }{
		{"off", "checks: {disk: off}\n", `checks.disk: "off" # F:1`},
		{"off became false", "checks: {disk: false}\n", `checks.disk: "off" # F:1`},
		{"bare addresses", "allow: [192.0.2.1, '2001:db8::1']\n", "allow: [192.0.2.1/32, '2001:db8::1/128'] # F:1"},
		{"one network for a list", "allow: 10.0.0.0/8\n", "allow: [10.0.0.0/8] # F:1"},
		{"a number in quotes", "disk: {eject_mib: '2'}\n", "disk.eject_mib: 2 # F:1"},
		{"alias", "services: [&a ca]\nbudget: {pool: *a}\n", "budget.pool: ca # F:2"},
		{"empty section", "probe:\n", "probe.timeout: 1.5s # default"},
		{"days and hours", "expiry: {warn: 1d12h}\n", "expiry.warn: 36h # F:1"},
		{"weeks", "budget: {lapse: 2w}\n", "budget.lapse: 14d # F:1"},
		{"parts of a unit", "guard: {turn: 0.5h}\n", "guard.turn: 30m # F:1"},
		{"no unit", "guard: {turn: 0}\n", "guard.turn: 0s # F:1"},
		{"any port", "listen: localhost:0\n", "listen: localhost:0 # F:1"},
		{"as it is written", "budget: {pool: 012}\n", "budget.pool: \"012\" # F:1"},
		{"a database of another role", "budget: {database: 'postgres://alice@[::1]:5433/a-b'}\n",
			"budget.database: postgres://alice@[::1]:5433/a-b # F:1"},
	} {
		if d := cmp.Diff([]string{tt.want}, values(valid(t, tt.yaml), tt.want)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}
