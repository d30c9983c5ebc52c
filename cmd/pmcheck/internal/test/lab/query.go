//go:build linux

package lab

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
)

// A query is one request to a Puppet Server over a new connection. It accepts any server
// certificate.
type query struct {
	certname string // the server's, for SNI and Host, which must agree
	certs    []tls.Certificate
	dial     func(ctx context.Context, network, address string) (net.Conn, error)
}

func (q query) get(path string) (code int, body string, err error) {
	client := http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true,
			ServerName:         q.certname,
			Certificates:       q.certs,
		},
		DialContext:       q.dial,
		DisableKeepAlives: true,
	}}
	header := http.Header{"Accept": {"application/json, */*"}} // Puppet's own API requires it
	return get(&client, "https://"+q.certname+path, header)
}
