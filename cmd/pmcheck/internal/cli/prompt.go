package cli

import (
	"context"
	"errors"
	"time"
)

// endTime is how long a command that is interrupted may take to lift what it has set.
const endTime = 1500 * time.Millisecond

// errUnfinished says that a command was interrupted in a step that cannot be, such as a read of a file system that
// hangs.
var errUnfinished = errors.New("interrupted: the last step has not ended")

// promptly runs a step and returns its result. Once ctx ends, the step has endTime left. After that, promptly returns
// an error although the step has not ended.
func promptly[T any](ctx context.Context, step func() (T, error)) (result T, err error) {
	type outcome struct {
		result T
		err    error
	}
	ended := make(chan outcome, 1)
	go func() {
		result, err := step()
		ended <- outcome{result: result, err: err}
	}()

	select {
	case o := <-ended:
		return o.result, o.err
	case <-ctx.Done():
	}

	select {
	case o := <-ended:
		return o.result, o.err
	case <-time.After(endTime):
		const hint = "pmcheck status shows the holds"
		return result, &exitError{status: exitInterrupted, err: errUnfinished, hint: hint}
	}
}
