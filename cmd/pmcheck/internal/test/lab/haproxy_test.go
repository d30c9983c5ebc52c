//go:build linux

package lab_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/test/lab"
)

func TestParseStatsFindsColumnsByName(t *testing.T) {
	const answer = "# status,pxname,svname,check_status,lastchg,new_column,\n" +
		"OPEN,masters,FRONTEND,,,x,\n" +
		"DOWN,masters,m1,\"L7,STS\",7,x,\n" +
		"UP,masters,BACKEND,,3,x,\n\n"
	got, err := lab.ParseStats(strings.NewReader(answer))
	if err != nil {
		t.Fatal(err)
	}
	want := []lab.ServerStat{{
		Backend: "masters", Server: "m1", Status: "DOWN", CheckStatus: "L7,STS", LastChange: 7 * time.Second,
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := lab.ParseStats(strings.NewReader("")); err == nil {
		t.Error("ParseStats accepts an empty answer")
	}
}
