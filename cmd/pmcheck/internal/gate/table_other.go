//go:build !linux

package gate

import (
	"errors"
	"fmt"
	"net/netip"
)

// table cannot be had: only Linux has nftables.
type table struct{}

func newTable() (*table, error) { return nil, fmt.Errorf("nftables: %w", errors.ErrUnsupported) }

func (*table) open() error                        { return errors.ErrUnsupported }
func (*table) close(uint16, []netip.Prefix) error { return errors.ErrUnsupported }
func (*table) intact() (refused uint64, ok bool)  { return 0, false }
