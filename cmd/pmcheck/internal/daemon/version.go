package daemon

import (
	"runtime/debug"

	"github.com/prometheus/common/version"
)

// ProgramVersion is the version that was linked in, or the version of the module.
func ProgramVersion() string {
	if version.Version != "" {
		return version.Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
