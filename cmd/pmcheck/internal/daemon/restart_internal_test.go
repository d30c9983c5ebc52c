package daemon

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// noRestart returns the settings that need no restart of the daemon. Those of the checks are
// not among them: a reload makes every check anew.
func noRestart() []string {
	return slices.Concat([]string{
		// The daemon takes these at a reload.
		"allow", "status_allow", "balancers", "services", "fleet", "puppet.conf", "probe.address",
		"probe.certname", "probe.certificate", "probe.key", "probe.ca", "probe.crl",
		"probe.interval", "probe.timeout", "probe.fall",
		"max_out", "budget.database", "budget.pool", "budget.lapse",
	}, []string{
		// Only other processes read these: the guard whenever it runs, and the gate when it starts.
		"guard.turn", "guard.wait", "guard.shutdown", "guard.return", "gate.except",
	})
}

// A setting that is read only when the daemon starts must be in atStart, or the operator is not
// told that a reload did not change it. No test can see when a setting is read, so each must be
// declared: in atStart or in noRestart.
func TestEachSettingIsInAtStartOrNeedsNoRestart(t *testing.T) {
	t.Parallel()
	keys := settingKeys()
	for _, key := range keys {
		waits := waitsForRestart(t, key)
		switch declared := slices.Contains(noRestart(), key); {
		case waits && declared:
			t.Errorf("%s is in atStart and in noRestart", key)
		case !waits && !declared:
			t.Errorf("%s is neither in atStart nor in noRestart", key)
		}
	}
	for _, key := range noRestart() {
		if !slices.Contains(keys, key) {
			t.Errorf("%s is in noRestart, but not a setting", key)
		}
	}
}

// The Puppet module restarts a unit by a drop-in when one of these settings changes.
func TestTheModuleRestartsTheDaemonForEachSettingInAtStart(t *testing.T) {
	t.Parallel()
	manifest, err := os.ReadFile("../../../../packaging/puppet/manifests/config.pp")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^  \$at_start = \[(.*)\]$`).FindSubmatch(manifest)
	if list == nil {
		t.Fatal("config.pp has no $at_start")
	}
	for _, key := range settingKeys() {
		section, name, _ := strings.Cut(key, ".")
		socket := "$settings['" + key + "']"
		if name != "" {
			socket = "$settings.dig('" + section + "', '" + name + "')"
		}
		listed := strings.Contains(string(list[1]), "'"+section+"'") || strings.Contains(string(manifest), socket)
		if waits := waitsForRestart(t, key); waits != listed {
			t.Errorf("%s: waits for a restart: %v, has a drop-in: %v", key, waits, listed)
		}
	}
}

// settingKeys returns the keys of all settings except those of the checks.
func settingKeys() (keys []string) {
	eachSetting(reflect.ValueOf(config.Default()), "", func(key string, _ reflect.Value) { keys = append(keys, key) })
	return keys
}

// waitsForRestart reports whether a change of a setting is one of atStart.
func waitsForRestart(t *testing.T, key string) bool {
	t.Helper()
	changed := config.Default()
	eachSetting(reflect.ValueOf(&changed).Elem(), "", func(k string, v reflect.Value) {
		if k == key {
			change(t, key, v)
		}
	})
	return len(waitForRestart(config.Default(), changed)) > 0
}

// eachSetting calls visit for each setting of a section except the checks.
func eachSetting(section reflect.Value, prefix string, visit func(key string, v reflect.Value)) {
	for i := range section.NumField() {
		v, key := section.Field(i), prefix+section.Type().Field(i).Tag.Get("yaml")
		switch {
		case strings.HasSuffix(key, "-"): // derived, and no setting
		case v.Type() == reflect.TypeFor[check.List]():
		case v.Kind() == reflect.Struct:
			eachSetting(v, key+".", visit)
		case key != prefix:
			visit(key, v)
		}
	}
}

// change gives a setting another value, valid or not.
func change(t *testing.T, key string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Slice:
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
	default:
		t.Fatalf("%s: cannot change a %s", key, v.Kind())
	}
}
