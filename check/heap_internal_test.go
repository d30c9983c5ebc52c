package check

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The answers were recorded from Puppet Server 7.9.5 on OpenJDK 17.
func TestRecordedJVMIsRead(t *testing.T) {
	tests := []struct {
		name string
		want JVM
	}{
		{"jvm-serial.json", JVM{
			OldUsed:   214023288,
			OldMax:    357957632,
			GCSeconds: 3.156,
			Metaspace: 147142288,
			Threads:   55,
			up:        52494 * time.Millisecond,
			fullGCs:   5,
			metaspace: space{147142288, 0},
			classes:   space{34290208, 1 << 30},
		}},
		{"jvm-g1.json", JVM{
			OldUsed:   236900352,
			OldMax:    512 << 20,
			GCSeconds: 5.368,
			partGCs:   41,
			Metaspace: 157920120,
			Threads:   55,
			up:        198428 * time.Millisecond,
			metaspace: space{157920120, 0},
			classes:   space{34097304, 1 << 30},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseJVM(read(t, tt.name))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(&tt.want, got, cmp.AllowUnexported(JVM{}, space{}), cmpopts.EquateApprox(0, 1e-9)); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// jvmAnswer returns an answer of status-service with these members of jvm-metrics.
func jvmAnswer(members string) string {
	return `{"status":{"experimental":{"jvm-metrics":{` + members + `}}}}`
}

func TestOldGenerationOfEachCollectorIsFound(t *testing.T) {
	for _, tt := range []struct {
		collector, pools, gc string
		used, fullGCs        float64
		seconds              float64
	}{
		{"parallel", `"PS Old Gen":{"type":"HEAP","usage":{"used":5,"max":10}},` +
			`"PS Eden Space":{"type":"HEAP","usage":{"used":7,"max":20}}`,
			`"PS MarkSweep":{"count":3,"total-time-ms":2000},"PS Scavenge":{"count":9,"total-time-ms":1000}`, 5, 3, 3},
		{"CMS", `"CMS Old Gen":{"type":"HEAP","usage":{"used":5,"max":10}},` +
			`"Par Eden Space":{"type":"HEAP","usage":{"used":7,"max":20}}`,
			`"ConcurrentMarkSweep":{"count":3,"total-time-ms":2000},"ParNew":{"count":9,"total-time-ms":1000}`, 5, 3, 3},
		{"ZGC", `"ZHeap":{"type":"HEAP","usage":{"used":5,"max":10}}`,
			`"ZGC Cycles":{"count":3,"total-time-ms":9000},"ZGC Pauses":{"count":9,"total-time-ms":1000}`, 5, 3, 1},
		{"ZGC with generations", `"ZGC Young Generation":{"type":"HEAP","usage":{"used":7,"max":10}},` +
			`"ZGC Old Generation":{"type":"HEAP","usage":{"used":5,"max":10}}`,
			`"ZGC Major Cycles":{"count":3,"total-time-ms":9000},"ZGC Major Pauses":{"count":9,"total-time-ms":1000}`,
			5, 3, 1},
		{"Shenandoah", `"Shenandoah":{"type":"HEAP","usage":{"used":5,"max":10}}`,
			`"Shenandoah Cycles":{"count":3,"total-time-ms":9000},"Shenandoah Pauses":{"count":9,"total-time-ms":1000}`,
			5, 3, 1},
		{"not reported", ``, `"Copy":{"count":3,"total-time-ms":1000}`, 0, 0, 1},
	} {
		t.Run(tt.collector, func(t *testing.T) {
			members := `"up-time-ms":1,"memory-pools":{` + tt.pools + `},"gc-stats":{` + tt.gc + `}`
			j, err := parseJVM([]byte(jvmAnswer(members)))
			if err != nil {
				t.Fatal(err)
			}
			if float64(j.OldUsed) != tt.used || j.fullGCs != tt.fullGCs || j.GCSeconds != tt.seconds {
				t.Errorf("%d used, %g collections, %g s; want %g, %g, %g", j.OldUsed, j.fullGCs, j.GCSeconds, tt.used,
					tt.fullGCs, tt.seconds)
			}
		})
	}
}

func TestBadJVMIsRefused(t *testing.T) {
	const up, gc = `"up-time-ms":5000`, `"gc-stats":{"Copy":{"count":1,"total-time-ms":1}}`
	pool := func(usage string) string {
		return jvmAnswer(up + `,` + gc + `,"memory-pools":{"Tenured Gen":{"type":"HEAP","usage":` + usage + `}}`)
	}
	for _, tt := range []struct{ name, body string }{
		{"nothing", ""},
		{"a web page", "<html>It works!</html>"},
		{"level info", `{"service_version":"1.1.1","state":"running","status":{}}`},
		{"no uptime", jvmAnswer(gc)},
		{"no uptime yet", jvmAnswer(`"up-time-ms":0.4,` + gc)},
		{"no collectors", jvmAnswer(up + `,"gc-stats":{}`)},
		{"a number as a string", jvmAnswer(`"up-time-ms":"5000",` + gc)},
		{"more memory than there is", pool(`{"used":1e300,"max":1}`)},
		{"a negative limit", pool(`{"used":1,"max":-2}`)},
		{"less than nothing in use", pool(`{"used":-1,"max":1}`)},
		{"a negative count", jvmAnswer(up + `,"gc-stats":{"Copy":{"count":-1,"total-time-ms":1}}`)},
		{"pools as a list", jvmAnswer(up + `,` + gc + `,"memory-pools":[]`)},
		{"truncated", string(read(t, "jvm-g1.json")[:400])},
		{"nested 10,000 deep", nested(10_000)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := parseJVM([]byte(tt.body)); err == nil {
				t.Errorf("accepted: %+v", got)
			}
		})
	}
}

// FuzzParseJVM: a JVM that is accepted can be judged with another one, and the finding
// encoded as JSON.
func FuzzParseJVM(f *testing.F) {
	f.Add(read(f, "jvm-serial.json"), read(f, "jvm-g1.json"))
	f.Add([]byte(nested(100)), []byte(jvmAnswer("")))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		c := newHeapCheck()
		for range 3 {
			for _, body := range [][]byte{first, second} {
				j, err := parseJVM(body)
				if err != nil {
					continue
				}
				c.add(j, c.Interval)
				found := c.judge(j, time.Now())
				found.JVM, found.Value = j, j.value()
				if j.GCShare < 0 || j.GCShare > 1 || (found.State == StateOK) != (found.Detail == "") {
					t.Errorf("%+v: %+v", j, found)
				}
				if _, err := json.Marshal(found); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

func newHeapCheck() *heapCheck { return &heapCheck{HeapSettings: *Settings[HeapSettings](All())} }

// A jvmAt describes a JVM at successive looks, one a minute from a minute after its start.
type jvmAt func(minute int) (old, metaspace, fullGCs, gcSeconds float64)

// at returns the JVM at a look.
func (at jvmAt) at(minute int, limit uint64) *JVM {
	old, metaspace, full, gc := at(minute)
	return &JVM{
		OldUsed:   uint64(old * mib),
		OldMax:    limit * mib,
		Metaspace: uint64(metaspace * mib),
		GCSeconds: gc,
		up:        time.Duration(minute) * time.Minute,
		fullGCs:   full,
		metaspace: space{used: metaspace * mib},
	}
}

const mib = 1 << 20

func TestHeapIsJudgedFromSuccessiveLooks(t *testing.T) {
	const limit = 1000 // of the old generation, in MiB
	// serial collects the old generation when it is full, once an hour.
	serial := func(live func(minute int) float64) jvmAt {
		return func(minute int) (float64, float64, float64, float64) {
			last := minute - minute%60
			garbage := min(10*float64(minute-last), limit-live(last))
			return live(last) + garbage, 150, float64(minute / 60), float64(minute) / 60
		}
	}
	// quick collects it within each minute.
	quick := func(live func(minute int) float64) jvmAt {
		return func(minute int) (float64, float64, float64, float64) {
			return live(minute), 150, float64(minute), float64(minute)
		}
	}
	// g1 never collects it as a whole, but in part, every half hour.
	g1 := func(live float64) jvmAt {
		return func(minute int) (float64, float64, float64, float64) {
			return live + 10*float64(minute%30), 150, 0, float64(minute) / 60
		}
	}
	classes := func(metaspace func(minute int) float64) jvmAt {
		return func(minute int) (float64, float64, float64, float64) { return 950, metaspace(minute), 0, 0 }
	}
	constant := func(v float64) func(int) float64 { return func(int) float64 { return v } }
	linear := func(from, each float64) func(int) float64 {
		return func(minute int) float64 { return min(from+each*float64(minute), limit) }
	}
	for _, tt := range []struct {
		name   string
		jvm    jvmAt
		looks  int
		state  State
		health Health
		reason Reason
	}{
		{"the first look, of a full generation", quick(constant(999)), 1, StateOK, "", OK},
		{"plenty of room", quick(constant(400)), 300, StateOK, "", OK},
		{"full at a third collection", quick(constant(900)), 4, StateBad, Unhealthy, HeapFull},
		{"not yet full at a second", quick(constant(999)), 3, StateOK, "", OK},
		{"almost full", quick(constant(899)), 300, StateOK, "", OK},
		{"full of garbage between collections", serial(constant(400)), 239, StateOK, "", OK},
		{"full after the third collection in three hours", serial(constant(950)), 181, StateBad, Unhealthy, HeapFull},
		{"full, and not collected any more", func(minute int) (float64, float64, float64, float64) {
			return 950, 150, float64(min(minute, 5)), 0
		}, 600, StateBad, Unhealthy, HeapFull},
		{"full, then flushed", func(minute int) (float64, float64, float64, float64) {
			if minute < 20 {
				return 950, 150, float64(minute), 0
			}
			return 300, 150, float64(minute), 0
		}, 20, StateOK, "", OK},
		{"G1, much garbage", g1(600), 600, StateOK, "", OK},
		{"G1, full until it collects", g1(700), 600, StateOK, "", OK},
		{"G1, 90% in use", g1(900), 15, StateBad, Unhealthy, HeapFull},
		{"G1, 90% in use, for 14 minutes", g1(900), 14, StateOK, "", OK},
		{"almost no room, but no collections", classes(constant(150)), 600, StateOK, "", OK},
		{"a leak, in the first two hours", quick(linear(300, 1)), 100, StateOK, "", OK},
		{"a leak that fills the heap in 8 hours", quick(linear(300, 1)), 240, StateWarn, "", HeapFull},
		{"a leak that fills the heap in 12 hours", quick(linear(100, 1)), 180, StateOK, "", OK},
		{"a leak that fills the heap in two days", quick(linear(300, 0.2)), 600, StateOK, "", OK},
		{"a leak with one collection an hour", serial(linear(300, 0.8)), 780, StateWarn, "", HeapFull},
		{"growth that has ended", quick(func(minute int) float64 { return min(300+2*float64(minute), 500) }), 300,
			StateOK, "", OK},
		{"a third of the time in GC", func(minute int) (float64, float64, float64, float64) {
			return 500, 150, 0, 20 * float64(minute)
		}, 3, StateBad, Unhealthy, GCThrashing},
		{"the same, while it starts", func(minute int) (float64, float64, float64, float64) {
			return 500, 150, 0, 20 * float64(min(minute, 1))
		}, 3, StateOK, "", OK},
		{"both thrashing and full", func(minute int) (float64, float64, float64, float64) {
			return 950, 150, float64(minute), 40 * float64(minute)
		}, 10, StateBad, Unhealthy, GCThrashing},
		{"metaspace that doubles in 10 hours", classes(linear(150, 0.25)), 240, StateWarn, "", MetaspaceGrowing},
		{"metaspace that grows at the start", classes(func(minute int) float64 { return min(150+float64(minute), 250) }),
			300, StateOK, "", OK},
		{"metaspace that is freed now and then", classes(func(minute int) float64 { return 150 + float64(minute%70) }),
			600, StateOK, "", OK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, now := newHeapCheck(), time.Now()
			var f Finding
			for minute := range tt.looks {
				j := tt.jvm.at(1+minute, limit)
				if strings.HasPrefix(tt.name, "G1") {
					j.partGCs = 2 * float64(minute)
				}
				c.add(j, time.Minute)
				f = c.judge(j, now)
				f.Value = j.value()
			}
			if f.State != tt.state || f.Health != tt.health || f.Reason != tt.reason {
				t.Errorf("%s, %q, %s; want %s, %q, %s (%s; %s)", f.State, f.Health, f.Reason, tt.state, tt.health, tt.reason,
					f.Value, f.Detail)
			}
		})
	}
}

func TestRestartEndsALeak(t *testing.T) {
	leak := jvmAt(func(minute int) (float64, float64, float64, float64) {
		return 300 + float64(minute), 150, float64(minute), 0
	})
	c := newHeapCheck()
	look := func(minute int) Finding {
		j := leak.at(minute, 1000)
		c.add(j, time.Minute)
		return c.judge(j, time.Now())
	}
	for minute := range 240 {
		look(1 + minute)
	}
	if f := look(241); f.Reason != HeapFull {
		t.Fatalf("before the restart: %s, want %s", f.Reason, HeapFull)
	}
	if f := look(1); f.Reason != OK {
		t.Errorf("after the restart: %s (%s), want %s", f.Reason, f.Detail, OK)
	}
}
