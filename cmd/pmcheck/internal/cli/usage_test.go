package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/daemon"
)

func TestMisuseIsNamedAndDoesNothing(t *testing.T) {
	const drainUsage = "hint: pmcheck drain --help shows the usage"
	for args, want := range map[string][]string{
		"drian":   {`unknown command "drian"`, `hint: Did you mean "pmcheck drain"?`},
		"undrain": {`unknown command "undrain"`, `hint: Did you mean "pmcheck ready"?`},

		"drain --raeson x":  {"flag provided but not defined: -raeson", drainUsage},
		"--config x status": {"flag provided but not defined: -config", "hint: pmcheck --help shows the usage"},

		// urfave/cli would ignore the flags after an argument.
		"drain now --reason x": {`pmcheck drain takes no argument "now"`, drainUsage},
		"ready --wait 10m":     {`takes no argument "10m"`},
		"with-hold --reason x": {"pmcheck with-hold needs a command"},

		"drain --for 10m --until 15:04": {"--for and --until cannot be combined"},
		"drain --for -1m":               {"--for: must be above 0, not -1m"},
		"drain --for soon":              {"--for: soon is not a duration (such as"},
		"drain --until yesterday":       {`--until: cannot parse time "yesterday"`},
		"drain --dry-run --until noon":  {`--until: cannot parse time "noon"`},
		"drain --hold ../../etc/passwd": {"--hold: "},
		"drain --force=x":               {`"x" for -force: `},
		"drain --reason":                {"flag needs an argument: -reason"},
		"ready --all --hold upgrade":    {"--all lifts every hold"},
		"wait":                          {"pmcheck wait needs --for=ready or --for=out", "hint: pmcheck wait --help"},
		"guard stop":                    {"guard takes stop, start, reload or reloaded, and a unit"},
		"guard stop --help":             {"guard takes stop, start, reload or reloaded, and a unit"},
		"gate shut":                     {"gate takes run or open"},
	} {
		t.Run(args, func(t *testing.T) {
			dir := t.TempDir()
			exit, stdout, stderr := run(t, dir, args)
			for _, text := range want {
				if !strings.Contains(stderr, text) {
					t.Errorf("%q lacks %q", stderr, text)
				}
			}
			if holds, _ := filepath.Glob(filepath.Join(dir, "*", "*")); exit != exitUsage || stdout != "" || holds != nil {
				t.Errorf("exit status %d, stdout %q, holds %v", exit, stdout, holds)
			}
		})
	}
}

func TestHelpAndVersionArePrintedOnStdout(t *testing.T) {
	for args, want := range map[string]string{
		"":             "--version, -v  print the version",
		"drain --help": "--timeout DURATION",
		"version":      "pmcheck " + daemon.ProgramVersion() + "\n",
		"--version":    "pmcheck version " + daemon.ProgramVersion() + "\n",
	} {
		exit, stdout, stderr := run(t, t.TempDir(), args)
		if exit != exitOK || stderr != "" || !strings.Contains(stdout, want) || strings.Contains(stdout, "default: false") {
			t.Errorf("%s: exit status %d, stderr %q, stdout %s", args, exit, stderr, stdout)
		}
	}
}

// run runs a command with the holds and the socket in dir.
func run(t *testing.T, dir, args string) (exit int, stdout, stderr string) {
	t.Setenv("PMCHECK_HOLDS", dir)
	var out, said strings.Builder
	command := append([]string{"pmcheck"}, strings.Fields(args)...)
	exit = Run(command, strings.NewReader(""), &out, &said)
	return exit, out.String(), said.String()
}
