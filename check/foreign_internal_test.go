package check

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/pmcheck/pmcheck/check/puppetclient"
)

// A certificate may have names and a serial number of any length, and any number of names.
func TestNamesInCertificatesAreBounded(t *testing.T) {
	now := time.Now()
	names := slices.Repeat([]string{strings.Repeat("x", 60) + ".example.com"}, 10_000)
	shown := &x509.Certificate{
		Subject:      pkix.Name{CommonName: "\x1b[2J" + strings.Repeat("x", 200_000)},
		SerialNumber: new(big.Int).Lsh(big.NewInt(1), 80_000),
		DNSNames:     names,
		NotAfter:     now.AddDate(1, 0, 0),
	}
	list := &x509.RevocationList{Issuer: shown.Subject, NextUpdate: shown.NotAfter}
	r := Result{Response: puppetclient.Response{
		Server: shown,
		Own:    shown,
		CAs:    []*x509.Certificate{shown},
		CRLs:   []*x509.RevocationList{list},
	}}
	for _, e := range r.Expiries() {
		if len(e.Name) > maxName || len(e.Serial) > maxName || !strings.HasPrefix(e.Name, "[2Jxxx") {
			t.Errorf("%s: a name of %d bytes, a serial number of %d", e.Of, len(e.Name), len(e.Serial))
		}
	}
	got := ExpirySettings{Warn: time.Hour, Names: []string{"puppet"}}.judge(r, now)
	if got.Reason != NameMissing || len(got.Detail) > 700 {
		t.Errorf("%s, %d bytes", got.Reason, len(got.Detail))
	}
	wrong := &puppetclient.Error{Reason: puppetclient.ServerCertName, Err: shown.VerifyHostname("puppet")}
	if n := len(wrong.Error()); n > 1000 {
		t.Errorf("an error of %d bytes", n)
	}
}

// FuzzPuppetDB: only a response of 200 that says running is fine, and little of any response is kept.
func FuzzPuppetDB(f *testing.F) {
	f.Add(200, []byte(`{"state":"running","status":{"read_db_up?":true}}`))
	f.Add(503, []byte(`{"state":"error"}`))
	f.Add(200, []byte(`{"state":"\u001b[2J`+strings.Repeat("x", 1000)+`"}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		a := puppetclient.Response{URL: "https://puppetdb:8081/status", Status: status, Body: body}
		got := newFinding(CheckPuppetDB).readPuppetDB(a)
		if got.State == StateOK && (status != 200 || got.Value != "running") || got.Health != "" {
			t.Errorf("%d %q: %+v", status, body, got)
		}
		if len(got.Value) > 40 || len(got.Detail) > 300 || strings.ContainsFunc(got.Value+got.Detail, unicode.IsControl) {
			t.Errorf("%d %q: kept %+v", status, body, got)
		}
	})
}

// FuzzCode: whatever r10k, g10k and git have recorded, the code gets an ID that is short and says nothing of files
// elsewhere.
func FuzzCode(f *testing.F) {
	f.Add(`{"signature":"8820892b7ea4","deploy_success":true,"module_deploys":[{"name":"stdlib"}]}`, "", "", "")
	f.Add("", `{"deploy_success":false,"puppetfile_checksum":"ab"}`, "", "")
	f.Add(`{"deploy_success":false,"finished_at":"\u001b[2J 2026-11-20 09:01:00 +0000"}`, "", "", "")
	f.Add(`{"module_deploys":[null,1,[]]}`, "[[[[", "ref: refs/heads/main\n", "0123456789abcdef0123456789abcdef01234567\n")
	f.Add("", "", "ref: ../../../../../../etc/hostname", "0123456789abcdef0123456789abcdef0123456")
	f.Add("", "", "0123456789abcdef0123456789abcdef01234567", "")
	form := regexp.MustCompile(`^[0-9A-Fa-f]{12}$`)
	f.Fuzz(func(t *testing.T, r10k, g10k, head, main string) {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, ".git/refs/heads"), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{
			".r10k-deploy.json": r10k, ".g10k-deploy.json": g10k, ".git/HEAD": head, ".git/refs/heads/main": main,
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		e := codeTrees{}.environment(t.Context(), dir)
		if !form.MatchString(e.ID) {
			t.Errorf("ID %q", e.ID)
		}
		if len(e.Failed) > maxMoment || strings.ContainsFunc(e.Failed, unicode.IsControl) {
			t.Errorf("failed at %q", e.Failed)
		}
	})
}
