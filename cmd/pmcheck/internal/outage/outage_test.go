package outage

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/drain"
)

func at(clock string) time.Time {
	t, err := time.Parse("15:04", clock)
	if err != nil {
		panic(err)
	}
	return time.Date(2026, 11, 22, t.Hour(), t.Minute(), 0, 0, time.UTC)
}

// entry returns a line of journalctl --output=json.
func entry(clock, event string, fields ...string) string {
	line := fmt.Sprintf(`{"__REALTIME_TIMESTAMP":"%d","PMCHECK_EVENT":%q`, at(clock).UnixMicro(), event)
	for _, f := range fields {
		key, value, _ := strings.Cut(f, "=")
		if key == "SINCE" || key == "UNTIL" {
			value = at(value).Format(time.RFC3339)
		}
		if !strings.HasPrefix(key, "_") {
			key = "PMCHECK_" + key
		}
		line += fmt.Sprintf(`,%q:%q`, key, value)
	}
	return line + "}\n"
}

// held returns a snapshot of a directory with these holds, as name and JSON.
func held(t *testing.T, files map[string]string) drain.Snapshot {
	t.Helper()
	dir := t.TempDir()
	store := &drain.Store{Persistent: dir, Now: func() time.Time { return at("12:00") }}
	if _, err := store.LiftAll(); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(dir+"/"+name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return store.Read()
}

func TestCollect(t *testing.T) {
	const (
		found, set, changed, lifted, expired = "holds found", "hold set", "hold changed", "hold lifted", "hold expired"
		op, drained                          = "HOLD=operator", "MODE=drain"
	)
	onDisk := map[string]string{
		"operator.json": `{"mode": "drain", "since": "2026-11-22T10:00:00Z", "until": "2026-11-22T13:00:00Z"}`,
	}
	for _, tt := range []struct {
		name  string
		lines []string
		disk  map[string]string
		query Query
		want  []string // holder service mode reason who: since-ended end
	}{
		{name: "nothing"},
		{
			name: "set, changed, lifted",
			lines: []string{
				entry("10:00", set, op, drained, "BY=alice", "OWNER=root", "SINCE=10:00"),
				entry("10:05", changed, op, "MODE=maint", "REASON=new kernel", "BY=alice", "OWNER=root", "SINCE=10:00"),
				entry("10:30", lifted, op, "MODE=maint", "REASON=new kernel", "BY=alice", "OWNER=root", "SINCE=10:00"),
			},
			want: []string{`operator "" maint "new kernel" alice/root: 10:00-10:30 lifted`},
		},
		{
			name: "expired, seen late",
			lines: []string{
				entry("10:00", set, op, drained, "SINCE=10:00", "UNTIL=10:20"),
				entry("10:21", expired, op, drained, "SINCE=10:00", "UNTIL=10:20"),
			},
			want: []string{`operator "" drain "" /: 10:00-10:20 expired`},
		},
		{
			name:  "still out, and its end has moved",
			lines: []string{entry("10:00", set, op, drained, "SINCE=10:00", "UNTIL=12:10")},
			disk:  onDisk,
			want:  []string{`operator "" drain "" /: 10:00- until 13:00`},
		},
		{
			name: "the daemon was restarted meanwhile",
			lines: []string{
				entry("10:00", found), entry("10:00", set, op, drained, "SINCE=10:00"),
				entry("10:30", found), entry("10:30", set, op, drained, "SINCE=10:00"),
				entry("10:40", found), entry("10:40", set, op, drained, "SINCE=10:00"),
				entry("10:50", lifted, op, drained, "SINCE=10:00"),
			},
			want: []string{`operator "" drain "" /: 10:00-10:50 lifted`},
		},
		{
			name: "lifted while the daemon was not running",
			lines: []string{
				entry("10:00", set, op, drained, "SINCE=10:00"),
				entry("10:30", found),
				entry("11:00", found),
			},
			want: []string{`operator "" drain "" /: 10:00-10:30 unseen`},
		},
		{
			name: "lifted and set again while the daemon was not running",
			lines: []string{
				entry("10:00", set, op, drained, "SINCE=10:00"),
				entry("10:30", found), entry("10:30", set, op, drained, "SINCE=10:20"),
				entry("10:31", lifted, op, drained, "SINCE=10:20"),
			},
			want: []string{
				`operator "" drain "" /: 10:00-10:30 unseen`,
				`operator "" drain "" /: 10:20-10:31 lifted`,
			},
		},
		{
			name: "expired while the daemon was not running, with an end that had moved",
			lines: []string{
				entry("10:00", set, op, drained, "SINCE=10:00", "UNTIL=10:10"),
				entry("10:30", found), entry("10:30", expired, op, drained, "SINCE=10:00", "UNTIL=10:20"),
				entry("10:50", found), entry("10:50", expired, op, drained, "SINCE=10:00", "UNTIL=10:20"),
			},
			want: []string{`operator "" drain "" /: 10:00-10:20 expired`},
		},
		{
			name: "lifted and set again within a second",
			lines: []string{
				entry("10:00", set, op, drained, "SINCE=10:00"), entry("10:00", lifted, op, drained, "SINCE=10:00"),
				entry("10:00", set, op, drained, "SINCE=10:00"), entry("10:05", lifted, op, drained, "SINCE=10:00"),
			},
			want: []string{
				`operator "" drain "" /: 10:00-10:00 lifted`,
				`operator "" drain "" /: 10:00-10:05 lifted`,
			},
		},
		{
			name: "expired, and the clock is set back: it holds again",
			lines: []string{
				entry("10:00", set, op, drained, "SINCE=10:00", "UNTIL=10:20"),
				entry("10:20", expired, op, drained, "SINCE=10:00", "UNTIL=10:20"),
				entry("10:12", set, op, drained, "SINCE=10:00", "UNTIL=10:20"),
				entry("10:20", expired, op, drained, "SINCE=10:00", "UNTIL=10:20"),
			},
			want: []string{
				`operator "" drain "" /: 10:00-10:20 expired`,
				`operator "" drain "" /: 10:12-10:20 expired`,
			},
		},
		{
			name:  "set before the journal begins",
			lines: []string{entry("10:00", lifted, op, drained, "SINCE=08:00")},
			want:  []string{`operator "" drain "" /: 08:00-10:00 lifted`},
		},
		{
			name:  "gone, and the daemon has not said so",
			lines: []string{entry("10:00", set, op, drained, "SINCE=10:00")},
			want:  []string{`operator "" drain "" /: 10:00-12:00 unseen`},
		},
		{
			name: "the daemon does not run",
			disk: onDisk,
			want: []string{`operator "" drain "" /root: 10:00- until 13:00`},
		},
		{
			name:  "the hold claims to begin in the future",
			lines: []string{entry("10:00", set, op, drained, "SINCE=11:00"), entry("10:30", lifted, op, drained, "SINCE=11:00")},
			want:  []string{`operator "" drain "" /: 10:00-10:30 lifted`},
		},
		{
			name: "by service",
			lines: []string{
				entry("10:00", set, op, drained, "SERVICE=ca", "SINCE=10:00"),
				entry("10:10", set, "HOLD=guard", drained, "SINCE=10:10"),
				entry("10:20", lifted, op, drained, "SERVICE=ca", "SINCE=10:00"),
				entry("10:30", lifted, "HOLD=guard", drained, "SINCE=10:10"),
			},
			query: Query{Service: "server"},
			want:  []string{`guard "" drain "" /: 10:10-10:30 lifted`},
		},
		{
			name: "since, and the last one",
			lines: []string{
				entry("09:00", lifted, op, drained, "SINCE=08:00"),
				entry("10:00", lifted, op, drained, "SINCE=08:30"),
				entry("10:30", lifted, op, drained, "SINCE=10:10"),
			},
			query: Query{Since: at("09:30"), Last: 2},
			want: []string{
				`operator "" drain "" /: 08:30-10:00 lifted`,
				`operator "" drain "" /: 10:10-10:30 lifted`,
			},
		},
		{
			name: "lines that are not entries about a hold",
			lines: []string{
				"-- No entries --\n", "{}\n", "{\n", "[1]\n", "null\n", "\n",
				entry("10:00", "verdict changed", op, drained), entry("10:00", set, "HOLD=", drained),
				`{"__REALTIME_TIMESTAMP":"x","PMCHECK_EVENT":"hold set","PMCHECK_HOLD":"a"}` + "\n",
			},
		},
		{
			name: "binary fields, and fields that occur twice",
			lines: []string{`{"__REALTIME_TIMESTAMP":"` + fmt.Sprint(at("10:00").UnixMicro()) + `",` +
				`"PMCHECK_EVENT":"hold lifted","PMCHECK_HOLD":["a","b"],"PMCHECK_MODE":[100,114],"PMCHECK_REASON":null,` +
				`"PMCHECK_BY":[[97],"c"],"PMCHECK_OWNER":{},"PMCHECK_SINCE":"soon"}`},
			want: []string{`a "" dr "" a/: 10:00-10:00 lifted`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			entries, err := Parse(strings.NewReader(strings.Join(tt.lines, "")))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range Collect(entries, held(t, tt.disk), at("12:00"), tt.query) {
				end := "until " + o.Until.Format("15:04")
				if o.End != "" {
					end = string(o.End)
				}
				ended := ""
				if !o.Ended.IsZero() {
					ended = o.Ended.Format("15:04")
				}
				got = append(got, fmt.Sprintf("%s %q %s %q %s/%s: %s-%s %s", o.Holder, o.Service, o.Mode, o.Reason,
					o.By, o.Owner, o.Since.Format("15:04"), ended, end))
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// The journal has the time since the boot beside that of the clock.
func TestClockThatIsSetBackShortensNoOutage(t *testing.T) {
	const first, second = "_BOOT_ID=a", "_BOOT_ID=b"
	up := func(minutes int) string { return fmt.Sprintf("__MONOTONIC_TIMESTAMP=%d", minutes*60e6) }
	set := func(clock string, fields ...string) string {
		return entry(clock, "hold set", append(fields, "HOLD=a", "MODE=drain", "SINCE="+clock)...)
	}
	lifted := func(clock, since string, fields ...string) string {
		return entry(clock, "hold lifted", append(fields, "HOLD=a", "MODE=drain", "SINCE="+since)...)
	}
	for _, tt := range []struct {
		name    string
		lines   string
		minutes float64
	}{
		{"not set back", set("10:00", first, up(5)) + lifted("10:10", "10:00", first, up(15)), 10},
		{"read one after the other", set("10:00", first, up(5)) +
			lifted("10:10", "10:00", first, "__MONOTONIC_TIMESTAMP=900000009"), 10},
		{"set back", set("10:00", first, up(5)) + lifted("09:10", "10:00", first, up(15)), 10},
		{"set forward", set("10:00", first, up(5)) + lifted("11:10", "10:00", first, up(15)), 70},
		{"across a reboot", set("10:00", first, up(500)) + lifted("10:10", "10:00", second, up(1)), 10},
		{"across a reboot that sets it back", set("10:00", first, up(5)) + lifted("09:10", "10:00", second, up(1)), 0},
		{"no time since the boot", set("10:00") + lifted("10:10", "10:00"), 10},
		{"the end was not seen", set("10:00", first, up(5)) + entry("09:10", "holds found", first, up(15)), 10},
		{"followed by another hold", set("10:00", first, up(5)) + set("09:10", first, up(15)), 10},
	} {
		entries, err := Parse(strings.NewReader(tt.lines))
		if err != nil {
			t.Fatal(err)
		}
		list := Collect(entries, held(t, nil), at("12:00"), Query{})
		if list[0].Seconds != tt.minutes*60 || list[0].Ended.Sub(list[0].Since).Minutes() != tt.minutes {
			t.Errorf("%s: got %+v, want %g minutes", tt.name, list, tt.minutes)
		}
	}
}

// Where the caller cannot read the holds, the journal alone says what still lasts.
func TestUnreadableHoldsEndNoOutage(t *testing.T) {
	entries, err := Parse(strings.NewReader(entry("10:00", "hold set", "HOLD=operator", "MODE=drain", "SINCE=10:00")))
	if err != nil {
		t.Fatal(err)
	}
	list := Collect(entries, (&drain.Store{Persistent: t.TempDir() + "/none"}).Read(), at("12:00"), Query{})
	if len(list) != 1 || list[0].End != "" || list[0].Seconds != 7200 {
		t.Errorf("got %+v", list)
	}
}
