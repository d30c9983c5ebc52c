//go:build !linux

package drain_test

import (
	"errors"
	"os"
)

// exchange swaps two directories.
func exchange(a, b string) error {
	return errors.Join(os.Rename(a, a+".old"), os.Rename(b, a), os.Rename(a+".old", b))
}
