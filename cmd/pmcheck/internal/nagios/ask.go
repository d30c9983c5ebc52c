package nagios

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
)

// Called reports whether the arguments ask for the output of a plugin, even if they cannot be
// parsed. After with-hold, --nagios may belong to the other program.
func Called(args []string) bool {
	return slices.ContainsFunc(args, isFlag) && args[0] != "with-hold"
}

// isFlag reports whether an argument is --nagios, in a form that is not false.
func isFlag(arg string) bool {
	name, value, given := strings.Cut(arg, "=")
	on, err := strconv.ParseBool(value)
	return (name == "--nagios" || name == "-nagios") && (!given || on || err != nil)
}

// Ask returns the line for what a daemon says about one service, or about all if the name
// is empty. No daemon is CRITICAL, since balancers get no answer either; a name that cannot be
// resolved or a socket that may not be read is UNKNOWN. mistake, if not nil, is
// what is wrong with the configuration on this host.
func Ask(ctx context.Context, client api.Client, service string, limits Limits, mistake error) *Line {
	status, err := client.Status(ctx)
	if errors.Is(err, api.ErrNoDaemon) && !mayAnswer(err) {
		return Failed(Critical, err)
	}
	if err == nil {
		err = status.Only(service)
	}
	if err != nil {
		return Failed(Unknown, err)
	}
	line := Status(status, limits)
	// A file that only root and the daemon may read is no mistake, and status.Config.Error is one already.
	if mistake != nil && status.Config.Error == "" && !errors.Is(mistake, fs.ErrPermission) {
		line.add(Warning, "the configuration has a mistake: "+firstLine(mistake))
	}
	return line
}

// mayAnswer reports whether an error comes from names or permissions, so that the daemon may
// well answer balancers.
func mayAnswer(err error) bool {
	_, name := errors.AsType[*net.DNSError](err)
	return name || errors.Is(err, fs.ErrPermission)
}

// Within returns the line that ask returns, or UNKNOWN after the timeout or when ctx ends. The caller of a
// plugin kills it when it is late, and then nothing says why.
func Within(ctx context.Context, timeout time.Duration, ask func(context.Context) *Line) *Line {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	lines := make(chan *Line, 1)
	go func() { lines <- ask(ctx) }()
	select {
	case line := <-lines:
		if ctx.Err() == nil { // otherwise it is about the end of ctx, as is the line below
			return line
		}
	case <-ctx.Done():
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return Failed(Unknown, errors.New("interrupted"))
	}
	return Failed(Unknown, fmt.Errorf("no result within %v", timeout))
}
