package nagios

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
)

// Ask returns the line for what a daemon says about one service, or about all if the name
// is empty. No answer is CRITICAL, since balancers get none either.
func Ask(ctx context.Context, client api.Client, service string, limits Limits) *Line {
	status, err := client.Status(ctx)
	if errors.Is(err, api.ErrNoDaemon) || err != nil && client.URL != "" {
		return Failed(Critical, err)
	}
	if err == nil {
		err = status.Only(service)
	}
	if err != nil {
		return Failed(Unknown, err)
	}
	return Status(status, limits)
}

// Within returns the line that ask returns, or UNKNOWN after the timeout. The caller of a
// plugin kills it when it is late, and then nothing says why.
func Within(ctx context.Context, timeout time.Duration, ask func(context.Context) *Line) *Line {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	lines := make(chan *Line, 1)
	go func() { lines <- ask(ctx) }()
	select {
	case line := <-lines:
		return line
	case <-ctx.Done():
		return Failed(Unknown, fmt.Errorf("no result within %v", timeout))
	}
}
