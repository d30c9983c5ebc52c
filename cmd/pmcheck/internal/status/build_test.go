package status

import (
	"slices"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
)

// The check expiry, the page and the metrics have one list.
func TestProbeStatusOmitsWhatWasReplaced(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	in := func(days int) time.Time { return now.AddDate(0, 0, days) }
	p := NewProbeStatus("localhost:8140", check.Result{
		CAs: []check.Certificate{
			{Subject: "root", Serial: "1", NotAfter: in(-1)},
			{Subject: "sub", Serial: "2", NotAfter: in(300)},
			{Subject: "root", Serial: "3", NotAfter: in(400)},
		},
		CRLs: []check.CRL{
			{Issuer: "root", Expires: in(200)},
			{Issuer: "root", Expires: in(-1)},
			{Issuer: "sub", Expires: in(300)},
			{Issuer: "other"},
		},
	})
	var left []string
	for _, ca := range p.CAs {
		left = append(left, ca.Subject+" "+ca.Serial)
	}
	for _, crl := range p.CRLs {
		left = append(left, crl.Issuer+" "+crl.Expires.Format(time.DateOnly))
	}
	want := []string{"root 3", "sub 2", "root 2027-06-10", "sub 2027-09-18"}
	if !slices.Equal(left, want) {
		t.Errorf("got %q, want %q", left, want)
	}
	if first, found := p.FirstCRL(); !found || first.Expires != in(200) {
		t.Errorf("the first CRL to expire: %+v, %v", first, found)
	}
}
