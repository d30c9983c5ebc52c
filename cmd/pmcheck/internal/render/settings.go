package render

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// Settings is what "pmcheck config" prints, and its JSON.
type Settings struct {
	File      string           `json:"file,omitempty"`
	Settings  []config.Setting `json:"settings"`
	Warnings  []string         `json:"warnings,omitempty"`
	Detection detection        `json:"detection"`
}

// detection is the longest time until a balancer considers the master down, after it was
// killed and after it fell silent.
type detection struct {
	Inter  string  `json:"inter"`
	Fall   int     `json:"fall"`
	Killed float64 `json:"killed_seconds"`
	Silent float64 `json:"silent_seconds"`
}

// NewSettings returns the settings in effect, and what they mean for an HAProxy with this
// inter and fall.
func NewSettings(loaded *config.Loaded, inter time.Duration, fall int) Settings {
	d := loaded.Config.Detection(inter, fall)
	return Settings{
		File:      loaded.File,
		Settings:  loaded.Settings(),
		Warnings:  loaded.Warnings,
		Detection: detection{Inter: inter.String(), Fall: fall, Killed: d.Killed.Seconds(), Silent: d.Silent.Seconds()},
	}
}

// Write writes the settings, and what they mean for a balancer.
func (r Settings) Write(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range r.Settings {
		fmt.Fprintf(t, "%s\t%s\t# %s\n", s.Key, s.Value, s.Origin)
	}
	t.Flush()
	d := r.Detection
	fmt.Fprintf(w, "\nWith inter %s fall %d, HAProxy marks the master DOWN at the latest\n", d.Inter, d.Fall)
	fmt.Fprintf(w, "  %.1f s after it was killed,\n  %.1f s after it stopped answering agents.\n", d.Killed, d.Silent)
	for _, warning := range r.Warnings {
		fmt.Fprintf(w, "warning: %s\n", warning)
	}
}
