package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// duration is the value of a flag that takes a duration, which is written as in
// the configuration.
type duration struct{ time.Duration }

// Set implements flag.Value.
func (d *duration) Set(s string) (err error) {
	d.Duration, err = config.ParseDuration(s)
	return err
}

// String implements flag.Value.
func (d *duration) String() string {
	if d == nil || d.Duration == 0 {
		return ""
	}
	return text.Duration(d.Duration)
}

// durationFlag is a flag that takes a duration.
func durationFlag(name string, value time.Duration, usage string) cli.Flag {
	return &cli.GenericFlag{Name: name, Value: &duration{value}, Usage: usage}
}

// durationOf returns the value of a durationFlag.
func durationOf(c *cli.Context, name string) time.Duration {
	return c.Generic(name).(*duration).Duration
}

// patience is the value of --wait, a flag that may be given with a duration
// or without.
type patience struct {
	wanted bool
	limit  duration
}

// waitOption is the flag --wait. Its value can only be joined to it, and the
// help has to show that.
type waitOption struct{ *cli.GenericFlag }

func waitFlag(usage string) cli.Flag {
	value := &patience{limit: duration{5 * time.Minute}}
	return waitOption{&cli.GenericFlag{Name: "wait", Usage: usage, Value: value}}
}

// waitOf returns the value of --wait.
func waitOf(c *cli.Context) (wanted bool, limit time.Duration) {
	p := c.Generic("wait").(*patience)
	return p.wanted, p.limit.Duration
}

// String is the flag's line in the help.
func (w waitOption) String() string {
	return fmt.Sprintf("--wait[=10m]\t%s (default: %s)", w.Usage, w.Value)
}

// IsBoolFlag lets the flag stand without a value.
func (p *patience) IsBoolFlag() bool { return true }

// Set implements flag.Value.
func (p *patience) Set(s string) error {
	if s == "true" || s == "false" {
		p.wanted = s == "true"
		return nil
	}
	if err := p.limit.Set(s); err != nil {
		return err
	}
	if p.limit.Duration <= 0 {
		return errors.New(s + " is not above 0")
	}
	p.wanted = true
	return nil
}

// String implements flag.Value.
func (p *patience) String() string {
	if p == nil {
		return ""
	}
	return p.limit.String()
}
