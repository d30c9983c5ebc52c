package check

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The idle answer was recorded from Puppet Server 7.9.5.
func TestRecordedPoolIsRead(t *testing.T) {
	since := time.Date(2026, 11, 20, 23, 44, 0, 529e6, time.UTC)
	tests := []struct {
		name string
		want Pool
	}{
		{"pool.json", Pool{Size: 1, Free: 1, Borrowed: []Loan{}, Waiting: []Loan{}, Lock: "not-in-use", LockSince: since}},
		{"pool-busy.json", Pool{
			Size: 3,
			Borrowed: []Loan{
				{Request: "POST /puppet/v3/catalog/a.example.test", Seconds: 190.5},
				{Request: "GET /puppet/v3/node/b.example.test", Seconds: 125.25},
			},
			Waiting: []Loan{{Request: "POST /puppet/v3/catalog/c.example.test", Seconds: 60}},
			Lock:    "requested", LockSince: since, Timeouts: 2, LimitHits: 5,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parsePool(read(t, tt.name))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestReadersRefuseBadInput has what is no JSON object at all.
func TestBadPoolIsRefused(t *testing.T) {
	tooMany := strings.Repeat(",{}", maxLoans)
	metrics := func(fields string) string { return `{"status":{"experimental":{"metrics":{` + fields + `}}}}` }
	const one, free, none, idle = `"num-jrubies":1`, `,"num-free-jrubies":1`, `,"borrowed-instances":[]`,
		`,"requested-instances":[]`
	if _, err := parsePool([]byte(metrics(one + free + none + idle))); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{
		"no metrics":               `{"status":{"experimental":{}}}`,
		"level info":               `{"service_version":"7.9.5","state":"running","status":{}}`,
		"a number missing":         metrics(one + none + idle),
		"a list missing":           metrics(one + free + none),
		"a list that is null":      metrics(one + free + none + `,"requested-instances":null`),
		"a number as a string":     metrics(`"num-jrubies":"1"` + free + none + idle),
		"a number with a fraction": metrics(`"num-jrubies":1.5` + free + none + idle),
		"no instances":             metrics(`"num-jrubies":0` + free + none + idle),
		"a negative number":        metrics(one + `,"num-free-jrubies":-1` + none + idle),
		"a list as a number":       metrics(one + free + `,"borrowed-instances":0` + idle),
		"too many requests":        metrics(one + free + none + `,"requested-instances":[{}` + tooMany + "]"),
		"truncated":                string(read(t, "pool.json")[:400]),
	} {
		if got, err := parsePool([]byte(body)); err == nil {
			t.Errorf("%s is accepted: %+v", name, got)
		}
	}
}

func TestLoansAreBounded(t *testing.T) {
	got := loans([]poolLoan{poolLoanOf("post", "/"+strings.Repeat("ü", 500), 1e300),
		poolLoanOf(":get", "/a\x1b[2J\nb?secret=1", -5)})
	if len(got[0].Request) > maxPath || !strings.HasPrefix(got[0].Request, "POST /ü") || got[0].Seconds != maxSeconds {
		t.Errorf("%+v", got[0])
	}
	if want := (Loan{Request: "GET /a[2J b"}); got[1] != want {
		t.Errorf("%+v, want %+v", got[1], want)
	}
	stuck := Pool{Size: 1, Borrowed: got[:1], Waiting: got[1:]}
	if stuck.Stuck() <= 0 {
		t.Errorf("stuck for %s", stuck.Stuck())
	}
}

func poolLoanOf(method, uri string, millis float64) poolLoan {
	l := poolLoan{Millis: millis}
	l.Reason.Request.URI, l.Reason.Request.Method = uri, method
	return l
}

// FuzzParsePool: a pool that is accepted has instances, and can be judged and encoded
// as JSON.
func FuzzParsePool(f *testing.F) {
	for _, name := range []string{"pool.json", "pool-busy.json"} {
		f.Add(read(f, name))
	}
	f.Add([]byte(nested(100)))
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := parsePool(body)
		if err != nil {
			return
		}
		if p.Size < 1 || p.Ready() < 0 || p.Stuck() < 0 || p.Locked(time.Now()) < 0 {
			t.Errorf("impossible pool: %+v", p)
		}
		f := newPoolCheck().judge(p, time.Now())
		if f.State == StateOK && p.Ready() < p.Size {
			t.Errorf("ok with %d of %d ready", p.Ready(), p.Size)
		}
		if _, err := json.Marshal(p); err != nil {
			t.Error(err)
		}
	})
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// nested returns JSON objects nested to the given depth.
func nested(depth int) string {
	return strings.Repeat(`{"status":`, depth) + "1" + strings.Repeat("}", depth)
}
