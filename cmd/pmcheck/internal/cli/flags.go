package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/drain"
)

func jsonFlag() cli.Flag { return &cli.BoolFlag{Name: "json", Usage: "print JSON"} }

func holderFlag() cli.Flag {
	const usage = "act as `HOLDER`: holders do not touch each other's holds"
	return &cli.StringFlag{Name: "hold", Value: drain.Operator, Usage: usage}
}

func serviceFlag(usage string) cli.Flag {
	return &cli.StringFlag{Name: "service", Usage: usage}
}

// checkNames checks the values of holderFlag and serviceFlag.
func checkNames(c *cli.Context) error {
	for _, name := range []string{"hold", "service"} {
		if !c.IsSet(name) {
			continue
		}
		if err := drain.CheckName(c.String(name)); err != nil {
			return usageError("--%s: %w", name, err)
		}
	}
	return nil
}

// durationFlag returns a flag that takes a duration in the syntax of the configuration.
func durationFlag(name string, value time.Duration, usage string) cli.Flag {
	return &cli.GenericFlag{Name: name, Value: &durationValue{value}, Usage: usage}
}

// durationOf returns the value of a durationFlag. One that is given must be above 0.
func durationOf(c *cli.Context, name string) (time.Duration, error) {
	d := c.Generic(name).(*durationValue).Duration
	if c.IsSet(name) && d <= 0 {
		return 0, usageError("--%s must be above 0, not %s", name, d)
	}
	return d, nil
}

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

// waitOption is the flag --wait. Its value is optional and must follow an equals sign, and the help
// shows that.
type waitOption struct{ *cli.GenericFlag }

func waitFlag(usage string) cli.Flag {
	value := &waitValue{durationValue: durationValue{5 * time.Minute}}
	return waitOption{&cli.GenericFlag{Name: "wait", Usage: usage, Value: value}}
}

// waitOf returns the value of a waitFlag.
func waitOf(c *cli.Context) (wanted bool, limit time.Duration) {
	v := c.Generic("wait").(*waitValue)
	return v.given, v.Duration
}

// String returns the flag's line in the help.
func (w waitOption) String() string {
	return fmt.Sprintf("--wait[=10m]\t%s (default: %s)", w.Usage, w.Value)
}

type waitValue struct {
	durationValue
	given bool
}

// IsBoolFlag makes the value optional.
func (w *waitValue) IsBoolFlag() bool { return true }

// Set implements flag.Value.
func (w *waitValue) Set(s string) error {
	w.given = s != "false"
	if s == "true" || s == "false" {
		return nil
	}
	if err := w.durationValue.Set(s); err != nil {
		return err
	}
	if w.Duration <= 0 {
		return errors.New("must be above 0, not " + s)
	}
	return nil
}
