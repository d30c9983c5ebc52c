package daemon

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// Applied returns an error if the daemon of this host does not use the file of o as it is,
// which says why. A daemon that does not answer, or that reads another file, is not an error:
// a reload would not change that. A file that is named and does not exist is one.
func Applied(ctx context.Context, o config.Options) error {
	file, settings := config.Readable(o)
	info, missing := os.Stat(file)
	if missing != nil && o.File != "" {
		return missing
	}
	status, err := api.Client{Socket: settings.Socket}.Ask(ctx)
	used := status.Config
	if err != nil || !used.Uses(file) {
		return nil
	}
	switch {
	case used.Error != "":
		return fmt.Errorf("the daemon does not use %s: %s", file, used.Error)
	case missing == nil && info.ModTime().After(used.Loaded) && info.ModTime().Before(time.Now()):
		return fmt.Errorf("%s has changed since the daemon read it: reload pmcheck", file)
	case len(used.Restart) > 0:
		return fmt.Errorf("in effect after a restart of pmcheck: %s", strings.Join(used.Restart, ", "))
	}
	return nil
}
