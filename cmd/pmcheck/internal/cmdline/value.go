package cmdline

import (
	"errors"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// Duration is the value of a flag that takes a duration in the syntax of the
// configuration.
type Duration struct{ time.Duration }

// Set implements flag.Value.
func (d *Duration) Set(s string) (err error) {
	d.Duration, err = config.ParseDuration(s)
	return err
}

// String implements flag.Value.
func (d *Duration) String() string {
	if d.Duration == 0 {
		return ""
	}
	return text.Duration(d.Duration)
}

// Limit is the value of a flag that may be given with or without a duration.
type Limit struct {
	Duration
	Given bool
}

// IsBoolFlag makes the value optional.
func (l *Limit) IsBoolFlag() bool { return true }

// Set implements flag.Value.
func (l *Limit) Set(s string) error {
	if s == "true" || s == "false" {
		l.Given = s == "true"
		return nil
	}
	if err := l.Duration.Set(s); err != nil {
		return err
	}
	if l.Duration.Duration <= 0 {
		return errors.New("must be above 0, not " + s)
	}
	l.Given = true
	return nil
}
