package soak_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
	"github.com/pmcheck/pmcheck/drain"
)

// A master is what pmcheck probes.
type master interface {
	Address() string
	puppetConf() string
	kill() error
	start() error  // returns once it serves
	rotate() error // renews the host's certificate and key, and the CRL, on disk
}

// standIn is a master in this process, for the short form.
type standIn struct{ *checktest.Master }

func newStandIn(t *testing.T) standIn {
	t.Helper()
	m, err := checktest.NewMaster(t.TempDir(), "soak.lab.example", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return standIn{m}
}

func (m standIn) puppetConf() string { return m.Dir + "/puppet.conf" }

func (m standIn) kill() error { return m.Set(checktest.Stopped) }

func (m standIn) start() error {
	if err := m.Load(); err != nil {
		return err
	}
	return m.Set(checktest.Running)
}

func (m standIn) rotate() (err error) {
	if m.Leaf, err = m.CA.Issue(checktest.Template{Name: m.Name}); err != nil {
		return err
	}
	return m.WriteFiles()
}

// puppetServer is a real one, for the long form.
type puppetServer struct{ *lab.PuppetServer }

func (m puppetServer) puppetConf() string { return m.PuppetConf() }

func (m puppetServer) kill() error { m.Kill(); return nil }

func (m puppetServer) start() error {
	m.Start()
	m.WaitReady(2 * time.Minute)
	return nil
}

func (m puppetServer) rotate() error {
	m.IssueCert(m.Certname(), nil)
	m.RenewCRL()
	return nil
}

// restart kills the master and starts it again, and says when balancers may be
// told which.
func (w *world) restart(ctx context.Context, m master, address string) error {
	health := func(want int) error {
		return await(ctx, address, "?drain=200&maint=200", func(a heard) bool { return a.code == want })
	}
	w.fit.set(either)
	if err := m.kill(); err != nil {
		return err
	}
	if err := health(http.StatusServiceUnavailable); err != nil {
		return err
	}
	w.fit.set(no)
	pause(ctx, 200*time.Millisecond)
	w.fit.set(either)
	if err := m.start(); err != nil {
		return err
	}
	if err := health(http.StatusOK); err != nil {
		return err
	}
	w.fit.set(yes)
	return nil
}

// toggle drains and readies, each for about a second, until ctx ends, and counts.
func (w *world) toggle(ctx context.Context, store *drain.Store, address string, count *int) error {
	for ctx.Err() == nil {
		w.held.set(either)
		if _, err := store.Put(drain.Hold{Holder: drain.Operator, Mode: drain.Drain, Reason: "soak"}); err != nil {
			return err
		}
		if err := await(ctx, address, "", isDrain); err != nil {
			return err
		}
		w.held.set(yes)
		pause(ctx, rand.N(2*time.Second))
		w.held.set(either)
		if _, err := store.Lift(drain.Operator, ""); err != nil {
			return err
		}
		if err := await(ctx, address, "", func(a heard) bool { return !isDrain(a) }); err != nil {
			return err
		}
		w.held.set(no)
		*count += 2
		pause(ctx, rand.N(2*time.Second))
	}
	return nil
}

func isDrain(a heard) bool { return a.body == "drain" }

// pause waits, at the longest until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// await asks until the answer is as wanted. Not within seconds is an error; that
// ctx ends is none.
func await(ctx context.Context, address, query string, want func(heard) bool) error {
	const patience = 10 * time.Second
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	for end := time.Now().Add(patience); ctx.Err() == nil; pause(ctx, 2*time.Millisecond) {
		a, err := ask(client, "http://"+address+"/"+query, nil)
		if err != nil {
			return err
		}
		if want(a) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("after %v the answer is still %d %q", patience, a.code, a.body)
		}
	}
	return nil
}

// The judge tells answers that were true from those that were not.
func TestJudge(t *testing.T) {
	for _, test := range []struct {
		name      string
		held, fit truth
		heard     heard
		good      bool
	}{
		{"fit", no, yes, heard{code: 200, body: answer.Serving}, true},
		{"fit, but refused", no, yes, heard{code: 503, body: "unhealthy: refused"}, false},
		{"dead", no, no, heard{code: 503, body: "unhealthy: refused"}, true},
		{"dead, but serving", no, no, heard{code: 200, body: answer.Serving}, false},
		{"held", yes, yes, heard{code: 404, body: "drain"}, true},
		{"held, but serving", yes, yes, heard{code: 200, body: answer.Serving}, false},
		{"held, with another's code", yes, yes, heard{code: 503, body: "drain"}, false},
		{"ready, but drained", no, yes, heard{code: 404, body: "drain"}, false},
		{"being held", either, yes, heard{code: 200, body: answer.Serving}, true},
		{"being held, already", either, yes, heard{code: 404, body: "drain"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := &world{}
			w.held.set(test.held)
			w.fit.set(test.fit)
			test.heard.asked, test.heard.told = time.Now(), time.Now()
			err := w.judge(test.heard, http.StatusNotFound)
			if (err == nil) != test.good {
				t.Errorf("judged %v, want good: %v", err, test.good)
			}
		})
	}
}
