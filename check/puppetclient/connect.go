package puppetclient

import (
	"context"
	"net"
	"strings"
)

// Dial connects to host:port, as the client does, without TLS. The error is an
// *Error.
func Dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := connect(ctx, address)
	if err != nil {
		return nil, networkError(err, address)
	}
	return conn, nil
}

// connect connects to host:port. It resolves localhost itself, as RFC 6761 section 6.3
// asks for: a master must not look dead because a resolver does not answer, or
// because a line of /etc/hosts was lost.
func connect(ctx context.Context, address string) (net.Conn, error) {
	dialer := new(net.Dialer)
	host, port, err := net.SplitHostPort(address)
	if err != nil || !strings.EqualFold(host, "localhost") {
		return dialer.DialContext(ctx, "tcp", address)
	}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
	if err == nil {
		return conn, nil
	}
	if conn, other := dialer.DialContext(ctx, "tcp", net.JoinHostPort("::1", port)); other == nil {
		return conn, nil
	}
	return nil, err
}
