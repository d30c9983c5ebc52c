package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/user"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/pmcheck/pmcheck/systemd"
)

// becomeDaemon makes root the daemon's user, if this host has one: root reads files that the daemon cannot. While the
// daemon runs, the calling goroutine also sees the files that its unit shows to it, and entered is true. w is told.
func becomeDaemon(ctx context.Context, w io.Writer) (entered bool, err error) {
	daemonUser, err := user.Lookup("pmcheck")
	if os.Geteuid() != 0 || err != nil {
		return false, nil
	}

	isRehearsal := os.Getenv("PMCHECK_HOLDS") != ""
	if isRehearsal {
		return false, nil
	}

	fmt.Fprintf(w, "looks as the daemon's user %s\n", daemonUser.Username)
	service, unknown := systemd.AskService(ctx, "pmcheck.service")
	if unknown == nil && service.MainPID == 0 {
		fmt.Fprintln(w, "pmcheck.service does not run: files that its unit would hide are seen")
	}
	if service.MainPID != 0 {
		err := enterMounts(service.MainPID)
		entered = err == nil
		if err != nil {
			fmt.Fprintf(w, "cannot see the files as pmcheck.service does: %s\n", err)
		}
	}
	return entered, become(daemonUser)
}

// enterMounts moves the calling goroutine into the mount namespace of a process.
func enterMounts(pid uint32) error {
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/mnt", pid))
	if err != nil {
		return err
	}
	defer namespace.Close()
	root, err := os.Open(fmt.Sprintf("/proc/%d/root", pid)) // not always that of its mount namespace
	if err != nil {
		return err
	}
	defer root.Close()
	here, err := os.Getwd()
	if err != nil {
		return err
	}

	runtime.LockOSThread() // for good: this thread is not like the others any more
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return err
	}
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := unix.Fchdir(int(root.Fd())); err != nil {
		return err
	}
	if err := unix.Chroot("."); err != nil {
		return err
	}
	_ = os.Chdir(here) // the unit may hide it
	return nil
}

// become makes this process another user, with all of the user's groups.
func become(other *user.User) error {
	groupIDs, err := other.GroupIds()
	if err != nil {
		return err
	}
	groups, err := numbers(groupIDs)
	if err != nil {
		return err
	}
	own, err := numbers([]string{other.Uid, other.Gid})
	if err != nil {
		return err
	}

	// The user comes last: only root may change the groups.
	if err := syscall.Setgroups(groups); err != nil {
		return err
	}
	if err := syscall.Setgid(own[1]); err != nil {
		return err
	}
	return syscall.Setuid(own[0])
}

func numbers(texts []string) (list []int, err error) {
	for _, text := range texts {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}
