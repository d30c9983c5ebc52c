package status

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// The check expiry, the page and the metrics have one list.
func TestProbeStatusOmitsWhatWasReplaced(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	in := func(days int) time.Time { return now.AddDate(0, 0, days) }
	p := NewProbeStatus("localhost:8140", check.Result{Answer: puppetclient.Answer{
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
	}})
	var left []string
	for _, e := range p.Expiries() {
		left = append(left, strings.Join([]string{e.Of, e.Name, e.Serial, e.Until.Format(time.DateOnly)}, " "))
	}
	want := []string{"ca root 3 2027-12-27", "ca sub 2 2027-09-18", "crl root 0 2027-06-10", "crl sub 1 2027-09-18"}
	if !slices.Equal(left, want) {
		t.Errorf("got %q, want %q", left, want)
	}
}
