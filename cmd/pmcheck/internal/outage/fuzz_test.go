package outage

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/pmcheck/pmcheck/drain"
)

// FuzzParse: whatever the journal contains, each outage has a row of its own that is safe to
// print, begins in the past, and does not end before it begins.
func FuzzParse(f *testing.F) {
	f.Add([]byte(entry("10:00", "hold set", "HOLD=operator", "MODE=drain", "REASON=a\x1b[2J", "SINCE=10:00") +
		entry("10:10", "holds found") + entry("10:10", "hold expired", "HOLD=operator", "SINCE=10:00", "UNTIL=10:05")))
	f.Add([]byte(`{"__REALTIME_TIMESTAMP":"1","PMCHECK_EVENT":"hold lifted","PMCHECK_HOLD":[27,91],"PMCHECK_BY":["\n"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := Parse(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		now := time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
		list := Collect(entries, drain.Snapshot{}, now, Query{})
		var table bytes.Buffer
		Write(&table, list)
		lines := strings.Split(strings.TrimSuffix(table.String(), "\n"), "\n")
		if want := len(list) + 1; len(list) > 0 && len(lines) != want {
			t.Errorf("%d outages, %d lines", len(list), len(lines))
		}
		for _, r := range table.String() {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Fatalf("%q is not printable", table.String())
			}
		}
		for _, o := range list {
			if o.Seconds < 0 || o.End != "" && o.Ended.Before(o.Since) || o.Holder == "" {
				t.Errorf("%+v", o)
			}
		}
	})
}
