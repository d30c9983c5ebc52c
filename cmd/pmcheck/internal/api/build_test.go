package api

import (
	"slices"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
)

func TestStatusWarnsOfAServerWithoutWeight(t *testing.T) {
	list := []Balancer{
		{Node: "lb1", Name: "puppet/m1", View: &View{State: "UP", Weight: 0, WeightTotal: 100}},
		{Node: "lb2", Name: "puppet/m1", View: &View{State: "UP", Weight: 1, WeightTotal: 100}},
		{Node: "lb3", Name: "puppet/m1", View: &View{State: "NOLB", Weight: 0, WeightTotal: 100}},
		{Node: "lb4"},
	}
	got := weightless(list)
	want := "balancer lb1 gives puppet/m1 no weight, hence no agents: its server line needs weight 100"
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want only %q", got, want)
	}
}

// The check expiry, the page, the metrics and the plugin for Nagios have one list.
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
