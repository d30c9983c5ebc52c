package config_test

import (
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

const sample = "../../../../packaging/pmcheck.yaml"

func diff(want, got config.Config) string {
	done := cmpopts.IgnoreFields(check.Check{}, "Run", "Observe") // functions cannot be compared
	return cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{}), done)
}

// valid loads a pmcheck.yaml, F in origins, on a host without Puppet.
func valid(t *testing.T, yaml string) *config.Loaded {
	t.Helper()
	l, err := config.Load(config.Options{File: "F", Root: root(t, map[string]string{"F": yaml})})
	if err != nil {
		t.Fatalf("%v in\n%s", err, yaml)
	}
	return l
}

// In the sample "#key: value" is a setting and "# text" is prose.
func TestUncommentedSampleShowsEveryDefault(t *testing.T) {
	text, err := os.ReadFile(sample)
	must(t, err)
	l := valid(t, regexp.MustCompile(`(?m)^( *)#([^ \n])`).ReplaceAllString(string(text), "$1$2"))
	want := config.Default()
	want.Probe.MaxAge = 15 * time.Second // derived
	want.Probe.Guessed = l.Config.Probe.Guessed
	want.Checks = want.Checks.With(l.Config.Checks.Identity())
	if d := diff(want, l.Config); d != "" {
		t.Errorf("the sample does not show the defaults (-want +got):\n%s", d)
	}
	for _, s := range l.Settings() {
		if !strings.HasPrefix(s.Origin, "F:") {
			t.Errorf("the sample lacks %s", s.Key)
		}
	}
}

func TestSettingsCanBeLoadedAgain(t *testing.T) {
	l := valid(t, "allow: [10.0.0.0/8, '::1']\nlisten: '[::1]:80'\nguard: {return: 30m30s}\n")
	text, section := "", ""
	for _, s := range l.Settings() {
		head, tail, nested := strings.Cut(s.Key, ".")
		if nested && head != section {
			text += head + ":\n"
		}
		if section = head; nested {
			head = "  " + tail
		}
		text += head + ": " + s.Value + "\n"
	}
	again := valid(t, text).Config
	again.Probe.Assumed = true // text names the address
	if d := diff(l.Config, again); d != "" {
		t.Errorf("settings differ after loading them again (-want +got):\n%s", d)
	}
}

func TestAddressIsAssumedUnlessASourceNamesIt(t *testing.T) {
	for _, tt := range []struct {
		yaml, variable string
		assumed        bool
	}{
		{"", "", true},
		{"probe: {timeout: 1s}", "", true},
		{"probe: {address: 'localhost:8140'}", "", false},
		{"", "PMCHECK_PROBE_ADDRESS=localhost:8140", false},
	} {
		if name, value, set := strings.Cut(tt.variable, "="); set {
			t.Setenv(name, value)
		}
		l, err := config.Load(config.Options{Content: []byte(tt.yaml), Environment: true})
		if err != nil || l.Config.Probe.Assumed != tt.assumed {
			t.Errorf("%q, %q: %v, %v; want %v", tt.yaml, tt.variable, l.Config.Probe.Assumed, err, tt.assumed)
		}
	}
}

func TestMaxAgeOutlivesTheLongestGap(t *testing.T) {
	const accept = check.AcceptTime
	for _, tt := range []struct {
		probe   string
		between time.Duration // an interval, and one that begins late
		answer  time.Duration // the longest time to an answer, or none
	}{
		{"{interval: 2s, timeout: 1800ms}", 4 * time.Second, 1800 * time.Millisecond},
		{"{interval: 1s, timeout: 900ms}", 2 * time.Second, 300*time.Millisecond + accept},
	} {
		// One connection waits while the master collects garbage.
		want := tt.between + tt.answer + accept + tt.answer + accept
		if got := valid(t, "probe: "+tt.probe+"\n").Config.Probe.MaxAge; got != want {
			t.Errorf("%s: %s, want %s", tt.probe, got, want)
		}
	}
}

// values returns the settings with the keys of these lines, each with its value and origin.
func values(l *config.Loaded, lines ...string) []string {
	var list []string
	for _, s := range l.Settings() {
		if slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, s.Key+": ") }) {
			list = append(list, s.Key+": "+s.Value+" # "+s.Origin)
		}
	}
	return list
}

func TestLoadLeavesTheChecksOfItsOptionsAlone(t *testing.T) {
	checks := check.All()
	o := config.Options{Content: []byte("unit: {names: [m.service]}\nchecks: {disk: warn}\n"), Checks: checks}
	l, err := config.Load(o)
	must(t, err)
	if got := l.Config.Checks.Unit().Names; !slices.Equal(got, []string{"m.service"}) {
		t.Errorf("unit.names is %q", got)
	}
	if d := diff(config.Config{Checks: check.All()}, config.Config{Checks: checks}); d != "" {
		t.Errorf("(-before +after):\n%s", d)
	}
}
