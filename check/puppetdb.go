package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// PuppetDB asks the database behind the master how it is. The masters of a
// farm usually share one, so what is wrong with it is wrong with all of them,
// and no master is better than another: let it warn.
type PuppetDB struct {
	Client *Client // of PuppetDB, not of the master
}

const puppetdbPath = "/status/v1/services/puppetdb-status"

// Check asks, and asks once more at once if that fails. It is safe for
// concurrent use.
func (p *PuppetDB) Check(ctx context.Context) Finding {
	f := Finding{Check: CheckPuppetDB, Checked: time.Now()}
	status, body, err := p.Client.Get(ctx, puppetdbPath, maxAnswer)
	if err != nil && ctx.Err() == nil {
		status, body, err = p.Client.Get(ctx, puppetdbPath, maxAnswer)
	}
	f.State, f.Reason = StateOK, OK
	if err == nil {
		f.Value, err = readPuppetDB(status, body)
	}
	var fault *Fault
	switch {
	case err == nil:
	case !errors.As(err, &fault) || fault.Health() == Unknown || fault.Reason == BadAnswer:
		f.State, f.Reason, f.Detail = StateNone, NotKnown, err.Error()
	default:
		f.State, f.Health, f.Reason, f.Detail = StateBad, Unhealthy, PuppetDBDown, err.Error()
		if fault.Reason == PuppetDBMaintained {
			f.Reason = PuppetDBMaintained
		}
	}
	return f
}

// puppetdbStatus is the answer of PuppetDB's service puppetdb-status. Old
// versions lack the flags of the databases.
type puppetdbStatus struct {
	State  string `json:"state"`
	Status struct {
		Maintenance *bool  `json:"maintenance_mode?"`
		Read        *bool  `json:"read_db_up?"`
		Write       *bool  `json:"write_db_up?"`
		Queue       *int64 `json:"queue_depth"`
	} `json:"status"`
}

// readPuppetDB concludes from an answer. The error is a *Fault if it says that
// PuppetDB does not work, and another if it says nothing.
func readPuppetDB(code int, body []byte) (value string, err error) {
	if code != http.StatusOK && code != http.StatusServiceUnavailable {
		if code >= http.StatusInternalServerError {
			return "", &Fault{Reason: PuppetDBDown, Detail: fmt.Sprintf("%s: HTTP status %d", puppetdbPath, code)}
		}
		return "", fmt.Errorf("%s: HTTP status %d", puppetdbPath, code)
	}
	var s puppetdbStatus
	if err := json.Unmarshal(body, &s); err != nil {
		return "", fmt.Errorf("%s: %w", puppetdbPath, err)
	}
	down := func(r Reason, what string) (string, error) {
		return s.value(), &Fault{Reason: r, Detail: "PuppetDB " + what}
	}
	switch {
	case is(s.Status.Maintenance, true):
		return down(PuppetDBMaintained, "is in maintenance mode: it starts, or migrates its database")
	case is(s.Status.Write, false):
		return down(PuppetDBDown, "cannot reach the database it writes to")
	case is(s.Status.Read, false):
		return down(PuppetDBDown, "cannot reach the database it reads from")
	case s.State == "running" && code == http.StatusOK:
		return s.value(), nil
	case s.State == "":
		return "", errors.New(puppetdbPath + ": no state in the answer")
	}
	return down(PuppetDBDown, fmt.Sprintf("says %s, with HTTP status %d", clean(s.State, 40), code))
}

func is(flag *bool, value bool) bool { return flag != nil && *flag == value }

// value says how PuppetDB is, for a reader.
func (s puppetdbStatus) value() string {
	if s.Status.Queue == nil {
		return clean(s.State, 40)
	}
	return fmt.Sprintf("%s, queue depth %d", clean(s.State, 40), *s.Status.Queue)
}
