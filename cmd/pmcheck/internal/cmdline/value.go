package cmdline

import (
	"errors"
	"strconv"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// Duration is the value of a flag that takes a duration in the syntax of the
// configuration.
type Duration struct {
	time.Duration
	// Plugin makes it that of a monitoring plugin: a threshold is not below 0, and a timeout is
	// above 0 and may be a bare number of seconds, as the plugins' guidelines have it.
	Plugin Plugin
}

// Plugin tells what a duration is to a monitoring plugin.
type Plugin int

// The durations of plugins.
const (
	Threshold Plugin = 1 + iota
	Timeout
)

// Set implements flag.Value.
func (d *Duration) Set(s string) (err error) {
	if _, number := strconv.Atoi(s); number == nil && d.Plugin == Timeout {
		s += "s"
	}
	d.Duration, err = config.ParseDuration(s)
	switch {
	case err != nil:
		return err
	case d.Plugin == Threshold && d.Duration < 0:
		return errors.New("must not be below 0, not " + s)
	case d.Plugin == Timeout && d.Duration <= 0:
		return errors.New("must be above 0, not " + s)
	}
	return nil
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
