//go:build !linux

package check

import (
	"errors"
	"io/fs"
)

func statVolume(path string) (volume, error) {
	return volume{}, &fs.PathError{Op: "statfs", Path: path, Err: errors.ErrUnsupported}
}
