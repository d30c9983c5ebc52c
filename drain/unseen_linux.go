package drain

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// unseenPause is the least time between two calls of changed: on a host that starts containers,
// mounts come by the dozen, and each call costs a reading of the directories.
const unseenPause = time.Second

// followUnseen calls changed once, and after each change that inotify does not report: a file
// system is mounted or unmounted in this mount namespace, or the clock is set. It returns when ctx
// ends, or with an error when it can no longer tell.
func followUnseen(ctx context.Context, changed func()) error {
	// Not an os.File: Go would poll it, too, and take the events.
	mounts, err := unix.Open("/proc/self/mountinfo", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("watch mounts: %w", err)
	}
	defer unix.Close(mounts)
	clock, err := unix.TimerfdCreate(unix.CLOCK_REALTIME, unix.TFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("watch the clock: %w", err)
	}
	defer unix.Close(clock)
	end, ender, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("watch mounts and the clock: %w", err)
	}
	defer end.Close()
	defer ender.Close()
	defer context.AfterFunc(ctx, func() { ender.Close() })()
	fds := []unix.PollFd{
		{Fd: int32(mounts), Events: unix.POLLPRI},
		{Fd: int32(clock), Events: unix.POLLIN},
		{Fd: int32(end.Fd())}, // hangs up when ender is closed
	}
	for ctx.Err() == nil {
		if err := tellWhenSet(clock); err != nil {
			return err
		}
		changed()
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(unseenPause):
		}
		if _, err := unix.Poll(fds, -1); err != nil && err != unix.EINTR {
			return fmt.Errorf("watch mounts and the clock: %w", err)
		}
	}
	return nil
}

// tellWhenSet makes a timer readable when the clock is set: one that ends in a hundred years is
// canceled then.
func tellWhenSet(clock int) error {
	end, err := unix.TimeToTimespec(time.Now().AddDate(100, 0, 0))
	if err == nil {
		err = unix.TimerfdSettime(clock, unix.TFD_TIMER_ABSTIME|unix.TFD_TIMER_CANCEL_ON_SET,
			&unix.ItimerSpec{Value: end}, nil)
	}
	if err != nil && err != unix.ECANCELED { // it was canceled before, and runs again
		return fmt.Errorf("watch the clock: %w", err)
	}
	return nil
}
