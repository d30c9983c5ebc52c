package balancer

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRecordedHeaders compares what pmcheck reads from the header of each release of HAProxy with the status of
// the servers in "show stat". A server is out only if it is not UP, and there is a spare only if the other one is
// UP. What a header does not tell can keep a master in the pool, but does not take one out.
func TestRecordedHeaders(t *testing.T) {
	data, err := os.ReadFile("testdata/haproxy.txt")
	if err != nil {
		t.Fatal(err)
	}
	var untold []string
	check := regexp.MustCompile(`(?m)^([^ #].*)\n  own \((.+)\): (.+)(?:\n  peer \((.+)\): (.+))?$`)
	for _, m := range check.FindAllStringSubmatch(string(data), -1) {
		ups := [2]bool{strings.HasPrefix(m[2], "UP"), strings.HasPrefix(m[4], "UP")}
		for i, header := range [2]string{m[3], m[5]} {
			if header == "" {
				continue
			}
			state := m[1] + [2]string{", own", ", peer"}[i]
			v := parseView(header)
			if v == nil {
				t.Errorf("%s: refused: %s", state, header)
				continue
			}
			sends, spare, up, otherUp := v.Sends(), v.OthersWeight() > 0, ups[i], ups[1-i]
			switch {
			case up && !sends || spare && !otherUp:
				t.Errorf("%s: claims too much: sends %v, spare %v: %s", state, sends, spare, header)
			case sends != up || spare != otherUp:
				untold = append(untold, state)
			}
		}
	}
	want := []string{
		// HAProxy reports 1/1: it rounds up each weight and their total.
		"slowstart of both, weights of 1, own",
		"slowstart of both, weights of 1, peer",
		// HAProxy sends to the peer alone, but reports UP and 100/100 to both.
		"drained by its administrator, own",
		// The total is that of the servers before the backup.
		"unused backup, own",
		"unused backup, peer",
		// HAProxy sends nothing to own, but reports UP.
		"weight 0 by its administrator, peer",
	}
	if diff := cmp.Diff(want, untold); diff != "" {
		t.Errorf("states that the header does not tell (-want +got):\n%s", diff)
	}
}
