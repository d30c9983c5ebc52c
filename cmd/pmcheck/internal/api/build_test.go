package api

import "testing"

func TestStatusWarnsOfAServerWithoutWeight(t *testing.T) {
	list := []Balancer{
		{Node: "lb1", Name: "puppet/m1", View: &View{State: "UP", Weight: 0, WeightTotal: 100}},
		{Node: "lb2", Name: "puppet/m1", View: &View{State: "UP", Weight: 1, WeightTotal: 100}},
		{Node: "lb3", Name: "puppet/m1", View: &View{State: "NOLB", Weight: 0, WeightTotal: 100}},
		{Node: "lb4"},
	}
	got := weightless(list)
	want := "balancer lb1 gives puppet/m1 no weight, hence no agents: its server line needs weight 100"
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want only %q", got, want)
	}
}
