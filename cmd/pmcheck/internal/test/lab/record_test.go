//go:build linux

package lab_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

func TestRecordHasEachChangeOfTheAnswer(t *testing.T) {
	var answer atomic.Value
	answer.Store("200 ok")
	r := lab.StartRecord(t, time.Millisecond, func() string { return answer.Load().(string) })
	r.WaitMore(3)
	changed := time.Now()
	answer.Store("503 drain")
	down := r.WaitOne([]string{"503 drain", "503 maint"}, changed, 10*time.Second)
	answer.Store(lab.NoAnswer)
	r.WaitOne([]string{lab.NoAnswer}, changed, 10*time.Second)
	answer.Store("200 ok")
	r.WaitOne([]string{"200 ok"}, down.At, 10*time.Second)
	total := r.Stop().Total()

	if told := r.Told(); told != "200 ok, 503 drain, 200 ok" {
		t.Errorf("the answers were %s", told)
	}
	if !down.At.After(changed) || r.First("503") != down.At {
		t.Errorf("WaitOne found the drain at %v and First at %v, want the same time after %v",
			down.At, r.First("503"), changed)
	}
	if r.Count("200 ok")+r.Count("503 drain")+r.Count(lab.NoAnswer) != total || r.Outage() <= 0 {
		t.Errorf("%d answers, but the counts are %s; outage %v, want above zero", total, r.Counts(), r.Outage())
	}
	if total != r.Total() {
		t.Error("the record continues after Stop")
	}
}

func TestRecordOnlyFailsTheTestForAnyOtherAnswer(t *testing.T) {
	for answer, fails := range map[string]bool{"200 ok": false, "503 drain": true} {
		tb := &failingTB{TB: t}
		lab.StartRecord(tb, time.Millisecond, func() string { return answer }).Stop().AssertOnly("200 ok")
		if failed := strings.Contains(tb.error, "503 drain"); failed != fails {
			t.Errorf("%s: fails with %q", answer, tb.error)
		}
	}
}
