package cli

import (
	"cmp"
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
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/show"
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
	verdict, result, findings := monitor.Once(c.Context, loaded.Config)
	err = output(c, nil, func(w io.Writer) {
		show.Report(w, verdict, loaded.Config.Probe.Address, result, findings, time.Now())
	})
	if err == nil && !verdict.Health.Serves() {
		err = statusOnly(exitFailure)
	}
	return err
}

// becomeDaemon makes root the user of the daemon, if that is this host's: root reads files that the daemon
// cannot.
func becomeDaemon(w io.Writer) error {
	daemon, err := user.Lookup("pmcheck")
	if os.Geteuid() != 0 || err != nil || os.Getenv("PMCHECK_HOLDS") != "" { // the last is a rehearsal
		return nil
	}
	var ids []int // of the user, and of its groups
	groups, err := daemon.GroupIds()
	for _, text := range append([]string{daemon.Uid, daemon.Gid}, groups...) {
		id, bad := strconv.Atoi(text)
		ids, err = append(ids, id), cmp.Or(err, bad)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "asks as the daemon's user %s\n", daemon.Username)
	return cmp.Or(syscall.Setgroups(ids[2:]), syscall.Setgid(ids[1]), syscall.Setuid(ids[0]))
}
