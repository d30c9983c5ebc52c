package daemon

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
)

// says is what a member says that answers balancers with a code.
func says(code int) *api.Status {
	return &api.Status{Services: []api.ServiceStatus{{Name: monitor.Server, Answer: api.Answer{Code: code}}}}
}

// TestOthersAreSortedByWhatTheySaid looks at a fleet again and again.
func TestOthersAreSortedByWhatTheySaid(t *testing.T) {
	start := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	f := new(fleet)
	for _, look := range []struct {
		name                           string
		after                          time.Duration
		m2                             api.Member
		serving, out, unknown, missing []string
	}{
		{"it serves", 0, api.Member{Status: says(200)}, []string{"m2"}, nil, nil, nil},
		{"one refusal", 5 * time.Second, api.Member{Status: says(503)}, []string{"m2"}, nil, nil, []string{"m2"}},
		{"a second one", 10 * time.Second, api.Member{Status: says(503)}, nil, []string{"m2"}, nil, []string{"m2"}},
		{"no answer", 15 * time.Second, api.Member{Silent: true}, nil, []string{"m2"}, nil, []string{"m2"}},
		{"it does not tell", 20 * time.Second, api.Member{}, nil, nil, []string{"m2"}, []string{"m2"}},
		{"the first look for long", 14*time.Minute + 56*time.Second, api.Member{Silent: true}, []string{"m2"}, nil, nil,
			[]string{"m2"}},
		{"out for long", 15*time.Minute + time.Second, api.Member{Silent: true}, nil, []string{"m2"}, nil, nil},
		{"back", 16 * time.Minute, api.Member{Status: says(200)}, []string{"m2"}, nil, nil, nil},
	} {
		look.m2.Host = "m2"
		members := []api.Member{{Host: "m1", Status: says(503)}, look.m2}
		f.look(members, []string{"m1.example.com", "m1"}, start.Add(look.after))
		o := f.Others
		for _, list := range [][2][]string{
			{look.serving, o.Serving}, {look.out, o.Out}, {look.unknown, o.Unknown}, {look.missing, o.Missing},
		} {
			if !slices.Equal(list[0], list[1]) {
				t.Errorf("%s: %+v", look.name, o)
				break
			}
		}
	}
}

// A master of another domain with the same hostname was taken for this one, and not asked.
func TestAHostOfThatNameInAnotherDomainIsAnotherMaster(t *testing.T) {
	f := new(fleet)
	members := []api.Member{{Host: "m1.example.com", Status: says(200)}, {Host: "m1.example.org", Status: says(200)}}
	f.look(members, []string{"m1.example.org", "m1"}, time.Unix(0, 0))
	if o := f.Others; !slices.Equal(o.Serving, []string{"m1.example.com"}) {
		t.Errorf("%+v", o)
	}
}

// The fleet may list a master by an alias that the host does not know. Its answer tells that it
// is this one, which is not forgotten while it does not answer.
func TestAMasterKnowsItsEntryInTheFleetByItsCertname(t *testing.T) {
	itself, other := says(200), says(200)
	itself.Certname, other.Certname = "srv01.example.com", "srv02.example.com"
	f, now := new(fleet), time.Unix(0, 0)
	for _, look := range []struct {
		name    string
		entry   api.Member
		own     string
		serving []string
	}{
		{"nothing answers yet", api.Member{Silent: true}, "", []string{"puppet-a", "puppet-b"}},
		{"it answers", api.Member{Status: itself}, "puppet-a", []string{"puppet-b"}},
		{"it is silent", api.Member{Silent: true}, "puppet-a", []string{"puppet-b"}},
		{"it does not tell", api.Member{}, "puppet-a", []string{"puppet-b"}},
		{"another master answers", api.Member{Status: other}, "", []string{"puppet-a", "puppet-b"}},
	} {
		look.entry.Host = "puppet-a"
		f.look([]api.Member{look.entry, {Host: "puppet-b", Status: other}}, []string{itself.Certname, "srv01"}, now)
		if o := f.Others; o.Own != look.own || !slices.Equal(o.Serving, look.serving) || len(o.Unknown) > 0 {
			t.Errorf("%s: %+v", look.name, o)
		}
	}
}

// Two sites may each have a host named puppet, and certnames that the fleet does not list. Only the
// answers tell these two masters apart.
func TestAMasterOfTheSameHostnameIsAnotherOne(t *testing.T) {
	this, that := says(200), says(200)
	this.Certname, that.Certname = "ps1", "ps2"
	silent, unknown := api.Member{Silent: true}, api.Member{}
	const a, b, alias = "puppet.a.example.com", "puppet.b.example.com", "alias.example.com"
	type look struct {
		own, other api.Member // what each entry says
		want       string     // own, serving, out, unknown, missing
	}
	for _, tt := range []struct {
		name  string
		entry string // of this master
		looks []look
	}{
		{"both answer", a, []look{
			{api.Member{Status: this}, api.Member{Status: that}, a + " [b] [] [] []"},
		}},
		{"the other one goes", a, []look{
			{api.Member{Status: this}, api.Member{Status: that}, a + " [b] [] [] []"},
			{api.Member{Status: this}, silent, a + " [b] [] [] [b]"},
			{api.Member{Status: this}, silent, a + " [] [b] [] [b]"},
			{silent, silent, a + " [] [b] [] [b]"},
			{unknown, unknown, a + " [] [] [b] [b]"},
		}},
		{"the other one has never answered", a, []look{
			{api.Member{Status: this}, silent, a + " [b] [] [] []"},
			{api.Member{Status: this}, silent, a + " [] [b] [] []"},
		}},
		{"only the other one answers", a, []look{
			{unknown, api.Member{Status: that}, a + " [b] [] [] []"},
			{unknown, silent, a + " [b] [] [] [b]"},
			{unknown, silent, a + " [] [b] [] [b]"},
		}},
		{"none has answered", a, []look{
			{unknown, silent, " [b] [] [a] []"},
			{silent, silent, " [] [a b] [] []"},
			{api.Member{Status: this}, silent, a + " [] [b] [] []"},
		}},
		{"this one has an alias", alias, []look{
			{api.Member{Status: this}, silent, alias + " [b] [] [] []"},
			{api.Member{Status: this}, silent, alias + " [] [b] [] []"},
		}},
		{"this one has an alias and does not tell", alias, []look{
			{unknown, api.Member{Status: that}, " [b] [] [alias] []"},
			{unknown, silent, " [b] [] [alias] [b]"},
		}},
	} {
		f, now := new(fleet), time.Unix(0, 0)
		for i, look := range tt.looks {
			look.own.Host, look.other.Host = tt.entry, b
			f.look([]api.Member{look.own, look.other}, []string{"ps1", "puppet", "192.0.2.1"}, now)
			o := f.Others
			got := fmt.Sprint(o.Own, " ", o.Serving, o.Out, o.Unknown, o.Missing)
			for host, short := range map[string]string{a: "a", b: "b", alias: "alias"} {
				head, lists, _ := strings.Cut(got, " ")
				got = head + " " + strings.ReplaceAll(lists, host, short)
			}
			if got = strings.ReplaceAll(got, "][", "] ["); got != look.want {
				t.Errorf("%s, look %d: %s, want %s", tt.name, i+1, got, look.want)
			}
			now = now.Add(othersEvery)
		}
	}
}

// young returns a daemon that has just started with the runtime directory dir.
func young(dir string, now time.Time) *Daemon {
	d := New(config.Config{}, "", "", slog.New(slog.DiscardHandler))
	d.Runtime = dir
	d.recall(now)
	return d
}

// A rolling upgrade restarts the daemon while another master is out: the new daemon must
// expect that one back, although it has never seen it serve.
func TestRestartForgetsNoMemberOfTheFleet(t *testing.T) {
	dir, now := t.TempDir(), time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	d := young(dir, now)
	if d.others.Load() != nil || d.fleet.asks(nil, now) {
		t.Fatalf("without a gate the fleet is asked, or known: %+v", d.fleet)
	}
	d.fleet.asks(&api.GateStatus{Looked: now}, now)
	d.fleet.look([]api.Member{{Host: "m2", Status: says(200)}}, []string{"m1"}, now)
	if err := d.fleetFile().Save(d.fleet); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name            string
		after           time.Duration
		known, expected bool
	}{
		{"a few seconds later", 3 * time.Second, true, true},
		{"minutes later", 14 * time.Minute, true, true},
		{"a quarter of an hour later", 15 * time.Minute, false, false},
		{"the clock was set back", -time.Hour, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := now.Add(tt.after)
			d := young(dir, at)
			if known := d.others.Load() != nil; known != tt.known {
				t.Errorf("what the previous daemon knew is in the status: %v, want %v", known, tt.known)
			}
			if asks := d.fleet.asks(nil, at); asks != tt.expected {
				t.Errorf("the fleet is asked while the gate is away: %v, want %v", asks, tt.expected)
			}
			d.fleet.look([]api.Member{{Host: "m2", Silent: true}}, []string{"m1"}, at)
			if missing := slices.Contains(d.fleet.Others.Missing, "m2"); missing != tt.expected {
				t.Errorf("m2 is expected back: %v, want %v", missing, tt.expected)
			}
		})
	}
}

// A gate that restarts must not make turns blind; one that is gone for good ends them.
func TestTheFleetIsAskedWhileAGateIsAwayForAShortTime(t *testing.T) {
	f, now := new(fleet), time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name  string
		gate  *api.GateStatus
		after time.Duration
		want  bool
	}{
		{"there was never one", nil, 0, false},
		{"it runs", &api.GateStatus{Looked: now}, time.Second, true},
		{"it hangs", &api.GateStatus{Looked: now}, time.Minute, true},
		{"it is away", nil, 14 * time.Minute, true},
		{"it is gone", nil, 16 * time.Minute, false},
	} {
		if asks := f.asks(tt.gate, now.Add(tt.after)); asks != tt.want {
			t.Errorf("%s: the fleet is asked: %v, want %v", tt.name, asks, tt.want)
		}
	}
}

func TestABadFileOfTheFleetIsIgnored(t *testing.T) {
	now := time.Now()
	for name, content := range map[string]string{
		"torn":             `{"gate_ran": "2026-11-22T08:00:00Z", "members": {"m2": {"ser`,
		"of another kind":  `[1]`,
		"half of its kind": `{"gate_ran": "` + now.Format(time.RFC3339) + `", "members": {"m2": 7}}`,
		"null":             `null`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "fleet.json"), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			d := young(dir, now)
			if d.others.Load() != nil || d.fleet.asks(nil, now) {
				t.Errorf("it is believed: %+v", d.fleet)
			}
			d.fleet.look([]api.Member{{Host: "m2", Silent: true}}, []string{"m1"}, now)
		})
	}
	t.Run("of another user", func(t *testing.T) {
		dir := t.TempDir()
		d := young(dir, now)
		d.fleet.GateRan = now
		if err := d.fleetFile().Save(d.fleet); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, "fleet.json"), 0o666); err != nil {
			t.Fatal(err)
		}
		if d = young(dir, now); d.fleet.asks(nil, now) {
			t.Error("a file that others can write is believed")
		}
	})
}
