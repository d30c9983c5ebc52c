package main

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pmcheck/pmcheck/check"
)

// TestListsOfChecksAreMadeOfTheChecks compares every list of the checks that a machine can write with check.All, or
// writes it. What prose says of a check is in TestProseNamesEveryCheck.
func TestListsOfChecksAreMadeOfTheChecks(t *testing.T) {
	var sample, manual, optional, cannotEject, cannotEjectInManual, sections []string
	width := 0
	for _, c := range configured() {
		width = max(width, len(c.Name))
	}
	for _, c := range configured() {
		may := "Pmcheck::Severity"
		if c.Shared {
			may = "Enum['warn', 'off']"
			cannotEject = append(cannotEject, c.Name)
			cannotEjectInManual = append(cannotEjectInManual, ".Va checks."+c.Name)
		}
		sample = append(sample, fmt.Sprintf("  #%s: %s\n", c.Name, c.Severity))
		manual = append(manual, fmt.Sprintf(".It Va checks.%s Li = %s\n", c.Name, c.Severity))
		optional = append(optional, fmt.Sprintf("    Optional['%s']%s => %s,\n", c.Name,
			strings.Repeat(" ", width-len(c.Name)), may))
		if hasSettings(c) {
			sections = append(sections, c.Name)
		}
	}
	last := len(cannotEject) - 1
	inManual := strings.Join(cannotEjectInManual[:last], " ,\n") + "\nand\n" + cannotEjectInManual[last] + "\n"

	for _, list := range []struct {
		file string
		is   string // the list, in the only group
		want string
	}{
		{"pmcheck.yaml", `\nchecks:\n((?:  #\w+: \w+\n)+)`, strings.Join(sample, "")},
		{"pmcheck.yaml", `off disables the check\. (.*?) cannot eject:`, inWords(cannotEject)},
		{"man/pmcheck.yaml.5", `((?:\.It Va checks\.\w+ Li = \w+\n)+)`, strings.Join(manual, "")},
		{"man/pmcheck.yaml.5", `disables the check\.\n((?:\.Va checks\.\w+(?: ,)?\n|and\n)+)cannot be\n`, inManual},
		{"puppet/types/checks.pp", `Struct\[\{\n((?:    Optional.*\n)+)`, strings.Join(optional, "")},
		{"puppet/REFERENCE.md", `what each check besides the probe may do\.\n\nAlias of\n\n` + "```puppet\n" +
			`Struct\[\{\n((?:    Optional.*\n)+)`, strings.Join(optional, "")},
		{"puppet/data/common.yaml", `\|checks\|(.*?)\|guard\|`, strings.Join(sections, "|")},
	} {
		path := "../../packaging/" + list.file
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at := regexp.MustCompile(list.is).FindSubmatchIndex(data)
		if at == nil {
			t.Errorf("packaging/%s has no list of checks: %s", list.file, list.is)
			continue
		}

		got := string(data[at[2]:at[3]])
		if got == list.want {
			continue
		}
		if !*update {
			t.Errorf("packaging/%s has\n%s\nwant, by go test ./cmd/pmcheck -run Lists -update\n%s", list.file, got, list.want)
			continue
		}
		written := slices.Concat(data[:at[2]], []byte(list.want), data[at[3]:])
		if err := os.WriteFile(path, written, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestProseNamesEveryCheck: the table that says what each check asks has a row for each, with its default, and those
// that can eject come first.
func TestProseNamesEveryCheck(t *testing.T) {
	page, err := os.ReadFile("../../packaging/doc/how-it-works.md")
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (eject|warn|off) \\|").FindAllSubmatch(page, -1) {
		got = append(got, string(row[1])+" "+string(row[2]))
	}
	all := configured()
	slices.SortStableFunc(all, func(a, b check.Check) int { return cmp.Compare(rank(a), rank(b)) })
	local := 0
	for _, c := range all {
		want = append(want, c.Name+" "+string(c.Severity))
		if !c.Shared {
			local++
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("the table of how-it-works.md has %q, want %q", got, want)
	}
	says := regexp.MustCompile(`Only the first (\w+) can be `).FindSubmatch(page)
	number := []string{"none", "one", "two", "three", "four", "five", "six"}[local]
	if says == nil || string(says[1]) != number {
		t.Errorf("how-it-works.md says that the first %q can eject, want %s", says, number)
	}
}

// rank says where a check stands in the table: first those that eject, then those that could, then what masters share.
func rank(c check.Check) int {
	switch {
	case c.Shared:
		return 2
	case c.Severity != check.Eject:
		return 1
	}
	return 0
}

// configured returns the checks that the configuration lists: all but the probe.
func configured() check.List {
	return slices.DeleteFunc(check.All(), func(c check.Check) bool { return c.Name == check.CheckProbe })
}

// hasSettings reports whether a check has a section in pmcheck.yaml.
func hasSettings(c check.Check) bool {
	if c.Settings == nil {
		return false
	}
	t := reflect.TypeOf(c.Settings)
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("yaml") != "-" {
			return true
		}
	}
	return false
}

// inWords returns names as a sentence has them: a, b and c.
func inWords(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
