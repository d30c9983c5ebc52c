package cli

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"
)

// completeFlag asks urfave/cli for the words that may follow.
const completeFlag = "--generate-bash-completion"

// unsafeToComplete reports whether urfave/cli would run the command that is to be completed: after
// "--" it takes completeFlag for an argument, so a tab after "with-hold -- reboot" would reboot.
func unsafeToComplete(args []string) bool {
	return args[len(args)-1] == completeFlag && slices.Contains(args, "--")
}

// Unlike those of urfave/cli, the scripts do not evaluate what has been typed, in which a tab would
// run $(…) and redirections.
const (
	bashCompletion = `_pmcheck() {
    local cur=${COMP_WORDS[COMP_CWORD]} typed=("${COMP_WORDS[@]:0:COMP_CWORD}")
    [[ $cur != -* ]] || typed+=("$cur")
    mapfile -t COMPREPLY < <(compgen -W "$("${typed[@]}" ` + completeFlag + ` 2>/dev/null)" -- "$cur")
}
complete -o default -F _pmcheck pmcheck
`
	zshCompletion = `#compdef pmcheck
compdef _pmcheck pmcheck
_pmcheck() {
    local -a typed=("${(@)words[1,CURRENT-1]}") names
    [[ $words[CURRENT] != -* ]] || typed+=("$words[CURRENT]")
    names=(${(f)"$("${typed[@]}" ` + completeFlag + ` 2>/dev/null)"})
    compadd -a names || _files
}
[[ $funcstack[1] != _pmcheck ]] || _pmcheck "$@"
`
)

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:        "completion",
		Usage:       "print a completion script for bash, zsh or fish",
		ArgsUsage:   "bash|zsh|fish",
		Description: "The packages install the scripts.\nExample: source <(pmcheck completion bash)",
		Action:      strict(completion, "bash, zsh or fish"),
	}
}

func completion(c *cli.Context) (err error) {
	var script string
	switch shell := c.Args().First(); shell {
	case "bash":
		script = bashCompletion
	case "zsh":
		script = zshCompletion
	case "fish":
		script, err = c.App.ToFishCompletion()
	default:
		return misused(c, fmt.Errorf("no completion for %q", shell))
	}
	if err == nil {
		_, err = fmt.Fprint(c.App.Writer, script)
	}
	return err
}
