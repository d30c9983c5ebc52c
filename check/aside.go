package check

import "context"

// aside makes calls that may hang for ever, as on a dead network file system, in a
// goroutine of their own, so that the caller can time out. There is at most one such
// goroutine: a call made while it hangs waits for the same result. The zero value is
// ready to use; it is not safe for concurrent use.
type aside[T any] struct{ running chan T }

// do returns what call does, or the cause of ctx if that takes too long.
func (a *aside[T]) do(ctx context.Context, call func() T) (T, error) {
	if a.running == nil {
		a.running = make(chan T, 1)
		go func(out chan<- T) { out <- call() }(a.running)
	}
	select {
	case t := <-a.running:
		a.running = nil
		return t, nil
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
