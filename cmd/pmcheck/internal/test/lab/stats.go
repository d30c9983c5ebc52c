package lab

import (
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ServerStat is HAProxy's view of one server of one backend, in HAProxy's own
// words.
type ServerStat struct {
	Backend, Server string
	Status          string // "UP", "DOWN", "NOLB", "MAINT", "DRAIN", "UP 1/3" on the way down, ...
	CheckStatus     string // of the last check: "L7OK", "L7STS", "L4CON", "L7TOUT", ...
	CheckCode       string // HTTP status of the last check, or empty
	CheckSaid       string // what the last check that failed said
	CheckMillis     int    // how long the last check took
	Failures        int    // of checks while the server was UP, ever
	SessionsTotal   int    // ever
	Queued          int    // connections that wait for this server
	Downs           int    // how often it went from UP to DOWN
	Ramps           bool   // slowstart limits it
}

// ParseStats reads the answer to "show stat". Frontends and backend totals are left out.
// Columns are found by name, since their order changes between versions of HAProxy.
func ParseStats(answer string) (stats []ServerStat, err error) {
	reader := csv.NewReader(strings.NewReader(strings.TrimPrefix(answer, "# ")))
	reader.FieldsPerRecord = -1
	rows, err := reader.ReadAll()
	if err != nil || len(rows) == 0 {
		return nil, fmt.Errorf("show stat: %q, %w", answer, err)
	}
	for _, row := range rows[1:] {
		text := func(column string) string {
			if i := slices.Index(rows[0], column); i >= 0 && i < len(row) {
				return row[i]
			}
			return ""
		}
		number := func(column string) int {
			n, _ := strconv.Atoi(text(column)) // empty where HAProxy has nothing to count
			return n
		}
		if server := text("svname"); server != "" && server != "FRONTEND" && server != "BACKEND" {
			stats = append(stats, ServerStat{
				Backend:       text("pxname"),
				Server:        server,
				Status:        text("status"),
				CheckStatus:   strings.TrimPrefix(text("check_status"), "* "), // "* L7OK" during a check
				CheckCode:     text("check_code"),
				CheckSaid:     text("last_chk"),
				CheckMillis:   number("check_duration"),
				Failures:      number("chkfail"),
				SessionsTotal: number("stot"),
				Queued:        number("qcur"),
				Downs:         number("chkdown"),
				Ramps:         text("throttle") != "",
			})
		}
	}
	return stats, nil
}
