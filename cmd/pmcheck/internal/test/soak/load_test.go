//go:build linux

package soak_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// The load. Half of the balancers make a connection for each check, as HAProxy does; the
// other half keep their connections.
const (
	perSecond = 500
	balancers = 20
)

// A balancer sends requests at a fixed rate. Latency is measured by lab.Between from the
// time at which a request was due, so a request that is sent late adds to it.
type balancer struct {
	client    *http.Client
	url       string
	header    http.Header
	drainCode int

	took    []time.Duration
	answers map[int]int // by status code
}

func newBalancer(number int, address string) *balancer {
	b := &balancer{
		client: &http.Client{
			Timeout:   5 * time.Second,
			Transport: &http.Transport{DisableKeepAlives: number%2 == 0},
		},
		url:       "http://" + address + "/",
		header:    http.Header{},
		drainCode: http.StatusServiceUnavailable,
		answers:   map[int]int{},
	}
	if number%4 < 2 {
		b.header.Set("X-Haproxy-Server-State",
			"UP; name=puppet/m1; node=lb"+string(rune('a'+number))+"; weight=1/2; scur=0/0; qcur=0")
	}
	if number%3 == 0 {
		b.url, b.drainCode = b.url+"?drain=404", http.StatusNotFound
	}
	return b
}

// run sends requests until ctx ends. It returns an error at the first answer that is missing
// or wrong.
func (b *balancer) run(ctx context.Context, first time.Time, w *truths) error {
	defer b.client.CloseIdleConnections()
	const pace = time.Second * balancers / perSecond
	for due := first; ; due = due.Add(pace) {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Until(due)):
		}
		a, err := ask(b.client, b.url, b.header)
		if err == nil {
			err = w.judge(a, b.drainCode)
		}
		if err != nil {
			return err
		}
		b.took = append(b.took, lab.Between(due, a.answered))
		b.answers[a.code]++
	}
}

// ask sends one request.
func ask(client *http.Client, url string, header http.Header) (answer, error) {
	a := answer{asked: time.Now()}
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return a, err
	}
	req.Header = header
	resp, err := client.Do(req)
	if err != nil {
		return a, err
	}
	body, err := io.ReadAll(resp.Body)
	a.code, a.body, a.answered = resp.StatusCode, strings.TrimSuffix(string(body), "\n"), time.Now()
	return a, errors.Join(err, resp.Body.Close())
}
