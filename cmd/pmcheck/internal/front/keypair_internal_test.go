package front

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check/checktest"
)

// A file that becomes readable by chmod has the size and the time that it had before.
func TestTLSListenerTriesBadFilesAgainEverySecond(t *testing.T) {
	ca, err := checktest.NewCA("Test CA")
	if err != nil {
		t.Fatal(err)
	}
	dir, changed := t.TempDir(), time.Now().Add(-time.Hour)
	write := func(name string, data []byte) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, changed, changed); err != nil {
			t.Fatal(err)
		}
	}
	issue := func() (serial string, key []byte) {
		t.Helper()
		leaf, err := ca.Issue(checktest.Template{Name: "puppet1.example.test"})
		if err != nil {
			t.Fatal(err)
		}
		if key, err = leaf.KeyPEM(); err != nil {
			t.Fatal(err)
		}
		write("cert.pem", leaf.CertificatePEM())
		return leaf.Certificate.SerialNumber.String(), key
	}
	var log bytes.Buffer
	now := time.Now()
	source := &keyPair{
		certificate: filepath.Join(dir, "cert.pem"),
		key:         filepath.Join(dir, "key.pem"),
		log:         slog.New(slog.NewTextHandler(&log, nil)),
		now:         func() time.Time { return now },
	}
	expect := func(step, serial string, warnings int) {
		t.Helper()
		config, err := source.config(nil)
		if err != nil {
			t.Fatalf("%s: %v", step, err)
		}
		if got := config.Certificates[0].Leaf.SerialNumber.String(); got != serial {
			t.Errorf("%s: the certificate %s is in use, want %s", step, got, serial)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != warnings {
			t.Errorf("%s: %d warnings in the log, want %d:\n%s", step, n, warnings, &log)
		}
	}
	before, key := issue()
	write("key.pem", key)
	expect("at the start", before, 0)

	changed = changed.Add(time.Minute)
	renewed, key := issue()
	bad := bytes.Repeat([]byte("x"), len(key))
	write("key.pem", bad)
	expect("renewed, with a bad key", before, 1)
	expect("at once again", before, 1)
	now = now.Add(time.Second)
	expect("still bad after a second", before, 1)
	write("key.pem", key)
	expect("mended in the same second", before, 1)
	now = now.Add(time.Second)
	expect("a second later", renewed, 1)

	changed = changed.Add(time.Minute)
	write("key.pem", bad)
	expect("bad once more", renewed, 2)
	if err := os.Remove(source.key); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Second)
	expect("bad in another way", renewed, 3)
	changed = changed.Add(time.Minute)
	write("key.pem", key)
	now = now.Add(time.Second)
	expect("mended", renewed, 3)
}
