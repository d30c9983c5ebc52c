package browser

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
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

// next returns the browser's next message; each ends with a NUL. It fails the test after patience.
func (c *chromium) next(waitingFor string) (m message) {
	c.t.Helper()
	c.pipe.SetReadDeadline(time.Now().Add(patience))
	data, err := c.answers.ReadBytes(0)
	if err == nil {
		err = json.Unmarshal(data[:len(data)-1], &m)
	}
	if err != nil {
		c.t.Fatalf("while the test waits for %s: %v", waitingFor, err)
	}
	return m
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
	lab.Must(c.t, err)
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
