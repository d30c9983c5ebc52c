package show

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// Settings is what "pmcheck config" prints, and its JSON.
type Settings struct {
	File     string           `json:"file,omitempty"`
	Settings []config.Setting `json:"settings"`
	Warnings []string         `json:"warnings,omitempty"`
}

// NewSettings returns the settings in effect.
func NewSettings(loaded *config.Loaded) Settings {
	return Settings{
		File:     loaded.File,
		Settings: loaded.Settings(),
		Warnings: loaded.Warnings,
	}
}

// Write writes the settings, and warnings about them.
func (r Settings) Write(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range r.Settings {
		fmt.Fprintf(t, "%s\t%s\t# %s\n", s.Key, s.Value, s.Origin)
	}
	t.Flush()
	for _, warning := range r.Warnings {
		fmt.Fprintf(w, "warning: %s\n", warning)
	}
}
