package rotation

import (
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/api"
	"github.com/pmcheck/pmcheck/drain"
)

func sender(interval float64, drainCode int) api.Balancer {
	return api.Balancer{
		Node:      "lb1",
		Service:   "server",
		Interval:  interval,
		DrainCode: drainCode,
		View:      &api.View{State: "UP", Weight: 100, WeightTotal: 200},
	}
}

func TestWindowsFollowTheBalancers(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	silent, held := sender(30, 503), sender(2, 404)
	silent.View = nil
	held.Service = "ca"
	for _, tt := range []struct {
		name      string
		balancers []api.Balancer
		length    time.Duration
		late      time.Duration
	}{
		{"none", nil, 0, 0},
		{"none that sends its view", []api.Balancer{silent}, 0, 0},
		{"none that a hold would tell something new", []api.Balancer{held}, 0, 0},
		{"every second, told 404", []api.Balancer{sender(1, 404)}, ms(3250), ms(325)},
		{"a little below 2 s", []api.Balancer{sender(1.98, 404)}, ms(6000), ms(600)},
		{"a little above 2 s", []api.Balancer{sender(2.02, 404)}, ms(6000), ms(600)},
		{"needs three refusals", []api.Balancer{sender(2, 503)}, ms(10800), ms(600)},
		{"the slowest counts", []api.Balancer{sender(2, 404), sender(5, 404), silent}, ms(16250), ms(1625)},
		{"every 30 s", []api.Balancer{sender(30, 404)}, ms(90000), ms(9000)},
		{"every minute", []api.Balancer{sender(60, 404)}, ms(180000), ms(18000)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := api.Status{Balancers: tt.balancers, Services: []api.ServiceStatus{
				{Name: "server", Mode: drain.Ready}, {Name: "ca", Mode: drain.Drain}}}
			if got := windowsOf(s, "", nil); got.Length != tt.length || got.Late != tt.late {
				t.Errorf("windows of %v, %v late; want %v, %v", got.Length, got.Late, tt.length, tt.late)
			}
		})
	}
}

// UsualIntervals are those that people give HAProxy's checks.
func UsualIntervals() (list []time.Duration) {
	for _, seconds := range []float64{.5, 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 45, 60, 90, 120} {
		list = append(list, time.Duration(seconds*float64(time.Second)))
	}
	return list
}

// Masters that measure the same interval within 3% must agree on the length of a window.
func TestNoUsualIntervalIsAtTheEdgeOfABucket(t *testing.T) {
	for _, interval := range UsualIntervals() {
		least, most := bucket(.97*interval.Seconds()), bucket(1.03*interval.Seconds())
		if least != most || most.Seconds() < 1.03*interval.Seconds() {
			t.Errorf("every %v: %v or %v", interval, least, most)
		}
	}
}

func TestOwnWindowIsThePlaceInTheFleet(t *testing.T) {
	var large []string
	for _, c := range "abcdefghijklmn" {
		large = append(large, "m"+string(c))
	}
	for _, tt := range []struct {
		name       string
		fleet      []string
		names      []string
		own, count int
	}{
		{"no fleet", nil, []string{"m1"}, 0, 0},
		{"by certname", []string{"m2.example.com", "m1.example.com"}, []string{"m2.example.com"}, 1, 2},
		{"by the first label", []string{"m3", "M2", "m1"}, []string{"m2.example.com"}, 1, 3},
		{"by hostname", []string{"m1.example.com", "m2.example.com"}, []string{"cert", "m2"}, 1, 2},
		{"by address and port", []string{"192.0.2.1:9200", "192.0.2.2:9200"}, []string{"m2", "192.0.2.2"}, 1, 2},
		{"with a port", []string{"m1:9200", "m2"}, []string{"m1"}, 0, 2},
		{"IPv6", []string{"2001:db8::1", "[2001:db8::2]:9200"}, []string{"2001:db8::2"}, 1, 2},
		{"of another domain", []string{"m1.example.com", "m2.example.com"}, []string{"m1.example.org"}, 0, 0},
		{"not in it", []string{"m1", "m2"}, []string{"m3"}, 0, 0},
		{"alone", []string{"m1"}, []string{"m1"}, 0, 0},
		{"named twice", []string{"m1", "m1:9200", "m2"}, []string{"m2"}, 1, 2},
		{"two domains have its hostname", []string{"m1.example.com", "m1.example.org"},
			[]string{"m1.example.org", "m1"}, 1, 2},
		{"two domains have its hostname, and nothing else tells them apart", []string{"m1.example.com", "m1.example.org"},
			[]string{"cert", "m1"}, 0, 0},
		{"more than there are windows", large, []string{"mn"}, 1, 12},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if own, count := ownWindow(api.Status{Fleet: tt.fleet}, tt.names); own != tt.own || count != tt.count {
				t.Errorf("window %d of %d, want %d of %d", own, count, tt.own, tt.count)
			}
		})
	}
}

// The daemon has asked, and a master of another domain has the hostname of this one.
func TestAMasterOfTheSameHostnameDoesNotGiveItsWindow(t *testing.T) {
	for _, tt := range []struct {
		name       string
		others     api.OthersStatus
		own, count int
	}{
		{"it has answered", api.OthersStatus{Serving: []string{"puppet.b.example.com:9200"}}, 0, 0},
		{"it is out", api.OthersStatus{Out: []string{"puppet.b.example.com:9200"}}, 0, 0},
		{"it does not tell", api.OthersStatus{Unknown: []string{"puppet.b.example.com:9200"}}, 0, 0},
		{"it is this one", api.OthersStatus{Own: "puppet.b.example.com:9200", Serving: []string{"alias"}}, 1, 2},
		{"this one is the alias", api.OthersStatus{Own: "alias"}, 0, 2},
	} {
		s := api.Status{Certname: "ps1", Fleet: []string{"alias", "puppet.b.example.com:9200"}, Others: &tt.others}
		if own, count := ownWindow(s, []string{"puppet"}); own != tt.own || count != tt.count {
			t.Errorf("%s: window %d of %d, want %d of %d", tt.name, own, count, tt.own, tt.count)
		}
	}
}

func TestWindowsBeginForAllAtTheSameTime(t *testing.T) {
	const length = 6 * time.Second
	first := time.Unix(0, 0).Add(1000 * 36 * length) // the first window of three, of twelve, and of any draw
	for _, tt := range []struct {
		name    string
		windows Windows
		from    time.Time
		tries   int
		want    time.Duration // after first
	}{
		{"its own begins", Windows{Length: length, Own: 0, Count: 3}, first, 0, 0},
		{"its own has begun", Windows{Length: length, Own: 0, Count: 3}, first.Add(1), 0, 3 * length},
		{"the next one is its own", Windows{Length: length, Own: 1, Count: 3}, first.Add(1), 0, length},
		{"the last of twelve", Windows{Length: length, Own: 11, Count: 12}, first, 0, 11 * length},
		{"its own is another's, too", Windows{Length: length, Own: 1, Count: 3}, first, 1, (1 + 3) * length},
		{"and that of several", Windows{Length: length, Own: 1, Count: 3}, first, 100, (1 + 3*3) * length},
		{"the last of those drawn", Windows{Length: length}, first, 0, 7 * length},
		{"after a collision", Windows{Length: length}, first, 1, 15 * length},
		{"after many collisions", Windows{Length: length}, first, 100, 63 * length},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.windows.Begin(tt.from, tt.tries, func(n int) int { return n - 1 })
			if !got.Equal(first.Add(tt.want)) {
				t.Errorf("begins after %v, want %v", got.Sub(first), tt.want)
			}
		})
	}
}
