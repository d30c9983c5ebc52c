package api

import (
	"cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
)

// Uses reports whether a daemon has read its configuration from this file. No file
// counts as the default one, which may have been created or removed since.
func (c ConfigStatus) Uses(file string) bool {
	return cmp.Or(c.File, config.DefaultFile) == cmp.Or(file, config.DefaultFile)
}
