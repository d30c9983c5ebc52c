package config

import "net/netip"

// Gate says whom pmcheck-gate.service leaves alone.
type Gate struct {
	// Except lists the networks whose connections are never refused.
	Except []netip.Prefix `yaml:"except"`
}
