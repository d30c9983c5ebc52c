package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// duration is the value of a flag that takes a duration in the syntax of the
// configuration.
type duration struct{ time.Duration }

// Set implements flag.Value.
func (d *duration) Set(s string) (err error) {
	d.Duration, err = config.ParseDuration(s)
	return err
}

// String implements flag.Value.
func (d *duration) String() string {
	if d.Duration == 0 {
		return ""
	}
	return text.Duration(d.Duration)
}

func jsonFlag() cli.Flag { return &cli.BoolFlag{Name: "json", Usage: "print JSON"} }

// durationFlag returns a flag that takes a duration.
func durationFlag(name string, value time.Duration, usage string) cli.Flag {
	return &cli.GenericFlag{Name: name, Value: &duration{value}, Usage: usage}
}

// durationOf returns the value of a durationFlag.
func durationOf(c *cli.Context, name string) time.Duration {
	return c.Generic(name).(*duration).Duration
}

// waitValue is the value of --wait, a flag that may be given with or without a duration.
type waitValue struct {
	duration // the limit
	wanted   bool
}

// waitOption is the flag --wait. Its value must follow an equals sign, and the help
// shows that.
type waitOption struct{ *cli.GenericFlag }

func waitFlag(usage string) cli.Flag {
	return waitOption{&cli.GenericFlag{Name: "wait", Usage: usage, Value: &waitValue{duration: duration{5 * time.Minute}}}}
}

// alwaysWaitFlag is waitFlag for a command that waits in any case.
func alwaysWaitFlag(limit time.Duration, usage string) cli.Flag {
	return waitOption{&cli.GenericFlag{Name: "wait", Usage: usage, Value: &waitValue{duration{limit}, true}}}
}

// waitOf returns the value of --wait.
func waitOf(c *cli.Context) (wanted bool, limit time.Duration) {
	v := c.Generic("wait").(*waitValue)
	return v.wanted, v.Duration
}

// String returns the flag's line in the help.
func (w waitOption) String() string {
	return fmt.Sprintf("--wait[=10m]\t%s (default: %s)", w.Usage, w.Value)
}

// IsBoolFlag makes the value optional.
func (v *waitValue) IsBoolFlag() bool { return true }

// Set implements flag.Value.
func (v *waitValue) Set(s string) error {
	if s == "true" || s == "false" {
		v.wanted = s == "true"
		return nil
	}
	if err := v.duration.Set(s); err != nil {
		return err
	}
	if v.Duration <= 0 {
		return errors.New("must be above 0, not " + s)
	}
	v.wanted = true
	return nil
}
