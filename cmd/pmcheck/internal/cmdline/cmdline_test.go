package cmdline_test

import (
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/cmdline"
)

// commands returns some of pmcheck's commands, as cli describes them.
func commands() []cmdline.Command {
	service := cmdline.Flag{Names: []string{"service"}, Usage: "act on `SERVICE`"}
	return []cmdline.Command{
		{Name: "status", Flags: []cmdline.Flag{
			{Names: []string{"host"}},
			{Names: []string{"watch", "w"}, Kind: cmdline.Switch},
		}},
		{Name: "drain", Flags: []cmdline.Flag{
			service,
			{Names: []string{"hold"}},
			{Names: []string{"force"}, Kind: cmdline.Switch},
		}},
		{Name: "haproxy", Flags: []cmdline.Flag{{Names: []string{"fall"}, Kind: cmdline.Number}}},
	}
}

func TestMistakeNamesTheFlagAndTheFix(t *testing.T) {
	const unknown = "flag provided but not defined: -"
	drain, haproxy := commands()[1], commands()[2]
	for _, tt := range []struct {
		name          string
		command       cmdline.Command
		typed, said   string
		problem, hint string
	}{
		{
			"misspelt flag", drain, "drain --hols x", unknown + "hols",
			"pmcheck drain has no flag --hols", "did you mean --hold?",
		},
		{
			"flag for another host", drain, "drain --host m2", unknown + "host",
			"pmcheck drain has no flag --host", "drain acts on this host only; for the other: ssh m2 sudo pmcheck drain",
		},
		{
			"flag of another command", haproxy, "", unknown + "w",
			"pmcheck haproxy has no flag -w", "-w is a flag of pmcheck status",
		},
		{
			"flag before the command", cmdline.Command{}, "--hold x drain", unknown + "hold",
			"pmcheck has no flag --hold", "flags come after the command: pmcheck drain --hold x",
		},
		{
			"command with dashes", cmdline.Command{}, "--status", unknown + "status",
			"pmcheck has no flag --status", "pmcheck status",
		},
		{
			"value is not a number", haproxy, "", `invalid value "x" for flag -fall: parse error`,
			`--fall: "x" is not a whole number`, "pmcheck haproxy --help lists the flags",
		},
		{
			"value of a switch", drain, "", `invalid boolean value "x" for -force: parse error`,
			"--force: takes no value", "pmcheck drain --help lists the flags",
		},
		{
			"value is missing", drain, "", "flag needs an argument: -hold",
			"--hold needs a value", "pmcheck drain --help lists the flags",
		},
		{"anything else", drain, "", "no such thing", "no such thing", "pmcheck drain --help lists the flags"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := cmdline.Line{Commands: commands(), Command: tt.command, Typed: strings.Fields(tt.typed)}
			problem, hint := l.Mistake(tt.said)
			if problem != tt.problem || hint != tt.hint {
				t.Errorf("%q, %q\nwant %q, %q", problem, hint, tt.problem, tt.hint)
			}
		})
	}
}

func TestTheHintOfARefusalCanBeTypedInAShell(t *testing.T) {
	for _, tt := range []struct {
		command string
		typed   []string
		want    string
	}{
		{"drain", []string{"drain"}, "pmcheck drain --service server"},
		{"drain", []string{"drain", "--wait=10m", "-r", "it's a new one"},
			`pmcheck drain --service server --wait=10m -r 'it'\''s a new one'`},
		{"drain", []string{"drain", "--reason", ""}, "pmcheck drain --service server --reason ''"},
		{"with-hold", []string{"with-hold", "--", "sh", "-c", "a && b >$c"},
			"pmcheck with-hold --service server -- sh -c 'a && b >$c'"},
	} {
		l := cmdline.Line{Command: cmdline.Command{Name: tt.command}, Typed: tt.typed}
		if got := l.LastServer(true); got != "for catalogs only: "+tt.want+"; for all services: --force" {
			t.Errorf("%q: %s\nwant %s", tt.typed, got, tt.want)
		}
	}
}

func TestStrayWordGetsItsFlag(t *testing.T) {
	flags := func(names ...string) (list []cmdline.Flag) {
		for _, name := range names {
			list = append(list, cmdline.Flag{Names: []string{name}})
		}
		return list
	}
	wait := cmdline.Command{Name: "wait", Flags: flags("for", "timeout", "service")}
	drain := cmdline.Command{Name: "drain", Flags: flags("for", "service", "reason")}
	check := cmdline.Command{Name: "check", Flags: flags("explain")}
	for _, tt := range []struct {
		command    cmdline.Command
		word, hint string
	}{
		{wait, "ready", "write --for ready"},
		{wait, "out", "write --for out"},
		{wait, "5m", "write --timeout 5m"},
		{wait, "ca", "write --service ca"},
		{wait, "m2", "wait acts on this host only"},
		{drain, "5m", "write --for 5m"},
		{drain, "ready", "drain acts on this host only; a reason is given with --reason"},
		{drain, "ca", "write --service ca"},
		{check, "ca", "check acts on this host only"},
	} {
		l := cmdline.Line{Commands: commands(), Command: tt.command}
		_, hint := l.Arguments([]string{tt.word}, nil, func(string) bool { return false })
		if hint != tt.hint {
			t.Errorf("%s %s: %q, want %q", tt.command.Name, tt.word, hint, tt.hint)
		}
	}
}

func TestUnknownCommandIsNeverTakenForTheOpposite(t *testing.T) {
	l := cmdline.Line{Commands: commands()}
	for name, want := range map[string]string{
		"drian":   "did you mean pmcheck drain?",
		"undrain": "pmcheck ready",
		"cordon":  "pmcheck drain",
		"xyzzy":   "pmcheck --help lists the commands",
	} {
		if hint := l.UnknownCommand(name); hint != want {
			t.Errorf("%s: %q, want %q", name, hint, want)
		}
	}
}

func TestCompletionScriptsHaveEachCommandAndFlag(t *testing.T) {
	for _, shell := range cmdline.Shells() {
		var script strings.Builder
		if err := cmdline.WriteCompletion(&script, shell, commands()); err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"status", "drain", "haproxy", "watch", "hold", "fall", "services"} {
			if !strings.Contains(script.String(), word) {
				t.Errorf("%s: no %s", shell, word)
			}
		}
	}
}
