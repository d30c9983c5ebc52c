//go:build linux

package lab

import (
	"context"
	"crypto/tls"
	"io"
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
	req, err := http.NewRequest(http.MethodGet, "https://"+q.certname+path, nil)
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Accept", "application/json, */*") // Puppet's own API requires the header
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}
