package cli

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/cmdline"
)

func jsonFlag() cli.Flag { return &cli.BoolFlag{Name: "json", Usage: "print JSON"} }

// durationFlag returns a flag that takes a duration.
func durationFlag(name string, value time.Duration, usage string) cli.Flag {
	return &cli.GenericFlag{Name: name, Value: &cmdline.Duration{Duration: value}, Usage: usage}
}

// durationOf returns the value of a durationFlag.
func durationOf(c *cli.Context, name string) time.Duration {
	return c.Generic(name).(*cmdline.Duration).Duration
}

// waitOption is the flag --wait. Its value must follow an equals sign, and the help
// shows that.
type waitOption struct{ *cli.GenericFlag }

func newWait(usage string, limit time.Duration, always bool) cli.Flag {
	value := &cmdline.Limit{Duration: cmdline.Duration{Duration: limit}, Given: always}
	return waitOption{&cli.GenericFlag{Name: "wait", Usage: usage, Value: value}}
}

func waitFlag(usage string) cli.Flag { return newWait(usage, 5*time.Minute, false) }

// alwaysWaitFlag is waitFlag for a command that waits in any case.
func alwaysWaitFlag(limit time.Duration, usage string) cli.Flag { return newWait(usage, limit, true) }

// waitOf returns the value of --wait.
func waitOf(c *cli.Context) (wanted bool, limit time.Duration) {
	v := c.Generic("wait").(*cmdline.Limit)
	return v.Given, v.Duration.Duration
}

// String returns the flag's line in the help.
func (w waitOption) String() string {
	return fmt.Sprintf("--wait[=10m]\t%s (default: %s)", w.Usage, w.Value)
}
