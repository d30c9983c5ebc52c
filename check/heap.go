package check

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/check/text"
)

// The name of the check, and its reasons.
const (
	CheckHeap = "heap"

	GCThrashing      Reason = "gc-thrashing"
	HeapFull         Reason = "heap-full"
	MetaspaceGrowing Reason = "metaspace-growing"
)

// HeapSettings say how often the JVM is asked, and what it may use.
type HeapSettings struct {
	// Interval is the time between two looks.
	Interval time.Duration `yaml:"interval" min:"1s" max:"10m"`
	// GCPercent is the share of the time in garbage collection from which the check
	// reports gc-thrashing.
	GCPercent int `yaml:"gc_percent" min:"1" max:"100"`
	// FullPercent is the share of the old generation that is left in use by collections
	// from which the check reports heap-full.
	FullPercent int `yaml:"full_percent" min:"1" max:"100"`
	// Ahead is how long before the old generation or the metaspace will be full, at the
	// growth that was seen, the check begins to warn.
	Ahead time.Duration `yaml:"ahead" min:"10s" max:"30d"`
}

// heapTimeout is how long the server may take to answer. One that collects garbage most
// of the time is the one that this check is about, and answers late.
const heapTimeout = 10 * time.Second

func heap() Check {
	s := &HeapSettings{Interval: time.Minute, GCPercent: 30, FullPercent: 90, Ahead: 12 * time.Hour}
	return Check{
		Name:     CheckHeap,
		Title:    "the memory of the JVM",
		Severity: Warn,
		Asks: "GET /status/v1/services/status-service?level=debug of the master: the time in garbage collection, what " +
			"collections leave of the old generation, metaspace, threads, and how these grow.",
		Why: "A heap that is too small, or a leak after code deployments, makes the JVM collect garbage most of the " +
			"time. Catalogs take minutes, and Puppet Server's status is still running.",
		Because: "the masters of a pool run the same code with the same heap, so eject could take out all of them at " +
			"the same time. A forecast, and metaspace that grows, only ever warn.",
		Do: "pmcheck with-hold -- systemctl restart puppetserver. Then give it more heap (-Xmx in JAVA_ARGS), fewer " +
			"JRubies, or max-requests-per-instance. If it grows with each deployment, see environment_timeout.",
		Reasons: []Cause{
			{GCThrashing, "", "the heap is too small for its JRubies: raise -Xmx in JAVA_ARGS or lower " +
				"max-active-instances; a restart helps for a while if something leaks"},
			{HeapFull, "", "pmcheck with-hold -- systemctl restart puppetserver; if it fills again, raise -Xmx in " +
				"JAVA_ARGS, or set max-requests-per-instance against a leak"},
			{MetaspaceGrowing, "", "classes are loaded and never freed, as after many flushes of JRubies: raise " +
				"max-requests-per-instance, or pmcheck with-hold -- systemctl restart puppetserver before the memory is full"},
		},
		Settings: s,
		Schedule: func(h Host) *Scheduled {
			client, own := h.shared()
			c := &heapCheck{client: client, HeapSettings: *s}
			return &Scheduled{
				Check:    c.check,
				Interval: s.Interval,
				Timeout:  heapTimeout,
				Unused:   unusedFactor * s.Interval,
				Client:   own,
			}
		},
	}
}

const jvmPath = "/status/v1/services/status-service?level=debug"

// heapCheck asks for the memory of the JVM.
type heapCheck struct {
	client *puppetclient.Client
	HeapSettings
	jvmHistory
}

// check asks once. What it cannot find out is unknown, and never counts against the
// master.
func (c *heapCheck) check(ctx context.Context) Finding {
	f := newFinding(CheckHeap)
	jvm, err := c.ask(ctx)
	switch {
	case errors.Is(err, errNoJVM):
		return f.absent(err.Error())
	case err != nil:
		return f.unknown(err.Error())
	}
	asked := f.Checked
	c.jvmHistory.add(jvm, c.Interval)
	f = c.judge(jvm, asked)
	f.Check, f.Checked, f.JVM, f.Value = CheckHeap, asked, jvm, jvm.value()
	return f
}

func (c *heapCheck) ask(ctx context.Context) (*JVM, error) {
	a, err := c.client.Do(ctx, puppetclient.Request{
		Path:      jvmPath,
		Limit:     maxAnswer,
		Timeout:   heapTimeout,
		Handshake: longHandshake,
	})
	switch {
	case err != nil:
		return nil, err
	case a.Status == http.StatusNotFound:
		return nil, fmt.Errorf("%w: %s: HTTP status %d", errNoJVM, jvmPath, a.Status)
	case a.Status != http.StatusOK && a.Status != http.StatusServiceUnavailable:
		return nil, fmt.Errorf("%s: HTTP status %d", jvmPath, a.Status)
	}
	jvm, err := parseJVM(a.Body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", jvmPath, err)
	}
	return jvm, nil
}

// judge returns the finding for the newest look.
func (c *heapCheck) judge(j *JVM, now time.Time) Finding {
	share, after := int(100*j.GCShare), percent(j.OldAfterGC, j.OldMax)
	left, fills := c.old.full(float64(j.OldMax))
	what, grown, grows := c.metaspaceEnd(j)
	if fills {
		j.FullAt = now.Add(left)
	} else if grows {
		j.FullAt = now.Add(grown)
	}
	full := fmt.Sprintf("%d%%", c.FullPercent)
	switch {
	case c.settled() && share >= c.GCPercent:
		return finding(StateBad, Unhealthy, GCThrashing, fmt.Sprintf("%d%%", c.GCPercent),
			"%d%% of the time goes into garbage collection; %s", share, j.heap())
	case j.OldAfterGC > 0 && after >= c.FullPercent:
		return finding(StateBad, Unhealthy, HeapFull, full, "%s: hardly anything can be collected", j.heap())
	case fills && left < c.Ahead:
		return finding(StateWarn, "", HeapFull, text.Duration(c.Ahead),
			"%s, and it grows: full in about %s", j.heap(), text.Age(left))
	case grows && grown < c.Ahead:
		return finding(StateWarn, "", MetaspaceGrowing, text.Duration(c.Ahead),
			"%s of metaspace are in use, and it grows: %s in about %s", mebibytes(j.Metaspace), what, text.Age(grown))
	}
	return Finding{State: StateOK, Reason: OK, Threshold: full}
}
