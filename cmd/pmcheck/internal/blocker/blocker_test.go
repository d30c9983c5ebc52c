package blocker_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/blocker"
)

// TestOneBlockerIsOneLine: a balancer that keeps the master also still sends, and one reason may hold for several.
func TestOneBlockerIsOneLine(t *testing.T) {
	of := func(balancer, text string) blocker.Blocker { return blocker.Blocker{Of: balancer, Text: text} }
	first := "balancer lb1/0-turn comes first"
	keeps := []blocker.Blocker{of("lb1/ca", first), of("lb1/puppet", first)}
	others := []blocker.Blocker{
		of("", "the daemon has listened for 3s"),
		of("lb1/0-turn", "lb1/0-turn still sends"),
		of("lb1/puppet", "lb1/puppet still sends"),
	}
	for _, tt := range []struct {
		name         string
		first, other []blocker.Blocker
		want         string
	}{
		{"none", nil, nil, ""},
		{"balancers that keep the master", keeps, nil, first},
		{"balancers that only send", nil, others[1:], "lb1/0-turn still sends; lb1/puppet still sends"},
		{"both", keeps, others, first + "; the daemon has listened for 3s; lb1/0-turn still sends"},
		{"two that are of no balancer", others[:1], others[:1], "the daemon has listened for 3s"},
	} {
		got := blocker.Join(tt.first, tt.other)
		if text := blocker.Summary(got); text != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, text, tt.want)
		}
		if isClear := len(tt.first)+len(tt.other) == 0; isClear != (len(got) == 0) {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestTextsSaysHowManyAreLeftOut(t *testing.T) {
	var list []blocker.Blocker
	for _, text := range strings.Fields("a a b c c d") {
		list = append(list, blocker.New(blocker.Agent, "%s", text))
	}
	if got := strings.Join(blocker.Texts(list, 3), " "); got != "a b c and 1 more" {
		t.Errorf("%q", got)
	}
}

// TestWhatIsNotKnownCountsUntilItsEnd: without an end, as long as it lasts.
func TestWhatIsNotKnownCountsUntilItsEnd(t *testing.T) {
	end := time.Date(2026, 11, 21, 15, 4, 0, 0, time.UTC)
	list := blocker.NotKnownUntil(end, "whether %s hears", "lb1")
	list = append(list, blocker.NotKnown(errors.New("its view cannot be read"))...)
	for _, tt := range []struct {
		at   time.Duration
		want string
	}{
		{-time.Second, "whether lb1 hears; its view cannot be read"},
		{0, "its view cannot be read"},
		{time.Hour, "its view cannot be read"},
	} {
		if got := blocker.Summary(blocker.Counting(list, end.Add(tt.at))); got != tt.want {
			t.Errorf("%s after its end: %q, want %q", tt.at, got, tt.want)
		}
	}
}
