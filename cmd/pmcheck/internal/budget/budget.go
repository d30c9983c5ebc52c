// Package budget keeps count, in a PostgreSQL table, of the masters of a pool that are
// out, so that not too many leave at once.
//
// A master claims a slot before it leaves and gives it back once it is in service
// again. The rules are functions in the database, see schema.sql.
//
// A Keeper keeps the slot of a daemon's master up to date, and knows the Status of the budget. Nothing here keeps a
// connection. Each call makes one, and returns within [Timeout].
package budget

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// Timeout is how long a call may take, name lookup and handshake included.
const Timeout = 2 * time.Second

//go:embed schema.sql
var schema string

// Schema returns the SQL that creates or updates what is in the database.
func Schema() string { return schema }

// ErrUnreachable says that the database did not answer the question, for whatever
// reason. What it would have said is not known.
var ErrUnreachable = errors.New("the budget cannot be asked")

// Client asks the database of one configuration. It is safe for concurrent use.
type Client struct {
	settings    config.Budget
	maxOut      answer.MaxOut
	credentials *puppetclient.Credentials
}

// New returns a client for a configuration with a budget. It shows the certificate of
// the probe.
func New(c config.Config) *Client {
	return &Client{
		settings:    c.Budget,
		maxOut:      c.MaxOut,
		credentials: &puppetclient.Credentials{Files: c.Probe.Files},
	}
}

// Claim is a master's wish to leave.
type Claim struct {
	Reason    string
	By        string // who asks
	InService bool   // balancers are told to use the master
	Force     bool   // leave even if as many are out as may be
}

// Claim takes a slot. A master that has one keeps it. The error is a *TakenError or wraps ErrUnreachable.
func (c *Client) Claim(ctx context.Context, want Claim) error {
	v, err := c.usage(ctx, "claim($1, $2, $3, $4, $5, $6, $7)",
		text.Printable(want.Reason, maxReason), text.Printable(want.By, maxLabel),
		strconv.FormatBool(want.InService), strconv.FormatBool(want.Force))
	if err != nil {
		return err
	}

	// A row that is only recorded, of a master that went out without asking, is no slot that was claimed.
	if own, found := v.Own(); !found || own.Recorded {
		return &TakenError{Slots: v.Others(), Allowed: v.Allowed}
	}
	return nil
}

// Renew says that the master is out. One that has not claimed a slot is recorded as
// out, whatever others are.
func (c *Client) Renew(ctx context.Context, reason string) (Usage, error) {
	return c.usage(ctx, "renew($1, $2, $3, $4)", text.Printable(reason, maxReason))
}

// Settle is how long a master must be back in service before its slot is free, so that a master that
// fails again at once keeps it. A command claims a slot and then writes its hold: that takes less.
const Settle = 30 * time.Second

// Return gives the master's slot back, unless it was claimed within Settle.
func (c *Client) Return(ctx context.Context) (Usage, error) {
	return c.usage(ctx, "give_back($1, $2, $3, $4)", interval(Settle))
}

// Look only reads.
func (c *Client) Look(ctx context.Context) (Usage, error) { return c.usage(ctx, "look($1, $2, $3)") }

// usage calls a function whose first arguments are the pool, the lapse and max_out. The error wraps ErrUnreachable.
func (c *Client) usage(ctx context.Context, call string, args ...string) (u Usage, err error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()

	always := []string{c.settings.Pool, interval(c.settings.Lapse), c.maxOut.String()}
	data, err := c.ask(ctx, "select pmcheck."+call, append(always, args...))
	if err == nil {
		u, err = parseUsage(data)
	}
	if err == nil {
		return u, nil
	}

	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", Timeout)
	}
	database := c.settings.Database
	return Usage{}, &AskError{Address: net.JoinHostPort(database.Host, database.Port), Err: err}
}

func interval(d time.Duration) string {
	return strconv.FormatInt(d.Milliseconds(), 10) + " milliseconds"
}

// ask runs one statement on a connection of its own and returns the only column of its only row.
func (c *Client) ask(ctx context.Context, sql string, args []string) ([]byte, error) {
	settings, err := session(c.settings.Database)
	if err != nil {
		return nil, err
	}
	settings.TLSConfig, err = c.credentials.TLS(ctx, c.settings.Database.Host)
	if err != nil {
		return nil, err
	}

	conn, err := pgconn.ConnectConfig(ctx, settings)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)

	values := make([][]byte, len(args))
	for i, arg := range args {
		values[i] = []byte(arg)
	}
	result := conn.ExecParams(ctx, sql, values, nil, nil, nil).Read()
	if result.Err != nil {
		return nil, result.Err
	}
	if len(result.Rows) != 1 || len(result.Rows[0]) != 1 {
		return nil, errors.New("unexpected answer")
	}
	return result.Rows[0][0], nil
}

// neutral overrides the PG variables and the files in a home directory that pgconn
// reads by itself: root's must not lead elsewhere.
const neutral = "host=%s port=%s user=%s dbname=%s password='' passfile=/dev/null krbsrvname='' krbspn='' " +
	"sslmode=disable sslcertmode=allow sslnegotiation=postgres sslrootcert='' connect_timeout=0 " +
	"target_session_attrs=any require_auth='' channel_binding=disable min_protocol_version=3.0 max_protocol_version=3.0"

// session returns settings that no variable and no file has a part in, and none of the server's defaults. Neutral
// cannot override PGSERVICE, whose file is always read. A claim must see what was committed while it waited for its
// lock: with a snapshot from before, both of two claims would find the pool free.
func session(at config.Database) (*pgconn.Config, error) {
	_ = os.Unsetenv("PGSERVICE")
	settings, err := pgconn.ParseConfig(fmt.Sprintf(neutral, at.Host, at.Port, at.Role, at.Name))
	if err != nil {
		return nil, err
	}

	settings.BuildFrontend = func(from io.Reader, to io.Writer) *pgproto3.Frontend {
		return pgproto3.NewFrontend(&limited{from: from, left: maxSent}, to)
	}
	settings.RuntimeParams = map[string]string{
		"application_name":              "pmcheck",
		"statement_timeout":             strconv.FormatInt(Timeout.Milliseconds(), 10),
		"default_transaction_isolation": "read committed",
	}
	return settings, nil
}

// limited reads no more from a server than left bytes: pgconn keeps every row and every text that is sent.
type limited struct {
	from io.Reader
	left int
}

func (l *limited) Read(b []byte) (int, error) {
	if l.left == 0 {
		return 0, fmt.Errorf("the answer is longer than %d MiB", maxSent>>20)
	}
	n, err := l.from.Read(b[:min(len(b), l.left)])
	l.left -= n
	return n, err
}

// AskError is why the database did not answer. It wraps ErrUnreachable.
type AskError struct {
	Address string // of the database
	Err     error
}

// Error names the database and the cause on one line.
func (e *AskError) Error() string {
	return text.Printable(fmt.Sprintf("%v: %s: %s", ErrUnreachable, e.Address, e.cause()), maxReason)
}

// cause returns what the server or the network says. The errors of pgconn repeat host, user and database.
func (e *AskError) cause() string {
	if said, is := errors.AsType[*pgconn.PgError](e.Err); is {
		return said.Message
	}
	if failed, is := errors.AsType[*pgconn.ConnectError](e.Err); is {
		return errors.Unwrap(failed).Error()
	}
	return e.Err.Error()
}

// Unwrap returns ErrUnreachable and the cause.
func (e *AskError) Unwrap() []error { return []error{ErrUnreachable, e.Err} }

// Hint says what an administrator can do about an error of a Client; it may be empty.
func Hint(err error) string {
	said, is := errors.AsType[*pgconn.PgError](err)
	if !is {
		return ""
	}

	switch said.Code {
	case "28000": // invalid_authorization_specification
		return "pg_hba.conf and pg_ident.conf of the database must let this host's certificate in: see leaving-reference.md"
	case "3F000", "42883": // invalid_schema_name, undefined_function
		return "its schema is missing: see pmcheck budget --schema"
	}
	return said.Hint
}
