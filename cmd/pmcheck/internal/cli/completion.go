package cli

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/drain"
)

//go:embed completion
var completionScripts embed.FS

func completionCommand(environ []string) *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print a completion script for bash, zsh or fish",
		ArgsUsage: "bash|zsh|fish",
		Description: "The packages install the scripts. Without a package: source <(pmcheck completion bash).\n" +
			"The scripts call pmcheck completion with holders, services, explained or goals to list names.",
		Flags:  []cli.Flag{configFlag()},
		Action: func(c *cli.Context) error { return completion(c, environ) },
	}
}

func completion(c *cli.Context, environ []string) error {
	if c.NArg() > 1 {
		return usageError("%s takes no argument %q", c.Command.Name, c.Args().Get(1))
	}
	what := c.Args().First()
	if slices.Contains([]string{"bash", "zsh", "fish"}, what) {
		t := template.New(what + ".tmpl").Funcs(template.FuncMap{
			"flags":  completedFlags,
			"quote":  quote,
			"zsh":    zshText,
			"action": zshAction,
		})
		script, err := t.ParseFS(completionScripts, "completion/"+what+".tmpl")
		if err != nil {
			return err
		}
		commands := slices.DeleteFunc(c.App.VisibleCommands(), func(c *cli.Command) bool { return c.Name == "help" })
		return script.Execute(c.App.Writer, commands)
	}
	names, err := completionNames(c, environ, what)
	for _, name := range names {
		fmt.Fprintln(c.App.Writer, name)
	}
	return err
}

// completionNames lists names of one kind: the holders of the holds in effect, the
// services of the daemon (none if it does not answer), the arguments of check
// --explain, or those of wait --for.
func completionNames(c *cli.Context, environ []string, what string) (names []string, err error) {
	switch what {
	case "goals":
		return []string{"ready", "out"}, nil
	case "explained":
		names = append([]string{"all"}, check.Names()...)
		for _, reason := range check.Reasons() {
			names = append(names, string(reason))
		}
		return names, nil
	case "holders":
		settings, err := loadOwn(c, environ)
		if err != nil {
			return nil, err
		}
		names = append(names, drain.Operator)
		for _, h := range settings.Store().Read().Holds() {
			if drain.CheckName(h.Holder) == nil { // a file's name may contain what bash would execute
				names = append(names, h.Holder)
			}
		}
	case "services":
		settings, err := loadToAsk(c, environ)
		if err != nil {
			return nil, err
		}
		status, _ := api.Client{Socket: settings.Socket}.Status(c.Context) // empty if the daemon does not answer
		for _, s := range status.Services {
			names = append(names, s.Name)
		}
	default:
		return nil, usageError("completion takes bash, zsh or fish")
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// completedFlag is a flag that can be typed after a command's name.
type completedFlag struct {
	Names []string // with dashes
	Usage string
	// Value says how the flag's value is completed: with files, with nothing, or with
	// the output of pmcheck completion and this word. It is empty for a flag that takes
	// no value.
	Value string
}

func completedFlags(c *cli.Command) (list []completedFlag) {
	for _, f := range c.VisibleFlags() {
		if f.Names()[0] == "help" {
			continue // urfave/cli adds it only to the command that runs; the templates have it
		}
		flag := completedFlag{
			Usage: strings.ReplaceAll(f.(cli.DocGenerationFlag).GetUsage(), "`", ""),
			Value: completedValue(c, f),
		}
		for _, name := range f.Names() {
			flag.Names = append(flag.Names, dashed(name))
		}
		list = append(list, flag)
	}
	return list
}

func completedValue(c *cli.Command, f cli.Flag) string {
	if !f.(cli.DocGenerationFlag).TakesValue() {
		return ""
	}
	values := map[string]string{
		"wait":    "", // its value is never a separate word: --wait=10m
		"config":  "files",
		"check":   "files",
		"hold":    "holders",
		"service": "services",
		"explain": "explained",
	}
	if c.Name == "wait" {
		values["for"] = "goals"
	}
	if value, known := values[f.Names()[0]]; known {
		return value
	}
	return "nothing"
}

// quote returns s as a single word of bash, zsh and fish.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// zshText escapes the characters with a meaning in a specification for _arguments.
func zshText(s string) string { return strings.NewReplacer("[", `\[`, "]", `\]`, ":", `\:`).Replace(s) }

// zshAction returns the part of a specification for _arguments that says how a value
// is completed.
func zshAction(value string) string {
	switch value {
	case "":
		return ""
	case "files":
		return ":file:_files"
	case "nothing":
		return ":value: "
	}
	return ":" + value + ":_pmcheck_" + value
}
