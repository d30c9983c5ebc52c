//go:build linux

package lab

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ServerStat is HAProxy's view of one server of one backend, in HAProxy's own
// words.
type ServerStat struct {
	Backend, Server string
	Status          string // "UP", "DOWN", "NOLB", "MAINT", "DRAIN", "UP 1/3" on the way down, ...
	CheckStatus     string // "L7OK", "L7STS", "L4CON", "L7TOUT", ...; "* L7OK" during a check
	CheckCode       string // HTTP status of the last check, or empty
	Weight          int
	SessionsTotal   int // ever
}

// parseStats reads the answer to "show stat". Frontends and backend totals are left out.
// Columns are found by name, since their order changes between versions of HAProxy.
func parseStats(r io.Reader) ([]ServerStat, error) {
	rows := csv.NewReader(r)
	rows.FieldsPerRecord = -1
	header, err := rows.Read()
	if err != nil {
		return nil, fmt.Errorf("show stat: %w", err)
	}
	header[0] = strings.TrimPrefix(header[0], "# ")
	var stats []ServerStat
	for {
		row, err := rows.Read()
		if err == io.EOF {
			return stats, nil
		}
		if err != nil {
			return nil, fmt.Errorf("show stat: %w", err)
		}
		record := map[string]string{}
		for i, value := range row[:min(len(row), len(header))] {
			record[header[i]] = value
		}
		switch record["svname"] {
		case "", "FRONTEND", "BACKEND":
		default:
			stats = append(stats, serverStat(record))
		}
	}
}

func serverStat(record map[string]string) ServerStat {
	number := func(column string) int {
		n, _ := strconv.Atoi(record[column]) // empty where HAProxy has nothing to count
		return n
	}
	return ServerStat{
		Backend:       record["pxname"],
		Server:        record["svname"],
		Status:        record["status"],
		CheckStatus:   record["check_status"],
		CheckCode:     record["check_code"],
		Weight:        number("weight"),
		SessionsTotal: number("stot"),
	}
}
