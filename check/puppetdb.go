package check

import (
	"context"
	"encoding/json"
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

	PuppetDBDown Reason = "puppetdb-down"
	PuppetDBName Reason = "puppetdb-certificate-name"
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
	Address string `yaml:"address"`
}

func puppetdb() Check {
	return Check{
		Name:     CheckPuppetDB,
		Severity: Warn,
		Shared:   true,
		Reasons: causes(OfPool, "", "PuppetDB answers that it is running",
			row{
				reason: PuppetDBDown,
				begins: "PuppetDB does not answer, or says that it does not run",
				hint: "systemctl status puppetdb postgresql; while it is starting, it migrates its database: wait; " +
					"catalogs fail unless soft_write_failure is set",
			},
			row{
				reason: PuppetDBName,
				begins: "PuppetDB's certificate lacks the name in puppetdb.address",
				hint:   "set puppetdb.address to a name in PuppetDB's certificate, as in puppetdb.conf",
			},
		),
		Needs:    Needs{Families: []string{"AF_INET", "AF_INET6"}},
		Settings: PuppetDBSettings{},
		Run:      Run(PuppetDBSettings.run),
		Interval: puppetdbEvery,
		Timeout:  puppetdbTimeout,
	}
}

// PuppetDB returns the settings of the check puppetdb.
func (l List) PuppetDB() PuppetDBSettings { return settingsOf[PuppetDBSettings](l) }

// run returns what asks PuppetDB, on a connection that is kept from one run to the next; nil without an address.
func (s PuppetDBSettings) run(h Host) Runner {
	if s.Address == "" {
		return nil
	}

	client := &puppetclient.Client{
		Address:     s.Address,
		ServerName:  s.certname(h.Certname),
		Credentials: h.Credentials,
		Timeout:     puppetdbTimeout,
	}
	return func(ctx context.Context) Finding { return checkPuppetDB(ctx, client) }
}

// certname returns the name that PuppetDB's certificate must have, on a host whose own
// certname is given: the host of Address, or the own name if that is localhost or a loopback
// address. PuppetDB's packages make its certificate from the host's own.
func (s PuppetDBSettings) certname(own string) string {
	host, _, _ := net.SplitHostPort(s.Address) // dialing reports an address without a port

	ip, err := netip.ParseAddr(host)
	isLoopback := err == nil && ip.IsLoopback()
	if host == "localhost" || isLoopback {
		return own
	}
	return host
}

func checkPuppetDB(ctx context.Context, client *puppetclient.Client) Finding {
	f := newFinding(CheckPuppetDB)
	a, err := client.Do(ctx, "/status/v1/services/puppetdb-status")
	fault := faultOf(err)
	if fault == nil {
		return f.readPuppetDB(a)
	}

	// The trouble may be this host's own, or the address another program's.
	if healthOf(fault.Reason) == Unknown || fault.Reason == puppetclient.BadResponse {
		return f.unknown(err.Error())
	}

	f.State = StateBad
	f.Reason = PuppetDBDown
	if fault.Reason == puppetclient.ServerCertName {
		f.Reason = PuppetDBName
	}
	f.Detail = err.Error()
	return f
}

// readPuppetDB returns the finding for a response of PuppetDB.
func (f Finding) readPuppetDB(a puppetclient.Response) Finding {
	var s struct {
		State string `json:"state"` // starting during maintenance, error without its database
	}
	err := json.Unmarshal(a.Body, &s)
	f.Value = text.Printable(s.State, 40)
	said := fmt.Sprintf("%s: HTTP status %d, state %q", a.URL, a.Status, f.Value)

	fails := a.Status >= http.StatusInternalServerError
	tells := a.Status == http.StatusOK && err == nil && s.State != ""
	if !fails && !tells {
		return f.unknown(said)
	}
	if fails || s.State != "running" {
		f.State = StateBad
		f.Reason = PuppetDBDown
		f.Detail = said
	}
	return f
}
