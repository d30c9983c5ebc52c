package cli

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/puppetclient"
	"github.com/pmcheck/pmcheck/drain"
)

// nasty returns a long text that clears a terminal, begins a new line and reverses the
// direction of text.
func nasty() string {
	return "a\x1b[2J\u009b31mb\nroot# \u202e\u200f\xffc" + strings.Repeat("x", 10<<10)
}

func TestReportIsPrintedWithoutControlCharacters(t *testing.T) {
	name := pkix.Name{CommonName: nasty()}
	certificate := &x509.Certificate{Subject: name, Issuer: name, NotAfter: time.Now()}
	result := check.Result{Fault: &check.Fault{Reason: puppetclient.BadResponse, Err: errors.New(nasty())}}
	result.Response = puppetclient.Response{
		URL:     nasty(),
		Status:  200,
		Server:  certificate,
		Own:     certificate,
		CRLs:    []*x509.RevocationList{{Issuer: name, NextUpdate: time.Now()}},
		Warning: errors.New(nasty()),
	}
	findings := []check.Finding{{Check: "jruby", State: check.StateWarn, Value: nasty(), Detail: nasty()}}
	var out strings.Builder
	writeReport(&out, check.Verdict{Health: check.Unknown, Detail: nasty()}, nasty(), result, findings, time.Now())
	assertPrintable(t, out.String())
}

func TestProgressIsPrintedWithoutControlCharacters(t *testing.T) {
	var out strings.Builder
	p := newProgress(&out)
	p.Done(nasty())
	p.Note(&out, drain.Hold{Holder: nasty(), Mode: drain.Maint, Path: nasty(), Error: nasty()}.String())
	assertPrintable(t, out.String())
	assertPrintable(t, p.Last)
	for line := range strings.Lines(out.String()) {
		if len(line) > 1001 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}

func assertPrintable(t *testing.T, text string) {
	t.Helper()
	evil := func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }
	for line := range strings.Lines(text) {
		if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), evil) || strings.HasPrefix(line, "root#") {
			t.Errorf("not printable, or forged: %.300q", line)
		}
	}
}
