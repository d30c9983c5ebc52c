//go:build linux

package browser

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"time"
)

type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// open opens a tab and attaches to it.
func (c *chromium) open() {
	c.t.Helper()
	var target struct{ TargetID string }
	c.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	c.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	c.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		c.call(domain+".enable", nil, nil)
	}
}

// read forwards the browser's messages, each of which ends with a NUL.
func (c *chromium) read(answers *os.File) {
	defer close(c.messages)
	defer answers.Close()
	for r := bufio.NewReader(answers); ; {
		line, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line[:len(line)-1], &m) == nil {
			c.messages <- m
		}
	}
}

// next returns the next message. It fails the test after patience.
func (c *chromium) next(waitingFor string) message {
	c.t.Helper()
	select {
	case m, open := <-c.messages:
		if !open {
			c.t.Fatalf("chromium ended while the test waited for %s", waitingFor)
		}
		return m
	case <-time.After(patience):
		c.t.Fatalf("no %s within %s", waitingFor, patience)
	}
	panic("unreachable")
}

// call sends a command, waits for its answer and decodes it into result, which may be nil.
func (c *chromium) call(method string, params map[string]any, result any) {
	c.t.Helper()
	c.last++
	command := map[string]any{"id": c.last, "method": method}
	if params != nil {
		command["params"] = params
	}
	if c.session != "" {
		command["sessionId"] = c.session
	}
	data, err := json.Marshal(command)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.commands.Write(append(data, 0)); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	for {
		m := c.next("answer to " + method)
		if m.ID != c.last {
			c.events = append(c.events, m)
			continue
		}
		if m.Error != nil {
			err = errors.New(m.Error.Message)
		} else if result != nil {
			err = json.Unmarshal(m.Result, result)
		}
		if err != nil {
			c.t.Fatalf("%s: %v", method, err)
		}
		return
	}
}

// waitFor waits until an event has been reported since the last visit.
func (c *chromium) waitFor(event string) {
	c.t.Helper()
	for _, m := range c.events {
		if m.Method == event {
			return
		}
	}
	for {
		m := c.next(event)
		c.events = append(c.events, m)
		if m.Method == event {
			return
		}
	}
}
