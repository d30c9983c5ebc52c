package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

func jsonFlag() cli.Flag { return &cli.BoolFlag{Name: "json", Usage: "print JSON"} }

// durationFlag returns a flag that takes a duration.
func durationFlag(name string, value time.Duration, usage string) cli.Flag {
	return &cli.GenericFlag{Name: name, Value: &durationValue{value}, Usage: usage}
}

// durationOf returns the value of a durationFlag.
func durationOf(c *cli.Context, name string) time.Duration {
	return c.Generic(name).(*durationValue).Duration
}

// waitOption is the flag --wait. Its value must follow an equals sign, and the help
// shows that.
type waitOption struct{ *cli.GenericFlag }

func newWait(usage string, limit time.Duration, always bool) cli.Flag {
	value := &waitValue{durationValue: durationValue{limit}, given: always}
	return waitOption{&cli.GenericFlag{Name: "wait", Usage: usage, Value: value}}
}

func waitFlag(usage string) cli.Flag { return newWait(usage, 5*time.Minute, false) }

// alwaysWaitFlag is waitFlag for a command that waits in any case.
func alwaysWaitFlag(limit time.Duration, usage string) cli.Flag { return newWait(usage, limit, true) }

// waitOf returns the value of --wait.
func waitOf(c *cli.Context) (wanted bool, limit time.Duration) {
	v := c.Generic("wait").(*waitValue)
	return v.given, v.Duration
}

// String returns the flag's line in the help.
func (w waitOption) String() string {
	return fmt.Sprintf("--wait[=10m]\t%s (default: %s)", w.Usage, w.Value)
}

// durationValue is the value of a flag that takes a duration in the syntax of the configuration.
type durationValue struct{ time.Duration }

// Set implements flag.Value.
func (d *durationValue) Set(s string) (err error) {
	d.Duration, err = config.ParseDuration(s)
	return err
}

// String implements flag.Value.
func (d *durationValue) String() string {
	if d.Duration == 0 {
		return ""
	}
	return text.Duration(d.Duration)
}

// waitValue is the value of --wait, which may be given with or without a duration.
type waitValue struct {
	durationValue
	given bool
}

// IsBoolFlag makes the value optional.
func (w *waitValue) IsBoolFlag() bool { return true }

// Set implements flag.Value.
func (w *waitValue) Set(s string) error {
	if s == "true" || s == "false" {
		w.given = s == "true"
		return nil
	}
	if err := w.durationValue.Set(s); err != nil {
		return err
	}
	if w.Duration <= 0 {
		return errors.New("must be above 0, not " + s)
	}
	w.given = true
	return nil
}
