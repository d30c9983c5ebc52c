package puppetconf

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/mistake"
)

// TestPuppetConfIsReadAsPuppetReadsIt compares what pmcheck reads with what Puppet's own library read in the same files
// (TestPuppetReadsTheKeptAnswers in test/e2e). pmcheck may report a mistake where Puppet has a value, for the reasons
// in cautious; it must never have another value.
func TestPuppetConfIsReadAsPuppetReadsIt(t *testing.T) {
	data, err := os.ReadFile("testdata/puppetconf.txt")
	if err != nil {
		t.Fatal(err)
	}
	agree, reported, careful := 0, 0, 0
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
		puppetReports := unread || len(puppet) < len(inEmpty)
		for name := range inEmpty {
			_, puppetKnows := puppet[name]
			_, weKnow := ours[name]
			differs = differs || !puppetKnows && weKnow && !unread
		}

		switch {
		case differs, unread && len(mistakes) == 0:
			t.Errorf("%s\nPuppet reads %q\npmcheck reads %q", fields[0], fields[1:], ours)
		case len(mistakes) == 0:
			agree++
		case puppetReports:
			reported++
		default:
			careful++
			for _, one := range mistakes {
				if !isCautious(one) {
					t.Errorf("%s\nPuppet reads %q\npmcheck says %s", fields[0], fields[1:], one)
				}
			}
		}
	}
	t.Logf("%d files: %d agree; %d mistakes of Puppet's kind and %d that only pmcheck calls one are reported; 0 differ",
		agree+reported+careful, agree, reported, careful)
	if agree < 150 || reported < 100 {
		t.Error("the files no longer show much")
	}
}

// cautious are the mistakes that pmcheck reports where Puppet has a value, each with why. None is that pmcheck does not
// know a setting that Puppet knows.
var cautious = map[string]string{
	"is not an absolute path": "Puppet completes it with the directory that each process was started in",
	"is not a certname":       "Puppet Server has no certificate of that name",
	"is a list":               "Puppet writes it as Ruby shows it, in brackets",
	"007 is not a number":     "Ruby reads it as octal",
	"is not a port":           "Puppet prints its complaint as the value",
	"and mode, not  (":        "Puppet lets {,} pass",
	"references do not end":   "Puppet looks up one of the defaults before it knows where the packaging has its ssldir",
}

func isCautious(one mistake.Mistake) bool {
	for problem := range cautious {
		if strings.Contains(one.Problem, problem) {
			return true
		}
	}
	return false
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

// pmcheckAnswers returns what pmcheck reads, and its mistakes.
func pmcheckAnswers(text string) (answers map[string]string, mistakes []mistake.Mistake) {
	debian := layout{
		confdir: "/etc/puppet",
		ssldir:  "/var/lib/puppet/ssl",
		vardir:  "/var/lib/puppetserver",
		codedir: "/etc/puppet/code",
		rundir:  "/run/puppetserver",
		logdir:  "/var/log/puppetserver",
		public:  "/var/cache/puppet/public",
		cadir:   "/etc/puppet/puppetserver/ca",
		seen:    newSight("/nonexistent"),
	}
	conf, mistakes := parse("puppet.conf", []byte(text), debian.puppet3)
	if len(mistakes) > 0 {
		return nil, mistakes
	}

	answers = map[string]string{}
	for as, settings := range map[program][]string{
		puppetServer: {"certname", "ssldir", "hostcert", "hostprivkey", "localcacert", "hostcrl",
			"certificate_revocation", "serverport"},
		puppetAgent: {"dns_alt_names", "server", "ca_server", "environment"},
	} {
		const certname = "m1.example.org" // as the host is called there
		reader := conf.reader(as, debian, certname)
		for _, setting := range settings {
			value := reader.value(setting)
			if one, is := value.err.(mistake.Mistake); is {
				mistakes = append(mistakes, one)
				continue
			}
			answers[string(as)+"."+setting] = value.text
		}
		mistakes = append(mistakes, conf.cannotStart(as, debian, certname)...)
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
