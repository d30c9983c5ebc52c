package front_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/check/checktest"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/front"
)

// A daemon that is started with bad files fails, so the log must name them before.
func TestTLSListenerLogsBadFilesOnceAndKeepsTheGoodOnes(t *testing.T) {
	ca, err := checktest.NewCA("Test CA")
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := ca.Issue(checktest.Template{Name: "puppet1.example.test"})
	if err != nil {
		t.Fatal(err)
	}
	private, err := leaf.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certificate, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write := func(path string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(certificate, leaf.CertificatePEM())
	write(key, private)
	var log bytes.Buffer
	config, err := front.ServerTLS(certificate, key, "", slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	write(key, []byte("damaged"))
	for range 3 {
		if now, err := config.GetConfigForClient(nil); err != nil || len(now.Certificates) != 1 {
			t.Fatalf("a handshake gets no certificate while the key is bad: %v", err)
		}
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 {
		t.Errorf("%d warnings in the log, want one:\n%s", n, &log)
	}
}
