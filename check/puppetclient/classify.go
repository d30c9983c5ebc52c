package puppetclient

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"time"
)

// classify turns the error of a failed request into an Error. The last connection, if
// there was one, may know more: the alert with which the server ended it.
func classify(err error, m *material, c *conn, address string, now time.Time) *Error {
	var own *Error
	if errors.As(err, &own) {
		return own // from our own verification
	}
	alert := err
	if refusal := c.refusal(); refusal != nil {
		alert = refusal
	}
	if remoteAlert(alert) {
		if own := m.ownError(now); own != nil {
			return own
		}
		return &Error{
			Reason: OwnCertRefused,
			Detail: "the master refused our certificate " + m.own.Leaf.Subject.CommonName,
			Err:    alert,
		}
	}
	return networkError(err, address)
}

func networkError(err error, address string) *Error {
	var (
		lookup *net.DNSError
		record tls.RecordHeaderError
		op     *net.OpError
	)
	switch {
	case errors.As(err, &lookup):
		return &Error{Reason: NameLookup, Err: err}
	case timedOut(err):
		return &Error{Reason: Timeout, Detail: "no answer from " + address + " in time"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &Error{Reason: Refused, Detail: "connection to " + address + " refused"}
	case errors.As(err, &record):
		return &Error{Reason: TLSFailed, Detail: address + " does not speak TLS", Err: err}
	case errors.As(err, &op) && op.Op == "dial":
		return &Error{Reason: Unreachable, Err: err}
	case errors.As(err, &op) && op.Op == "local error":
		return &Error{Reason: TLSFailed, Detail: "TLS with " + address, Err: err}
	case isAny(err, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
		syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE):
		return &Error{Reason: ConnectionLost, Detail: address + " closed the connection without an answer"}
	}
	return &Error{Reason: BadAnswer, Detail: "the answer of " + address, Err: err}
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

func timedOut(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &timeout) && timeout.Timeout()
}
