package balancer

import (
	"encoding/json"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pmcheck/pmcheck/check/bounded"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
)

const saved = `[{"source": "198.51.100.1", "node": "lb1", "name": "puppet/m1", "service": "server",
	"asks": "/?drain=404", "seen": "2026-11-26T12:00:00Z", "checks": 9, "drain_code": 404, "interval_seconds": 2,
	"answer": {"code": 200, "body": "Puppet Server is running."}, "answers": 9,
	"view": {"state": "UP", "weight": 100, "weight_total": 200, "sessions": 1, "sessions_total": 2},
	"others_weight": 100, "others_seen": "2026-11-26T12:00:00Z", "unit_weight": 100}]`

func TestBalancersThatNoTrackerKeepsAreRefused(t *testing.T) {
	var s Saved
	if err := json.Unmarshal([]byte(saved), &s); err != nil || len(s) != 1 || s[0].Node != "lb1" {
		t.Fatalf("%+v, %v", s, err)
	}
	for name, replace := range map[string][2]string{
		"a name with a control character": {`puppet/m1`, `\u001b[2J`},
		"a long node":                     {`lb1`, strings.Repeat("x", maxText+1)},
		"a long service":                  {`"server"`, `"` + strings.Repeat("x", maxText+1) + `"`},
		"a long path":                     {`/?drain`, "/" + strings.Repeat("x", maxText)},
		"a long answer":                   {`running.`, strings.Repeat("x", maxText)},
		"an address with a zone":          {`198.51.100.1`, `fe80::1%x`},
		"a negative interval":             {`"interval_seconds": 2`, `"interval_seconds": -1`},
		"an endless interval":             {`"interval_seconds": 2`, `"interval_seconds": 1e300`},
		"negative checks":                 {`"checks": 9`, `"checks": -9`},
		"a negative code":                 {`404, `, `-1, `},
		"a code of no HTTP":               {`404, `, `600, `},
		"a state that HAProxy has not":    {`UP`, `ON`},
		"a negative weight":               {`"weight": 100`, `"weight": -100`},
		"a weight that overflows":         {`"others_weight": 100`, `"others_weight": 9223372036854775807`},
	} {
		var s Saved
		hostile := strings.Replace(saved, replace[0], replace[1], 1)
		if err := json.Unmarshal([]byte(hostile), &s); err == nil || len(s) > 0 || hostile == saved {
			t.Errorf("%s: %+v, %v; want an error", name, s, err)
		}
	}
	for name, replace := range map[string][2]string{
		"no checks yet":              {`"checks": 9`, `"checks": 0`},
		"no answer yet":              {`"answers": 9`, `"answers": 0`},
		"the greatest code":          {`404, `, `599, `},
		"no code":                    {`404, `, `0, `},
		"a single check":             {`"interval_seconds": 2`, `"interval_seconds": 0`},
		"the longest of intervals":   {`"interval_seconds": 2`, `"interval_seconds": 2147483648`},
		"the greatest of weights":    {`"others_weight": 100`, `"others_weight": 2147483648`},
		"a weight that was set to 0": {`"weight": 100`, `"weight": 0`},
	} {
		var s Saved
		kept := strings.Replace(saved, replace[0], replace[1], 1)
		if err := json.Unmarshal([]byte(kept), &s); err != nil || len(s) != 1 || kept == saved {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	many := "[" + strings.Repeat(strings.Trim(saved, "[]")+",", maxBalancers) + "{}]"
	if err := json.Unmarshal([]byte(many), &s); !errors.Is(err, bounded.ErrTooMany) {
		t.Errorf("%d balancers: %v", maxBalancers+1, err)
	}
}

// FuzzSaved: what a daemon finds in place of the balancers of the one before is refused, or can be used like any.
func FuzzSaved(f *testing.F) {
	f.Add(saved)
	f.Add(`[{"source":"","interval_seconds":2e9},{"seen":"9999-12-31T23:59:59-23:59","others":"0001-01-01T00:00:00Z"}]`)
	f.Add(`[{"view":{"state":"NOLB","weight":2147483648,"weight_total":0}},{"unit_weight":1,"others_weight":2147483648}]`)
	now := time.Date(2026, 11, 26, 12, 0, 1, 0, time.UTC)
	f.Fuzz(func(t *testing.T, data string) {
		var s Saved
		if json.Unmarshal([]byte(data), &s) != nil {
			return
		}
		var tracker Tracker
		tracker.Restore(s.List(), now)
		for _, b := range s.List() {
			check := Check{Source: b.Source, Service: b.Service, URI: b.Asks, Codes: b.Codes, Header: "UP; weight=1/2"}
			tracker.Answer(check, Rule{now: now, leaving: "turn"}, func(bool) answer.Answer { return answer.Answer{Code: 200} })
			if others, missing := b.Others(), first(b.Missing(now)); others < 0 || missing < 0 {
				t.Errorf("%d others, %d missing", others, missing)
			}
		}
		tracker.All().Asked()
		tracker.All().Silent(now)
		assertRestored(t, tracker.All())
	})
}

func first(n int, _ time.Duration) int { return n }

// FuzzCheck: whatever a client sends, little of it is kept, and the next daemon takes it.
func FuzzCheck(f *testing.F) {
	f.Add("/?drain=404", "UP 1/3; name=puppet/m1; node=lb1; weight=100/200; scur=1/2")
	f.Add("/\x00\xff"+strings.Repeat("é", 300), "MAINT; node=")
	now := time.Date(2026, 11, 26, 12, 0, 1, 0, time.UTC)
	f.Fuzz(func(t *testing.T, uri, view string) {
		var tracker Tracker
		for i := range 3 {
			c := Check{Source: netip.AddrFrom4([4]byte{byte(i)}), Service: "server", URI: uri, Header: view}
			tracker.Answer(c, Rule{now: now}, func(bool) answer.Answer { return answer.Answer{Code: 200} })
		}
		assertRestored(t, tracker.All())
	})
}

// assertRestored asserts that balancers are bounded, and that the next daemon takes them.
func assertRestored(t *testing.T, list List) {
	t.Helper()
	data, err := json.Marshal(list.Save())
	if err != nil || len(list) > maxBalancers || len(data) > 2+len(list)*3000 {
		t.Fatalf("%d balancers of %d bytes are kept, %v", len(list), len(data), err)
	}
	var again Saved
	if err := json.Unmarshal(data, &again); err != nil || len(again) != len(list) {
		t.Errorf("%s\nis not restored: %v", data, err)
	}
}

// TestEverythingThatIsShownIsSaved: of a Balancer, each exported member comes back from the file.
func TestEverythingThatIsShownIsSaved(t *testing.T) {
	kept := Balancer{View: new(View)}
	fill(t, reflect.ValueOf(&kept).Elem())
	kept.View.State = "UP"
	data, err := json.Marshal(List{kept}.Save())
	if err != nil {
		t.Fatal(err)
	}

	var s Saved
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	unsaved := cmpopts.IgnoreUnexported(Balancer{}, View{})
	if d := cmp.Diff(List{kept}, s.List(), unsaved, cmpopts.EquateComparable(netip.Addr{})); d != "" {
		t.Errorf("%s (-want +got):\n%s", data, d)
	}
}

// fill sets each exported member to a value that is not zero.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)))
		return
	case netip.Addr:
		v.Set(reflect.ValueOf(netip.MustParseAddr("198.51.100.1")))
		return
	}

	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(t, v.Field(i))
			}
		}
	case reflect.Pointer:
		fill(t, v.Elem())
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(7)
	case reflect.Bool:
		v.SetBool(true)
	default:
		t.Fatalf("a member of kind %s", v.Kind())
	}
}
