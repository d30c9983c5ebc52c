package check

import (
	"testing"
	"time"
)

func TestCodeIsDatedByItsFirstLook(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	c := &codeCheck{}
	look := func(minute int, environments ...Environment) []Environment {
		c.date(environments, now.Add(time.Duration(minute)*time.Minute))
		return environments
	}
	is := func(what string, e Environment, minute int) {
		t.Helper()
		if want := now.Add(time.Duration(minute) * time.Minute); !e.Since.Equal(want) {
			t.Errorf("%s: since %s, want %s", what, e.Since, want)
		}
	}
	deployed := func(id string, minute int) Environment {
		return Environment{Name: "production", ID: id, Finished: now.Add(time.Duration(minute) * time.Minute)}
	}
	is("at the first look", look(0, deployed("a", -90))[0], -90)
	is("deployed again without a change", look(10, deployed("a", 9))[0], -90)
	is("changed", look(20, deployed("b", 19))[0], 20)
	is("not readable", look(30, deployed("", 0))[0], 20)
	is("readable again", look(40, deployed("b", 19))[0], 20)
	is("changed back", look(50, deployed("a", 49))[0], 50)
	list := look(60, deployed("a", 49), Environment{Name: "new", ID: "c", Finished: now})
	is("beside a new environment", list[0], 50)
	is("a new environment", list[1], 60)
}
