package outage

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/config"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/monitor"
	"github.com/pmcheck/pmcheck/drain"
)

// unit is the unit whose entries count. journald itself sets _SYSTEMD_UNIT, so no other
// program can forge an entry.
const unit = "pmcheck.service"

// Read returns what the daemon has logged about holds, oldest first. It returns an error if the
// system's journal cannot be read, or is not there.
func Read(ctx context.Context) ([]Entry, error) {
	args := []string{"--system", "--no-pager", "--all", "--output=json", "_SYSTEMD_UNIT=" + unit}
	for _, event := range events() {
		args = append(args, "PMCHECK_EVENT="+event)
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "journalctl", args...)
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the journal: %w", err)
	}
	entries, err := Parse(stdout)
	err = errors.Join(err, cmd.Wait())
	said := strings.TrimSpace(stderr.String())
	if err == nil && len(entries) == 0 && said == "" {
		said = complaint(ctx)
	}
	if err != nil && said == "" {
		said = err.Error()
	}
	if err != nil || len(entries) == 0 && said != "" {
		return nil, fmt.Errorf("cannot read the journal: %s", said)
	}
	return entries, nil
}

// complaint returns what journalctl has to say without --output=json, which keeps it quiet: that
// there is no journal, or that the caller may not read all of it. It succeeds nevertheless.
func complaint(ctx context.Context) string {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "journalctl", "--system", "--no-pager", "--lines=0")
	cmd.Stderr = &stderr
	_ = cmd.Run() // that it was read already shows that it can be run
	return strings.TrimSpace(stderr.String())
}

// events returns the messages that record outages.
func events() []string {
	return []string{
		monitor.HoldsFound, monitor.HoldSet, monitor.HoldChanged, monitor.HoldLifted, monitor.HoldExpired,
	}
}

// Hint returns what a caller can do about an error of Read, or "".
func Hint(err error) string {
	if os.Geteuid() == 0 || errors.Is(err, exec.ErrNotFound) {
		return ""
	}
	return "use sudo, or become a member of the group systemd-journal or adm"
}

// Unlogged says why the daemon logs no holds with this configuration, or "".
func Unlogged(c config.Log) string {
	switch {
	case c.Level != "debug" && c.Level != "info":
		return fmt.Sprintf("log.level is %s, so outages are not logged", c.Level)
	case c.Format != config.FormatAuto:
		return fmt.Sprintf("log.format is %s, so outages are not logged for this command", c.Format)
	}
	return ""
}

// Parse reads the output of journalctl --output=json. A line that is not an entry about holds
// is skipped.
func Parse(r io.Reader) (entries []Entry, err error) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if e, ok := parseLine(line); ok {
			entries = append(entries, e)
		}
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return entries, err
		}
	}
}

func parseLine(line []byte) (e Entry, ok bool) {
	var fields map[string]field
	if json.Unmarshal(line, &fields) != nil {
		return e, false
	}
	get := func(key string) string { return string(fields["PMCHECK_"+key]) }
	µs, err := strconv.ParseInt(string(fields["__REALTIME_TIMESTAMP"]), 10, 64)
	e = Entry{Time: time.UnixMicro(µs).UTC(), Event: get("EVENT")}
	if up, err := strconv.ParseUint(string(fields["__MONOTONIC_TIMESTAMP"]), 10, 50); err == nil {
		e.Boot, e.Up = string(fields["_BOOT_ID"]), time.Duration(up)*time.Microsecond
	}
	if err != nil || µs < 0 || e.Time.Year() > 9999 {
		return Entry{}, false
	}
	if e.Event == monitor.HoldsFound {
		return e, true
	}
	e.Hold = drain.Hold{
		Holder:      get("HOLD"),
		Service:     get("SERVICE"),
		Mode:        drain.Mode(get("MODE")),
		Reason:      get("REASON"),
		By:          get("BY"),
		Owner:       get("OWNER"),
		Error:       get("ERROR"),
		Since:       moment(get("SINCE")),
		Until:       moment(get("UNTIL")),
		UntilReboot: get("UNTIL_REBOOT") == "true",
	}
	return e, slices.Contains(events(), e.Event) && e.Hold.Holder != ""
}

// moment returns the zero time for what is not a time.
func moment(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// field is the value of a field in the journal's JSON. It is a list of bytes if it is not
// UTF-8 or contains control characters, and a list of values if the entry has the field
// more than once: the first one counts.
type field string

// UnmarshalJSON implements json.Unmarshaler.
func (f *field) UnmarshalJSON(data []byte) error {
	var text string
	var binary []byte
	var list []field
	switch {
	case json.Unmarshal(data, &text) == nil:
		*f = field(text)
	case json.Unmarshal(data, &binary) == nil:
		*f = field(binary)
	case json.Unmarshal(data, &list) == nil && len(list) > 0:
		*f = list[0]
	default:
		*f = ""
	}
	return nil
}
