package cli

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/pmcheck/pmcheck/systemd"
)

// runsTime is how long systemd, or what listens on a port, may take to answer.
const runsTime = time.Second

// asker is systemd.AskService.
type asker func(ctx context.Context, unit string) (systemd.Service, error)

// daemonRuns reports whether a daemon runs: systemd has a process of it, or starts or stops one, or a daemon outside
// its unit answers. Without systemd, any process that accepts connections on the daemon's port is taken for it; with
// systemd that may be pmcheck.socket alone. If systemd does not answer in time, the daemon is assumed to run: a busy
// host slows down both.
func daemonRuns(ctx context.Context, listen string, ask asker) bool {
	asking, cancel := context.WithTimeout(ctx, runsTime)
	defer cancel()
	service, err := ask(asking, "pmcheck.service")
	if err != nil && asking.Err() != nil {
		return true
	}

	connecting, cancel := context.WithTimeout(ctx, runsTime)
	defer cancel()
	if err == nil {
		ended := slices.Contains([]string{"", "dead", "failed"}, service.SubState)
		return service.MainPID != 0 || !ended || isDaemon(connecting, listen)
	}

	conn, err := new(net.Dialer).DialContext(connecting, "tcp", listen)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// isDaemon reports whether a daemon answers on a port.
func isDaemon(ctx context.Context, listen string) bool {
	request := &http.Request{URL: &url.URL{Scheme: "http", Host: listen, Path: "/live"}, Header: http.Header{}}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(request.WithContext(ctx))
	if err != nil {
		return false
	}
	defer resp.Body.Close()

	said, err := io.ReadAll(io.LimitReader(resp.Body, 64))
	return err == nil && string(said) == "live"
}
