package config

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestPuppetConfIsReadAsPuppetReadsIt compares what pmcheck reads with what Puppet's own library read in the same files
// (TestPuppetReadsTheKeptAnswers in test/e2e). pmcheck may report a mistake where Puppet has a value, such as a path
// that depends on the directory that Puppet was started in; it must never have another value.
func TestPuppetConfIsReadAsPuppetReadsIt(t *testing.T) {
	data, err := os.ReadFile("testdata/puppetconf.txt")
	if err != nil {
		t.Fatal(err)
	}
	agree, reported, cautious := 0, 0, 0
	var inEmpty map[string]string
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		text := unquote(t, fields[0])
		puppet := puppetAnswers(t, inEmpty, fields[1:])
		if inEmpty == nil {
			inEmpty = puppet
		}

		ours, mistakes := pmcheckAnswers(text)
		differs := false
		for name, value := range puppet {
			our, known := ours[name]
			differs = differs || known && our != value
		}
		unread := puppet["file"] != ""
		for name := range inEmpty {
			_, puppetKnows := puppet[name]
			_, weKnow := ours[name]
			differs = differs || !puppetKnows && weKnow && !unread
		}

		switch {
		case differs, unread && mistakes == 0:
			t.Errorf("%s\nPuppet reads %q\npmcheck reads %q", fields[0], fields[1:], ours)
		case mistakes == 0:
			agree++
		case unread || len(puppet) < len(inEmpty):
			reported++
		default:
			cautious++
		}
	}
	t.Logf("%d files: %d agree; %d mistakes of Puppet's kind and %d that only pmcheck calls one are reported; 0 differ",
		agree+reported+cautious, agree, reported, cautious)
	if agree < 150 || reported < 100 {
		t.Error("the files no longer show much")
	}
}

// puppetAnswers returns what Puppet reads, by section and setting. "file" is set if it reads nothing in the file.
func puppetAnswers(t *testing.T, inEmpty map[string]string, fields []string) map[string]string {
	t.Helper()
	answers := map[string]string{}
	for name, value := range inEmpty {
		answers[name] = value
	}
	for _, field := range fields {
		name, value, known := strings.Cut(field, "=")
		switch {
		case !known && strings.HasSuffix(name, "!"):
			delete(answers, strings.TrimSuffix(name, "!"))
		case !known:
			return map[string]string{"file": name}
		default:
			answers[name] = unquote(t, value)
			if strings.HasPrefix(answers[name], "/") {
				answers[name] = filepath.Clean(answers[name]) // Puppet keeps two slashes at the beginning
			}
		}
	}
	return answers
}

// pmcheckAnswers returns what pmcheck reads, and the number of its mistakes.
func pmcheckAnswers(text string) (answers map[string]string, mistakes int) {
	debian := Options{Root: "/nonexistent"}.layouts()[1]
	debian.vardir, debian.codedir, debian.puppet3 = "/var/lib/puppetserver", "/etc/puppet/code", false
	conf, faults := parsePuppetConf("puppet.conf", []byte(text), debian.puppet3)
	if len(faults) > 0 {
		return nil, len(faults)
	}

	answers = map[string]string{}
	for as, settings := range map[program][]string{
		puppetServer: {"certname", "ssldir", "hostcert", "hostprivkey", "localcacert", "hostcrl", "certificate_revocation",
			"serverport"},
		puppetAgent: {"dns_alt_names", "server", "ca_server"},
	} {
		defaults := debian.puppetDefaults()
		defaults["certname"] = "m1.example.org" // as the host is called there
		reader := conf.reader(as, defaults)
		for _, setting := range settings {
			value := reader.value(setting)
			if value.err != nil {
				mistakes++
				continue
			}
			answers[string(as)+"."+setting] = value.text
		}
		mistakes += len(conf.cannotStart(as, defaults))
	}
	return answers, mistakes
}

func unquote(t *testing.T, quoted string) string {
	t.Helper()
	text, err := strconv.Unquote(quoted)
	if err != nil {
		t.Fatalf("%s: %v", quoted, err)
	}
	return text
}
