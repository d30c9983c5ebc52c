package budget

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pmcheck/pmcheck/check/text"
)

// AskError is why the database did not answer. It wraps ErrUnreachable.
type AskError struct {
	Address string // of the database
	Err     error
}

// Error names the database and the cause on one line.
func (e *AskError) Error() string {
	cause := e.Err.Error()
	if said, is := errors.AsType[*pgconn.PgError](e.Err); is {
		cause = said.Message // without it, pgconn repeats host, user and database
	} else if failed, is := errors.AsType[*pgconn.ConnectError](e.Err); is {
		cause = errors.Unwrap(failed).Error()
	}
	return text.Printable(fmt.Sprintf("%v: %s: %s", ErrUnreachable, e.Address, cause), maxReason)
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
		return "pg_hba.conf and pg_ident.conf of the database must let this host's certificate in: see leaving.md"
	case "3F000", "42883": // invalid_schema_name, undefined_function
		return "its schema is missing: see pmcheck budget --schema"
	}
	return said.Hint
}
