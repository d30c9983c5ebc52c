package browser

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

// patience is the timeout of one command. It is long since the machine may be busy with
// other tests.
const patience = time.Minute

// chromium is a browser with one tab. Only the goroutine of its test may use it.
type chromium struct {
	t        *testing.T
	commands *os.File
	pipe     *os.File
	answers  *bufio.Reader // of pipe
	events   []message
	session  string
	last     int
}

// startChromium opens a browser with an empty tab; the test's cleanup ends it.
func startChromium(t *testing.T) *chromium {
	t.Helper()
	lab.Real(t)
	dir := t.TempDir()
	cmd := exec.Command(lab.Need(t, "chromium", "chromium"),
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--no-proxy-server",
		"--remote-debugging-pipe",
		"--user-data-dir="+filepath.Join(dir, "profile"), "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_CACHE_HOME="+dir,
		"DBUS_SESSION_BUS_ADDRESS=disabled:")
	theirIn, commands, err := os.Pipe()
	lab.Must(t, err)
	pipe, theirOut, err := os.Pipe()
	lab.Must(t, err)
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4, as --remote-debugging-pipe requires
	lab.StartProgram(t, cmd)
	theirIn.Close()
	theirOut.Close()
	c := &chromium{t: t, commands: commands, pipe: pipe, answers: bufio.NewReader(pipe)}
	t.Cleanup(func() {
		commands.Close()
		pipe.Close()
	})
	c.open()
	return c
}

func (c *chromium) visit(url string) {
	c.t.Helper()
	c.events = nil
	c.call("Page.navigate", map[string]any{"url": url}, nil)
	c.waitFor("Page.loadEventFired")
}

// eval evaluates an expression in the page and decodes its value into result, which may be
// nil.
func (c *chromium) eval(expression string, result any) {
	c.t.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	c.call("Runtime.evaluate", map[string]any{
		"expression":    expression,
		"returnByValue": true,
		"awaitPromise":  true,
	}, &answer)
	if answer.ExceptionDetails != nil {
		c.t.Fatalf("%s: %s", expression, answer.ExceptionDetails)
	}
	if result == nil {
		return
	}
	if err := json.Unmarshal(answer.Result.Value, result); err != nil {
		c.t.Fatalf("%s: %v", expression, err)
	}
}

func (c *chromium) text(expression string) (s string) {
	c.t.Helper()
	c.eval(expression, &s)
	return s
}

func (c *chromium) screen(width int, media, scheme string) {
	c.t.Helper()
	c.call("Emulation.setDeviceMetricsOverride", map[string]any{
		"width":             width,
		"height":            800,
		"deviceScaleFactor": 1,
		"mobile":            width < 600,
	}, nil)
	c.call("Emulation.setEmulatedMedia", map[string]any{"media": media, "features": []any{map[string]any{
		"name":  "prefers-color-scheme",
		"value": scheme,
	}}}, nil)
}

// picture saves a screenshot of the whole page as a PNG among the artifacts of the test.
func (c *chromium) picture(name string) {
	c.t.Helper()
	c.pictureAt(filepath.Join(c.t.ArtifactDir(), strings.ReplaceAll(name, " ", "-")+".png"))
}

func (c *chromium) pictureAt(path string) {
	c.t.Helper()
	var shot struct{ Data []byte }
	var clip map[string]any // the body, without what is left of the window
	c.eval(`(({right, bottom}) => ({x: 0, y: 0, scale: 1, width: Math.max(right, innerWidth), height: bottom}))(
		document.body.getBoundingClientRect())`, &clip)
	c.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true, "clip": clip}, &shot)
	lab.Must(c.t, os.WriteFile(path, shot.Data, 0o644))
}

// complaints returns the errors and warnings in the console since the visit, except for the
// error that Chromium reports if the document itself has status 503.
func (c *chromium) complaints() (list []string) {
	c.eval("0", nil) // all earlier events have been read once this is answered
	for _, m := range c.events {
		switch m.Method {
		case "Runtime.exceptionThrown", "Runtime.consoleAPICalled":
			list = append(list, string(m.Params))
		case "Log.entryAdded":
			if !strings.Contains(string(m.Params), "503 (Service Unavailable)") {
				list = append(list, string(m.Params))
			}
		}
	}
	return list
}
