package systemd

import (
	"fmt"
	"net"
	"os"

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
// socket with a name other than those above, or one that cannot accept connections, is
// an error: it would be a port that accepts connections and never answers.
//
// Listeners removes the environment variables that announce the sockets, so a second
// call returns none. Closing a listener leaves the socket open in the service manager,
// and its file in place.
func Listeners() (map[string][]net.Listener, error) {
	listeners := map[string][]net.Listener{}
	for _, f := range activation.Files(true) {
		l, err := listener(f)
		if err != nil {
			closeAll(listeners)
			return nil, fmt.Errorf("socket %q of the service manager: %w", f.Name(), err)
		}
		listeners[f.Name()] = append(listeners[f.Name()], l)
	}
	return listeners, nil
}

// listener takes over the descriptor of f.
func listener(f *os.File) (net.Listener, error) {
	defer f.Close()
	if f.Name() != HTTPSocket && f.Name() != StatusSocket {
		return nil, fmt.Errorf("FileDescriptorName= is neither %s nor %s", HTTPSocket, StatusSocket)
	}
	return net.FileListener(f)
}

func closeAll(listeners map[string][]net.Listener) {
	for _, list := range listeners {
		for _, l := range list {
			l.Close()
		}
	}
}
