package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// ProofFile is the document with the tables of results that the suites write.
const ProofFile = "packaging/doc/proof.md"

// proofEnv names the file that Publish writes to; make proof sets it.
const proofEnv = "LAB_PROOF"

// File returns the path of a file in the repository.
func File(tb testing.TB, name string) string {
	tb.Helper()
	dir, err := os.Getwd()
	Must(tb, err)
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, name)
		}
		if dir == filepath.Dir(dir) {
			tb.Fatal("no go.mod above the working directory")
		}
	}
}

// ReadFile returns the content of a file in the repository.
func ReadFile(tb testing.TB, name string) string {
	tb.Helper()
	return Read(tb, File(tb, name))
}

// Proof returns the text of ProofFile between the markers of a section.
func Proof(tb testing.TB, section string) string {
	tb.Helper()
	_, text, _, err := cutSection(ReadFile(tb, ProofFile), section)
	if err != nil {
		tb.Fatalf("%s: %v", ProofFile, err)
	}
	return text
}

// Publish writes text, the results of a suite, between the markers of a section of the file
// that LAB_PROOF names. It does nothing if LAB_PROOF is unset or the test has failed.
// Several suites may publish at the same time.
func Publish(tb testing.TB, section, text string) {
	tb.Helper()
	path := os.Getenv(proofEnv)
	if tb.Failed() || path == "" {
		return
	}
	lock, err := os.Open(path)
	Must(tb, err)
	defer lock.Close()
	Must(tb, unix.Flock(int(lock.Fd()), unix.LOCK_EX))
	before, _, after, err := cutSection(Read(tb, path), section)
	if err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
	Write(tb, path, before+strings.Trim(text, "\n")+"\n"+after)
}

// cutSection returns the parts of a document before, between and after the markers of a
// section. The markers themselves are in the first and last part.
func cutSection(document, section string) (before, text, after string, err error) {
	begin, end := "<!-- begin "+section+" -->\n", "<!-- end "+section+" -->\n"
	head, rest, found := strings.Cut(document, begin)
	text, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", "", "", fmt.Errorf("no section between %q and %q", begin, end)
	}
	return head + begin, text, end + tail, nil
}
