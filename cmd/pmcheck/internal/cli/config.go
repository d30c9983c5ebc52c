package cli

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// configReport is what "pmcheck config" prints, and its JSON.
type configReport struct {
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

func configCommand(environ []string) *cli.Command {
	return &cli.Command{
		Name:  "config",
		Usage: "show the configuration in effect, and where each value comes from",
		Description: "With --check FILE, only validate that file: for CI and packaging, on any machine.\n" +
			"Exit status: 0 valid, 2 not valid.",
		Flags: []cli.Flag{
			configFlag(),
			&cli.StringFlag{Name: "check", Usage: "validate `FILE`, and print its mistakes only"},
			&cli.BoolFlag{Name: "quiet", Usage: "print only the mistakes of the configuration in effect"},
			&cli.BoolFlag{Name: "json", Usage: "print JSON"},
			durationFlag("inter", 2*time.Second, "HAProxy's `inter`, for the detection time"),
			&cli.IntFlag{Name: "fall", Value: 3, Usage: "HAProxy's `fall`, for the detection time"},
		},
		Action: func(c *cli.Context) error { return showConfig(c, environ) },
	}
}

func showConfig(c *cli.Context, environ []string) error {
	if c.IsSet("check") {
		if c.String("check") == "" {
			return usageError("--check needs the name of a file")
		}
		// The environment belongs to the host, not to the file.
		if _, err := config.Check(config.Options{File: c.String("check")}); err != nil {
			return usageError("%w", err)
		}
		return nil
	}
	inter, fall := durationOf(c, "inter"), c.Int("fall")
	if inter <= 0 || fall < 1 {
		return usageError("--inter and --fall must be above 0")
	}
	loaded, err := load(c, environ)
	if err != nil || c.Bool("quiet") {
		return err
	}
	d := loaded.Config.Detection(inter, fall)
	r := configReport{
		File:      loaded.File,
		Settings:  loaded.Settings(),
		Warnings:  loaded.Warnings,
		Detection: detection{Inter: inter.String(), Fall: fall, Killed: d.Killed.Seconds(), Silent: d.Silent.Seconds()},
	}
	return show(c, r, r.write, exitOK)
}

// write writes the settings, and what they mean for a balancer.
func (r configReport) write(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range r.Settings {
		fmt.Fprintf(t, "%s\t%s\t# %s\n", s.Key, s.Value, s.Origin)
	}
	t.Flush()
	d := r.Detection
	fmt.Fprintf(w, "\nWith inter %s fall %d, HAProxy marks the master DOWN at the latest\n", d.Inter, d.Fall)
	fmt.Fprintf(w, "  %.1f s after it was killed,\n  %.1f s after it stopped answering.\n", d.Killed, d.Silent)
	for _, warning := range r.Warnings {
		fmt.Fprintf(w, "warning: %s\n", warning)
	}
}
