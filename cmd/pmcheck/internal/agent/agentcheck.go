package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/drain"
)

// Bounds on one agent-check.
const (
	agentDeadline = 2 * time.Second // to take the line, and then to hang up
	maxAgentSend  = 1 << 10         // of what HAProxy says with agent-send
)

// agentLine is where what the operators want meets what is true, for HAProxy's
// agent-check. Like Decide it is a pure function:
//
//	mode    verdict serves   line
//	ready   yes              ready up 73% # ok
//	ready   no               ready down 73% # reason
//	drain   yes              drain up # ok
//	maint   no               maint down # reason
//
// HAProxy keeps whatever a line does not mention, and only an agent can take
// back what an agent has said. So every line has both words, and there is no
// state that the next line does not lead out of. The weight goes with ready
// alone: in drain it means nothing, and HAProxy 2.6 logs a warning for each one.
func agentLine(mode drain.Mode, v check.Verdict, weight int) string {
	word := "down"
	if v.Health.Serves() {
		word = "up"
	}
	switch mode {
	case drain.Ready:
		weight = min(max(weight, minWeight), fullWeight)
		return fmt.Sprintf("%s %s %d%% # %s", mode, word, weight, v.Reason)
	case drain.Drain:
	default: // maint, and whatever should not be
		mode = drain.Maint
	}
	return fmt.Sprintf("%s %s # %s", mode, word, v.Reason)
}

// agentAnswer is what an agent-check is told now. The code is what the same
// balancer would get over HTTP.
func (s *state) agentAnswer(now time.Time) Answer {
	mode, _ := s.mode(Server, now)
	server, _ := s.find(Server)
	v := server.verdict.At(now)
	return Answer{Code: Decide(mode, v, Codes{}).Code, Body: agentLine(mode, v, s.weight)}
}

// tell answers agent-checks on a listener until ctx ends, and then those who are
// connected.
func (a *Agent) tell(ctx context.Context, group *errgroup.Group, g *guard) {
	group.Go(func() error { return g.run(ctx) })
	group.Go(func() error {
		defer context.AfterFunc(ctx, func() { g.Close() })()
		var clients sync.WaitGroup
		defer clients.Wait()
		defer g.empty()
		for {
			c, err := g.Accept()
			switch {
			case err == nil:
				clients.Go(func() { a.tellOne(c) })
			case ctx.Err() != nil:
				return nil
			case !passing(err):
				return fmt.Errorf("listener %s: %w", g.Addr(), err)
			default:
				a.Log.Warn("an agent-check was not accepted", "error", err)
				time.Sleep(50 * time.Millisecond) // others may give back what is short
			}
		}
	})
}

// passing reports whether a listener that failed so may well go on.
func passing(err error) bool {
	for _, passing := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}

// tellOne answers one agent-check.
func (a *Agent) tellOne(c net.Conn) {
	defer c.Close()
	now := time.Now()
	c.SetDeadline(now.Add(agentDeadline))
	answer := a.state.Load().agentAnswer(now)
	if _, err := io.WriteString(c, answer.Body+"\n"); err == nil {
		a.rememberAgent(c.RemoteAddr(), answer, now)
		hangUp(c)
	}
}

// hangUp lets a client take what it was told. What it has to say itself, with
// agent-send, is read and forgotten: to close a connection on which something is
// unread resets it, and may take the line back on its way.
func hangUp(c net.Conn) {
	if guarded, ok := c.(*guardedConn); ok {
		if tcp, ok := guarded.Conn.(*net.TCPConn); ok {
			tcp.CloseWrite() // if it fails, so does the read
		}
	}
	io.Copy(io.Discard, io.LimitReader(c, maxAgentSend))
}

// rememberAgent notes which balancer was told what.
func (a *Agent) rememberAgent(client net.Addr, answer Answer, now time.Time) {
	tcp, ok := client.(*net.TCPAddr)
	if !ok {
		return
	}
	source := tcp.AddrPort().Addr().Unmap()
	if from := a.access.Load().balancers; len(from) == 0 || contains(from, source) {
		a.balancers.recordAgent(source, answer, now)
	}
}
