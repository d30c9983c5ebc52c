package check

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// classify says what a failed request means and whose affair it is. The last
// connection, if there was one, may know more than the error.
func classify(err error, m *material, c *conn, address string, now time.Time) *Fault {
	var fault *Fault
	if errors.As(err, &fault) {
		return fault // from our own verification
	}
	alert := err
	if refusal := c.refusal(); refusal != nil {
		alert = refusal
	}
	if remoteAlert(alert) {
		if own := m.ownFault(now); own != nil {
			return own
		}
		return &Fault{Reason: OwnCertRefused, Detail: "the master refused our certificate " + m.own.Leaf.Subject.CommonName, Err: alert}
	}
	return networkFault(err, address)
}

func networkFault(err error, address string) *Fault {
	var (
		lookup *net.DNSError
		record tls.RecordHeaderError
		op     *net.OpError
	)
	switch {
	case errors.As(err, &lookup):
		return &Fault{Reason: NameLookup, Err: err}
	case timedOut(err):
		return &Fault{Reason: Timeout, Detail: "no answer from " + address + " in time"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &Fault{Reason: Refused, Detail: "connection to " + address + " refused"}
	case errors.As(err, &record):
		return &Fault{Reason: TLSFailed, Detail: address + " does not speak TLS", Err: err}
	case errors.As(err, &op) && op.Op == "dial":
		return &Fault{Reason: Unreachable, Err: err}
	case errors.As(err, &op) && op.Op == "local error":
		return &Fault{Reason: TLSFailed, Detail: "TLS with " + address, Err: err}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.ECONNABORTED), errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed):
		return &Fault{Reason: ConnectionLost, Detail: address + " closed the connection without an answer"}
	}
	return &Fault{Reason: BadAnswer, Detail: fmt.Sprintf("the answer of %s", address), Err: err}
}

func timedOut(err error) bool {
	var timeout net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.As(err, &timeout) && timeout.Timeout()
}
