package page

import (
	"path/filepath"
	"slices"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/drain"
)

// step is a command to suggest, and its purpose.
type step struct{ Command, Purpose string }

// maxSteps is the greatest number of commands that the page suggests.
const maxSteps = 5

// nextSteps returns the commands that an operator may want to type next.
func nextSteps(s api.Status) []step {
	server := s.Services[0]
	steps := holdSteps(s.Holds)
	held := server.Mode != drain.Ready
	if s.Config.Error != "" {
		steps = append(steps, step{"pmcheck config --check " + text.ShellWord(s.Config.File),
			"says what is wrong with the configuration; then systemctl reload pmcheck"})
	}
	switch {
	case server.Verdict.Reason == check.Stale:
		steps = append(steps,
			step{"journalctl -u pmcheck -n 50", "says why pmcheck has stopped asking"},
			step{"systemctl restart pmcheck", "restarts it; holds stay"})
	case !server.Verdict.Health.Serves():
		steps = append(steps,
			step{"pmcheck check", "asks the master now, and says what is wrong and what to do"},
			step{"pmcheck wait --for ready", "returns when balancers are told to use the master"})
		if server.Mode == drain.Ready && server.Verdict.Health != check.Warming {
			steps = append(steps, step{`pmcheck maint --reason "…"`,
				"keeps it out while you work on it, even when it comes back"})
		}
	case server.Verdict.Health == check.Busy:
		steps = append(steps,
			step{"pmcheck check --explain jruby", "says what makes a master busy, and what helps"})
	}
	if server.Verdict.Health.Serves() && !held {
		steps = append(steps, drainStep(s))
	}
	if w := worst(server.Checks); w != "" && server.Verdict.Health == check.Healthy {
		steps = append(steps, step{"pmcheck check --explain " + w, "explains the check that is not ok, and what to do"})
	}
	steps = append(steps, step{"pmcheck status", "shows this page in the terminal"})
	return steps[:min(maxSteps, len(steps))]
}

// drainStep returns the command for a drain, and why it is refused if this is the last
// server of a balancer. If it is that of another service only, such as the CA, the command
// leaves that service in.
func drainStep(s api.Status) step {
	const rest = `--reason "…" --for 1h --wait`
	purpose := "before a restart or an upgrade: returns when the last agent has finished"
	if last := s.Services[0].LastServer; len(last) > 0 {
		return step{"pmcheck drain " + rest, "refused for now: " + last[0].Text}
	}
	for _, v := range s.Services[1:] {
		if len(v.LastServer) > 0 {
			return step{"pmcheck drain --service " + s.Services[0].Name + " " + rest,
				purpose + "; " + v.Name + " stays in: " + v.LastServer[0].Text}
		}
	}
	return step{"pmcheck drain " + rest, purpose}
}

// holdSteps returns the commands that lift the holds. The guard's hold comes first and
// must not be lifted by hand: that would send agents to a master that is about to stop.
func holdSteps(holds []api.HoldStatus) (steps []step) {
	all := true // may be lifted together
	for _, h := range holds {
		switch {
		case h.Holder == drain.Guard && h.Code == "" && h.Service == "":
			all = false
			steps = append([]step{{"journalctl -u 'pmcheck-guard@*' -n 20",
				"says what the guard waits for; it lifts its hold when the master is healthy again"}}, steps...)
		case h.Mode == drain.Ready: // holds nothing
		case h.Holder == drain.Directory: // there is nothing to lift; its error says what to do
		case h.Code == drain.Unreadable || !named(h.Hold):
			all = false
			if bad := unreadableStep(h); !slices.Contains(steps, bad) {
				steps = append(steps, bad)
			}
		default:
			steps = append(steps, liftStep(h))
		}
	}
	most := maxSteps - 2
	switch {
	case len(steps) <= most:
		return steps
	case all:
		return []step{steps[0], {"pmcheck ready --all", "lifts every hold, and says whose they were"}}
	}
	return steps[:most]
}

// unreadableStep returns the command for a hold file that cannot be read. A hold whose
// holder has no valid name cannot be lifted by name, and a path with control characters
// must not be pasted.
func unreadableStep(h api.HoldStatus) step {
	why := h.Path + " cannot be read"
	if h.Error != "" {
		why += ": " + h.Error
	}
	switch {
	case named(h.Hold) && h.Holder != drain.Guard:
		lift := liftStep(h)
		return step{lift.Command, why + "; mend the file, or lift this hold by its name"}
	case text.Printable(h.Path, len(h.Path)) == h.Path:
		return step{"ls -l " + text.ShellWord(h.Path), why + "; mend or remove the file"}
	}
	return step{"ls -lb " + text.ShellWord(filepath.Dir(h.Path)),
		"shows a file whose name cannot be printed: mend or remove it"}
}

// named reports whether a command accepts the names of a hold. Other names, such as
// that of a stray file, must not reach a shell.
func named(h drain.Hold) bool {
	return drain.CheckName(h.Holder) == nil && (h.Service == "" || drain.CheckName(h.Service) == nil)
}

func liftStep(h api.HoldStatus) step {
	command, purpose := "pmcheck ready", "ends the hold of "+h.Holder
	if h.Holder != drain.Operator {
		command += " --hold " + h.Holder
	}
	if h.Service != "" {
		command += " --service " + h.Service
		purpose += " on " + h.Service
	}
	return step{command, purpose}
}

// worst returns the name of the worst check, or "" if all are ok.
func worst(checks []api.CheckStatus) (name string) {
	for _, c := range checks {
		if c.State == check.StateBad {
			return c.Check
		}
		if c.State == check.StateWarn && name == "" {
			name = c.Check
		}
	}
	return name
}
