package daemon

import (
	"runtime/debug"

	"github.com/prometheus/common/version"
)

// ProgramVersion returns the version that was linked in, or else that of the module.
func ProgramVersion() string {
	if version.Version != "" {
		return version.Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
