package check

import (
	"context"
	"fmt"
)

// aside makes calls that may hang for ever, as on a dead network file system, in a
// goroutine of their own, so that the caller can time out. There is at most one such
// goroutine: a call made while it hangs waits for the same result. The zero value is
// ready to use; it is not safe for concurrent use.
type aside[T any] struct{ running chan outcome[T] }

type outcome[T any] struct {
	value T
	err   error
}

// do returns the results of call. If ctx ends first, the error wraps the cause of ctx
// and says that what does not answer.
func (a *aside[T]) do(ctx context.Context, what string, call func() (T, error)) (T, error) {
	if a.running == nil {
		a.start(call)
	}
	return a.wait(ctx, what)
}

// start makes a call. None may be running.
func (a *aside[T]) start(call func() (T, error)) {
	a.running = make(chan outcome[T], 1)
	go func(out chan<- outcome[T]) {
		value, err := call()
		out <- outcome[T]{value, err}
	}(a.running)
}

// wait returns the results of the call that is running. If ctx ends first, the error is that of do.
func (a *aside[T]) wait(ctx context.Context, what string) (T, error) {
	select {
	case o := <-a.running:
		a.running = nil
		return o.value, o.err
	case <-ctx.Done():
	}
	select {
	case o := <-a.running:
		a.running = nil
		return o.value, o.err
	default:
		var none T
		return none, fmt.Errorf("%s does not answer: %w", what, context.Cause(ctx))
	}
}
