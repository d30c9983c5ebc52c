package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/drain"
)

// fleetTime is how long a master may take to tell its status.
const fleetTime = 3 * time.Second

// member is one master of a pool, as it is seen from here, and its JSON.
type member struct {
	Host   string      `json:"host"`
	Status *api.Status `json:"status,omitempty"`
	Error  string      `json:"error,omitempty"` // why there is no status
}

// remote makes the client for a master's /status. A host is a name, a name
// with a port, or the URL of one that speaks TLS, which is verified with
// Puppet's CA.
func remote(host string, settings config.Config) (api.Client, error) {
	if !strings.Contains(host, "://") {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), "9200")
		}
		return api.Client{URL: "http://" + host}, nil
	}
	u, err := url.Parse(host)
	if err != nil || u.Host == "" || u.Path != "" || u.Scheme != "http" && u.Scheme != "https" {
		return api.Client{}, usageError("%q is not a host: write m1, m1:9200 or https://m1:9200", host)
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), "9200")
	}
	c := api.Client{URL: u.String()}
	if u.Scheme == "https" {
		bundle, err := os.ReadFile(settings.Probe.CA)
		if err != nil {
			return c, fmt.Errorf("CA for %s: %w", host, err)
		}
		c.TLS = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
		c.TLS.RootCAs.AppendCertsFromPEM(bundle)
	}
	return c, nil
}

// askFleet asks all masters at the same time.
func askFleet(ctx context.Context, hosts []string, clients []api.Client) []member {
	ctx, cancel := context.WithTimeout(ctx, fleetTime)
	defer cancel()
	members := make([]member, len(hosts))
	var work sync.WaitGroup
	for i := range hosts {
		work.Go(func() {
			members[i].Host = hosts[i]
			status, err := clients[i].Status(ctx)
			if err != nil {
				members[i].Error = err.Error()
				return
			}
			members[i].Status = &status
		})
	}
	work.Wait()
	return members
}

// printFleet writes the pool as a table.
func printFleet(w io.Writer, members []member) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "master\ttold\tmode\tverdict\tsince\tjrubies\tcode\tholds")
	for _, m := range members {
		if m.Status == nil {
			fmt.Fprintf(t, "%s\t-\t-\tno status: %s\n", m.Host, m.Error)
			continue
		}
		s, _ := m.Status.Service(monitor.Server)
		fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s ago\t%s\t%s\t%s\n", m.Host, s.Answer.Code, s.Mode, healthText(s.Verdict),
			ago(s.Verdict.Since, m.Status.Time), poolText(s.Checks), codeText(s.Checks), holdersText(m.Status.Holds))
	}
	t.Flush()
}

func healthText(v check.Verdict) string {
	if v.Reason == check.OK {
		return string(v.Health)
	}
	return string(v.Health) + ": " + string(v.Reason)
}

func poolText(checks []api.CheckStatus) string {
	for _, c := range checks {
		if c.Pool != nil {
			return fmt.Sprintf("%d/%d free", c.Pool.Free, c.Pool.Size)
		}
	}
	return "-"
}

// codeText is the id of the code of the first environment, production if
// there is one: masters with the same id have the same code.
func codeText(checks []api.CheckStatus) string {
	for _, c := range checks {
		text := "-"
		for i, e := range c.Code {
			if i == 0 || e.Name == "production" {
				text = e.ID
			}
		}
		if c.Check == check.CheckCode {
			return text
		}
	}
	return "-"
}

func holdersText(holds []api.HoldStatus) string {
	var names []string
	for _, h := range holds {
		names = append(names, h.Holder)
	}
	if len(names) == 0 {
		return "-"
	}
	return strings.Join(names, ",")
}

// fleetExit is the exit status for the worst of the masters.
func fleetExit(members []member) int {
	exit := exitOK
	for _, m := range members {
		switch {
		case m.Status == nil:
			return exitNoDaemon
		case statusExit(*m.Status) == exitUnhealthy:
			exit = exitUnhealthy
		case statusExit(*m.Status) == exitHeld && exit == exitOK:
			exit = exitHeld
		}
	}
	return exit
}

// fleetLine is the pool on one line, for a log.
func fleetLine(members []member) string {
	var parts []string
	for _, m := range members {
		text := "no status"
		if m.Status != nil {
			s, _ := m.Status.Service(monitor.Server)
			text = fmt.Sprintf("%d %s", s.Answer.Code, healthText(s.Verdict))
			if s.Mode != drain.Ready {
				text = fmt.Sprintf("%d %s", s.Answer.Code, s.Mode)
			}
		}
		parts = append(parts, m.Host+": "+text)
	}
	return strings.Join(parts, ", ")
}
