package drain

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// ErrHangs means that a directory is on a file system that does not answer.
var ErrHangs = errors.New("its file system does not answer")

const (
	// readTime is how long a directory may take to be read.
	readTime = time.Second
	// writeTime is how long a change may take until it is on stable storage.
	writeTime = 5 * time.Second
)

// A lane leads to one directory. An operation on a file system that does not answer cannot be interrupted, so its
// caller stops waiting at a deadline. Until that operation has ended the lane is blocked, and refuses all others at
// once: a host whose file system hangs has one blocked thread for it, not one for each reading.
type lane struct {
	blocked atomic.Int32 // operations for which no caller waits any more
}

// through runs an operation on the directory at the end of a lane. It returns the result, or ErrHangs after limit. The
// context ends when the caller stops waiting: an operation of several steps must not begin another step then.
func through[T any](l *lane, limit time.Duration, operation func(context.Context) (T, error)) (result T, err error) {
	if l.blocked.Load() > 0 {
		return result, ErrHangs
	}

	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()

	type outcome struct {
		result T
		err    error
	}
	ended := make(chan outcome, 1)
	go func() {
		result, err := operation(ctx)
		ended <- outcome{result: result, err: err}
	}()

	select {
	case o := <-ended:
		return o.result, o.err
	case <-ctx.Done():
		l.blocked.Add(1)
		go func() {
			<-ended
			l.blocked.Add(-1)
		}()
		return result, ErrHangs
	}
}

// scan reads the holds in a directory. It can return both holds and an error. The caller must close the reading.
func (s *Store) scan(dir string) (reading, error) {
	if s.scanned != nil {
		defer s.scanned(dir)
	}
	return reach(s, dir, readTime, func(context.Context) (reading, error) {
		return readDirectory(dir, dir == s.UntilReboot)
	})
}

// change makes a change in a directory, which op names as in [fs.PathError]. path is what is changed.
func (s *Store) change(op, path, dir string, change func(ctx context.Context) error) error {
	_, err := reach(s, dir, writeTime, func(ctx context.Context) (struct{}, error) { return struct{}{}, change(ctx) })
	return pathError(op, path, err)
}

// reach runs an operation on one of the two directories, which may usually take so long: see through.
func reach[T any](s *Store, dir string, usual time.Duration, operation func(context.Context) (T, error)) (T, error) {
	l := &s.toPersistent
	if dir == s.UntilReboot {
		l = &s.toUntilReboot
	}

	return through(l, cmp.Or(s.limit, usual), func(ctx context.Context) (T, error) {
		if s.entered != nil {
			s.entered(dir)
		}
		return operation(ctx)
	})
}
