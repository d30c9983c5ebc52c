package cli

import (
	"io"
	"slices"

	"github.com/urfave/cli/v2"
)

const completeFlag = "--generate-bash-completion"

// unsafeToComplete reports whether urfave/cli would run the command that is to be completed: after
// "--" it takes completeFlag for an argument, so a tab after "with-hold -- reboot" would reboot.
func unsafeToComplete(args []string) bool {
	return args[len(args)-1] == completeFlag && slices.Contains(args, "--")
}

// bashCompletion does not evaluate what has been typed. The script of urfave/cli does: a tab would
// run $(…) and redirections.
const bashCompletion = `_pmcheck() {
    local cur=${COMP_WORDS[COMP_CWORD]} typed=("${COMP_WORDS[@]:0:COMP_CWORD}")
    [[ $cur != -* ]] || typed+=("$cur")
    mapfile -t COMPREPLY < <(compgen -W "$("${typed[@]}" ` + completeFlag + ` 2>/dev/null)" -- "$cur")
}
complete -o default -F _pmcheck pmcheck
`

func completionCommand() *cli.Command {
	return &cli.Command{
		Name:        "completion",
		Usage:       "print the completion script for bash",
		Description: "The packages install the script.\nExample: source <(pmcheck completion)",
		Action: func(c *cli.Context) error {
			_, err := io.WriteString(c.App.Writer, bashCompletion)
			return err
		},
	}
}
