package cmdline

import (
	"embed"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/render"
)

//go:embed completion
var completionScripts embed.FS

// Shells lists the shells that have a completion script.
func Shells() []string { return []string{"bash", "zsh", "fish"} }

// WriteCompletion writes the completion script for one of Shells.
func WriteCompletion(w io.Writer, shell string, commands []Command) error {
	t := template.New(shell + ".tmpl").Funcs(template.FuncMap{
		"flags":  completedFlags,
		"quote":  text.ShellQuote,
		"zsh":    zshText,
		"action": zshAction,
	})
	script, err := t.ParseFS(completionScripts, "completion/"+shell+".tmpl")
	if err != nil {
		return err
	}
	return script.Execute(w, commands)
}

// Names lists the fixed values of one kind that the scripts ask for: "goals" are those of
// wait --for, "explained" those of check --explain. It reports false for any other kind.
func Names(kind string) (names []string, known bool) {
	switch kind {
	case "goals":
		return []string{"ready", "out"}, true
	case "explained":
		return render.Explained(), true
	}
	return nil, false
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

func completedFlags(c Command) (list []completedFlag) {
	for _, f := range c.Flags {
		flag := completedFlag{
			Usage: strings.ReplaceAll(f.Usage, "`", ""),
			Value: completedValue(c, f),
		}
		for _, name := range f.Names {
			flag.Names = append(flag.Names, dashed(name))
		}
		list = append(list, flag)
	}
	return list
}

func completedValue(c Command, f Flag) string {
	if f.Kind == Switch {
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
	i := slices.IndexFunc(f.Names, func(name string) bool { _, known := values[name]; return known })
	if i < 0 {
		return "nothing"
	}
	return values[f.Names[i]]
}

// zshText escapes the characters that are special in a specification for _arguments.
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
