package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/check/text"
)

// The name of the check, and its reasons.
const (
	CheckPuppetDB = "puppetdb"

	PuppetDBDown       Reason = "puppetdb-down"
	PuppetDBMaintained Reason = "puppetdb-maintenance"
	PuppetDBName       Reason = "puppetdb-certificate-name"
)

const (
	// puppetdbEvery is the time between two requests: PuppetDB is shared, and each master asks.
	puppetdbEvery = 15 * time.Second
	// puppetdbTimeout is how long PuppetDB may take to report its state. Without its
	// database it tries for seconds to connect before it reports an error.
	puppetdbTimeout = 10 * time.Second
)

// PuppetDBSettings say where the master's PuppetDB answers.
type PuppetDBSettings struct {
	// Address is host:port; if it is empty, the check does not run.
	Address string `yaml:"address" target:"localhost:8081"`
}

func puppetdb() Check {
	s := &PuppetDBSettings{}
	return Check{
		Name:     CheckPuppetDB,
		Severity: Warn,
		Shared:   true,
		Reasons: []Cause{
			{PuppetDBDown, "systemctl status puppetdb postgresql; catalogs fail unless soft_write_failure is set"},
			{PuppetDBMaintained, "wait: PuppetDB is migrating its database; see puppetdb.log"},
			{PuppetDBName, "set puppetdb.address to a name in PuppetDB's certificate, as in puppetdb.conf"},
		},
		Settings: s,
		Schedule: func(h Host) *Scheduled {
			if s.Address == "" {
				return nil
			}
			client := &puppetclient.Client{
				Address:     s.Address,
				ServerName:  s.certname(h.Certname),
				Credentials: h.Credentials,
				Timeout:     puppetdbTimeout,
			}
			check := func(ctx context.Context) Finding { return checkPuppetDB(ctx, client) }
			return &Scheduled{Check: check, Interval: puppetdbEvery, Timeout: puppetdbTimeout}
		},
	}
}

// certname returns the name that PuppetDB's certificate must have, on a host whose own
// certname is given: the host of Address, or the own name if that is localhost or a loopback
// address. PuppetDB's packages make its certificate from the host's own.
func (s *PuppetDBSettings) certname(own string) string {
	host, _, _ := net.SplitHostPort(s.Address) // dialing reports an address without a port
	if ip, err := netip.ParseAddr(host); host == "localhost" || err == nil && ip.IsLoopback() {
		return own
	}
	return host
}

const puppetdbPath = "/status/v1/services/puppetdb-status"

func checkPuppetDB(ctx context.Context, client *puppetclient.Client) Finding {
	f := newFinding(CheckPuppetDB)
	a, err := client.Do(ctx, puppetdbPath)
	if err == nil {
		f.Value, err = readPuppetDB(a.Status, a.Body)
	}
	switch fault := faultOf(err); {
	case err == nil:
		return f
	case fault == nil || healthOf(fault.Reason) == Unknown || fault.Reason == puppetclient.BadAnswer:
		return f.unknown(err.Error())
	case fault.Reason == PuppetDBMaintained:
		f.Reason = PuppetDBMaintained
	case fault.Reason == puppetclient.ServerCertName:
		f.Reason = PuppetDBName
	default:
		f.Reason = PuppetDBDown
	}
	f.State, f.Detail = StateBad, err.Error()
	return f
}

// readPuppetDB reads an answer of PuppetDB. It returns a *Fault if the answer says that
// PuppetDB does not work, and another error if it says nothing about PuppetDB.
func readPuppetDB(code int, body []byte) (value string, err error) {
	if code != http.StatusOK && code != http.StatusServiceUnavailable {
		err := fmt.Errorf("%s: HTTP status %d", puppetdbPath, code)
		if code >= http.StatusInternalServerError {
			return "", &Fault{Reason: PuppetDBDown, Err: err}
		}
		return "", err
	}
	var s struct {
		State  string `json:"state"` // error without a database
		Status struct {
			Maintenance bool   `json:"maintenance_mode?"`
			Queue       *int64 `json:"queue_depth"`
		} `json:"status"`
	}
	if err := json.Unmarshal(body, &s); err != nil {
		return "", fmt.Errorf("%s: %w", puppetdbPath, err)
	}
	value = text.Printable(s.State, 40)
	if s.Status.Queue != nil {
		value += fmt.Sprintf(", queue depth %d", *s.Status.Queue)
	}
	switch {
	case s.State == "":
		return "", errors.New(puppetdbPath + ": no state in the answer")
	case s.Status.Maintenance:
		return value, &Fault{Reason: PuppetDBMaintained,
			Err: errors.New("PuppetDB is in maintenance mode: it is starting, or migrating its database")}
	case s.State != "running" || code != http.StatusOK:
		return value, &Fault{Reason: PuppetDBDown,
			Err: fmt.Errorf("PuppetDB says %s, with HTTP status %d: does it reach its database?", value, code)}
	}
	return value, nil
}
