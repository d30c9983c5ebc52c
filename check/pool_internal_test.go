package check

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The form of the response was recorded from Puppet Server 7.9.5.
func TestRecordedPoolIsRead(t *testing.T) {
	want := &Pool{
		Size: 3,
		Borrowed: []Loan{
			{Request: "POST /puppet/v3/catalog/a.example.test", Seconds: 190.5},
			{Request: "GET /puppet/v3/node/b.example.test", Seconds: 125.25},
		},
		Waiting:   []Loan{{Request: "POST /puppet/v3/catalog/c.example.test", Seconds: 60}},
		Lock:      "requested",
		LockSince: time.Date(2026, 11, 20, 23, 44, 0, 529e6, time.UTC),
		Timeouts:  2,
		LimitHits: 5,
	}
	got, err := parsePool(recorded(t))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func TestBadPoolIsRefused(t *testing.T) {
	tooMany := strings.Repeat(",{}", maxLoans)
	metrics := func(fields string) string { return `{"status":{"experimental":{"metrics":{` + fields + `}}}}` }
	const one, free, none, idle = `"num-jrubies":1`, `,"num-free-jrubies":1`, `,"borrowed-instances":[]`,
		`,"requested-instances":[]`
	if _, err := parsePool([]byte(metrics(one + free + none + idle))); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{
		"nothing":              "",
		"null":                 "null",
		"a page":               "<html>",
		"an array":             "[]",
		"deep objects":         strings.Repeat(`{"status":`, 100_000),
		"no metrics":           `{"status":{"experimental":{}}}`,
		"a number missing":     metrics(one + none + idle),
		"a list missing":       metrics(one + free + none),
		"a list that is null":  metrics(one + free + none + `,"requested-instances":null`),
		"a number as a string": metrics(`"num-jrubies":"1"` + free + none + idle),
		"no instances":         metrics(`"num-jrubies":0` + free + none + idle),
		"too many instances":   metrics(`"num-jrubies":10001` + free + none + idle),
		"too many are free":    metrics(one + `,"num-free-jrubies":9223372036854775807` + none + idle),
		"a negative number":    metrics(one + `,"num-free-jrubies":-1` + none + idle),
		"too many requests":    metrics(one + free + none + `,"requested-instances":[{}` + tooMany + "]"),
		"truncated":            string(recorded(t)[:400]),
	} {
		if got, err := parsePool([]byte(body)); err == nil {
			t.Errorf("%s is accepted: %+v", name, got)
		}
	}
}

func TestLoansAreBounded(t *testing.T) {
	list := make([]poolLoan, 2)
	long, short := &list[0], &list[1]
	long.Reason.Request.Method, long.Reason.Request.URI, long.Millis = "post", "/"+strings.Repeat("ü", 500), 1e300
	short.Reason.Request.Method, short.Reason.Request.URI, short.Millis = ":get", "/a\x1b[2J\nb?secret=1", -5
	got := loans(list)
	if len(got[0].Request) > maxPath || !strings.HasPrefix(got[0].Request, "POST /ü") || got[0].age() <= 0 {
		t.Errorf("%+v", got[0])
	}
	if want := (Loan{Request: "GET /a[2J b"}); got[1] != want {
		t.Errorf("%+v, want %+v", got[1], want)
	}
}

func TestTheStateOfTheLockIsBounded(t *testing.T) {
	long := strings.Repeat("\\u0001", 100_000) // six bytes each in JSON
	body := strings.Replace(string(recorded(t)), `:requested"`, ":requested"+long+strings.Repeat("x", 1000)+`"`, 1)
	p, err := parsePool([]byte(body))
	if err != nil || len(p.Lock) > maxLock || !strings.HasPrefix(p.Lock, "requested") {
		t.Errorf("%d bytes, %v", len(p.Lock), err)
	}
}

// FuzzParsePool: a pool that is accepted has instances, and can be judged and encoded as JSON, which is not much longer
// than what was read.
func FuzzParsePool(f *testing.F) {
	f.Add(recorded(f))
	f.Add([]byte(`{"status":{"experimental":{"jruby-pool-lock-status":{"current-state":"` + strings.Repeat("\\u0001", 99) +
		`","last-change-time":"9999-12-31T23:59:59-23:59"},"metrics":{"num-jrubies":1,"num-free-jrubies":1,` +
		`"borrowed-instances":[{}],"requested-instances":[{"duration-millis":1e300}]}}}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := parsePool(body)
		if err != nil {
			return
		}
		if p.Size < 1 || p.Ready() < 0 || p.unreturned() < 0 {
			t.Errorf("impossible pool: %+v", p)
		}
		f := newPoolCheck().judge(p, time.Now())
		if f.State == StateOK && p.Ready() < p.Size {
			t.Errorf("ok with %d of %d ready", p.Ready(), p.Size)
		}
		data, err := json.Marshal(p)
		kept := 300 + (len(p.Borrowed)+len(p.Waiting))*(100+6*maxPath)
		if err != nil || len(data) > kept || len(p.Lock) > maxLock {
			t.Errorf("%d bytes of JSON, %v; want %d at most", len(data), err, kept)
		}
	})
}

func recorded(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/pool-busy.json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}
