package systemd

import (
	"fmt"
	"net"

	"github.com/coreos/go-systemd/v22/activation"
)

// Names of the sockets that the service manager may pass: FileDescriptorName=
// in the socket units.
const (
	HTTPSocket   = "http"   // where balancers ask
	StatusSocket = "status" // the unix socket that the commands read
)

// Listeners returns the sockets that the service manager has passed to this
// process, by name; a name may have several. The map is empty if none was passed. A
// name other than those above is an error: it would be a port that accepts connections
// and never answers.
//
// Listeners removes the environment variables that announce the sockets, so a second
// call returns none. Closing a listener leaves the socket open in the service manager,
// and its file in place.
func Listeners() (map[string][]net.Listener, error) {
	listeners, err := activation.ListenersWithNames()
	for name := range listeners {
		if name != HTTPSocket && name != StatusSocket {
			return nil, fmt.Errorf("socket %q of the service manager: FileDescriptorName= is neither %s nor %s",
				name, HTTPSocket, StatusSocket)
		}
	}
	return listeners, err
}
