package daemon

import (
	"runtime/debug"
	"strings"

	"github.com/prometheus/common/version"
)

// ProgramVersion returns the version that was linked in, or else the version of the module, in the form of a package's
// version: 1.2.3.
func ProgramVersion() string {
	if version.Version != "" {
		return version.Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return strings.TrimPrefix(info.Main.Version, "v")
	}
	return "unknown"
}
