package lab

import (
	"os/exec"
)

// A Network is a network namespace.
type Network struct{}

// Command is exec.Command inside the network; a nil Network is the machine's own.
func (n *Network) Command(program string, args ...string) *exec.Cmd {
	return exec.Command(program, args...)
}
