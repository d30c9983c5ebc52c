package cli

import (
	"fmt"
	"io"
	"os"
	"os/user"
	"strconv"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
)

func checkCommand() *cli.Command {
	return &cli.Command{
		Name:  "check",
		Usage: "probe the master once, now, and show what was found",
		Description: "Asks the master itself, independently of the daemon and of holds. For root it asks as the\n" +
			"daemon's user, who must be able to read the files.\n" +
			"Exit status: 0 healthy or busy, 1 not healthy.\n" +
			"Example: sudo pmcheck check",
		Flags:  []cli.Flag{configFlag()},
		Action: runCheck,
	}
}

func runCheck(c *cli.Context) error {
	if err := becomeDaemon(c.App.ErrWriter); err != nil {
		return err
	}
	loaded, err := config.Load(options(c))
	if err != nil {
		return err
	}

	located := monitor.Located(c.Context, loaded.Config)
	verdict, result, findings := monitor.Once(c.Context, located)
	err = output(c, nil, func(w io.Writer) {
		writeReport(w, verdict, located.Probe.Address, result, findings, time.Now())
	})
	if err != nil {
		return err
	}
	if !verdict.Health.Serves() {
		return statusOnly(exitFailure)
	}
	return nil
}

// becomeDaemon makes root the daemon's user, if this host has one: root reads files that the daemon cannot.
func becomeDaemon(w io.Writer) error {
	daemonUser, err := user.Lookup("pmcheck")
	if os.Geteuid() != 0 || err != nil {
		return nil
	}

	isRehearsal := os.Getenv("PMCHECK_HOLDS") != ""
	if isRehearsal {
		return nil
	}

	groupIDs, err := daemonUser.GroupIds()
	if err != nil {
		return err
	}
	groups, err := numbers(groupIDs)
	if err != nil {
		return err
	}
	own, err := numbers([]string{daemonUser.Uid, daemonUser.Gid})
	if err != nil {
		return err
	}

	// The user comes last: only root may change the groups.
	fmt.Fprintf(w, "asks as the daemon's user %s\n", daemonUser.Username)
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
