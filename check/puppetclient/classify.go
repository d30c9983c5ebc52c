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

// classify turns the error of a failed request into an *Error. The last connection, if
// there was one, may know more: the alert with which the server ended it.
func classify(err error, m *material, c *conn, address string, now time.Time) error {
	var own *Error
	if errors.As(err, &own) {
		return own // from our own verification
	}
	alert := err
	if refusal := c.refusal(); refusal != nil {
		alert = refusal
	}
	if !remoteAlert(alert) {
		return networkError(err, address)
	}
	if err := m.ownError(now); err != nil {
		return err
	}
	return failed(OwnCertRefused, "the master refused our certificate %s: %w", m.own.Leaf.Subject.CommonName, alert)
}

func networkError(err error, address string) *Error {
	var (
		lookup *net.DNSError
		record tls.RecordHeaderError
		op     *net.OpError
	)
	switch {
	case errors.As(err, &lookup):
		return &Error{NameLookup, err}
	case timedOut(err):
		return failed(Timeout, "no answer from %s in time", address)
	case errors.Is(err, syscall.ECONNREFUSED):
		return failed(Refused, "connection to %s refused", address)
	case errors.As(err, &record):
		return failed(TLSFailed, "%s does not speak TLS: %w", address, err)
	case errors.As(err, &op) && op.Op == "dial":
		return &Error{Unreachable, err}
	case errors.As(err, &op) && op.Op == "local error":
		return failed(TLSFailed, "TLS with %s: %w", address, err)
	case isAny(err, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
		syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE):
		return failed(ConnectionLost, "%s closed the connection without an answer", address)
	}
	return failed(BadAnswer, "the answer of %s: %w", address, err)
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

func timedOut(err error) bool {
	var timeout net.Error
	return isAny(err, context.DeadlineExceeded, os.ErrDeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}
