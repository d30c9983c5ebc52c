package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mapFile is the map of the source, for developers.
const mapFile = "internal/README.md"

var update = flag.Bool("update", false, "write what a test compares with the source: picture, lists, reference, calls")

// mapColumns is how far to the right rooms stand in the map. What they are for stands behind them.
const mapColumns = 36

// TestThePictureShowsTheImports compares the picture in the map with the imports of the source.
func TestThePictureShowsTheImports(t *testing.T) {
	page, err := os.ReadFile(mapFile)
	if err != nil {
		t.Fatal(err)
	}

	block := regexp.MustCompile("(?s)\n## What imports what\n.*?```\n(.*?)```\n").FindSubmatchIndex(page)
	if block == nil {
		t.Fatalf("%s has no picture", mapFile)
	}
	got := string(page[block[2]:block[3]])
	want := picture(t)
	if got == want {
		return
	}

	if !*update {
		t.Fatalf("the picture in %s is not what the source imports: go test ./cmd/pmcheck -run Picture -update; want\n%s",
			mapFile, want)
	}
	drawn := slices.Concat(page[:block[2]], []byte(want), page[block[3]:])
	if err := os.WriteFile(mapFile, drawn, 0o644); err != nil {
		t.Fatal(err)
	}
}

// picture draws a matrix of all rooms, from main down. A mark says that the room of its row imports the room of its
// column.
func picture(t *testing.T) string {
	t.Helper()
	imports := map[string][]string{}
	for _, p := range packages(t) {
		for _, imported := range p.Imports {
			imports[p.room] = append(imports[p.room], room(imported))
		}
	}
	rooms := slices.Concat(layers()...)

	var b strings.Builder
	fmt.Fprintf(&b, "%-20s", "")
	for i := range rooms {
		fmt.Fprintf(&b, " %c", letter(i))
	}
	b.WriteByte('\n')

	for i, row := range rooms {
		line := fmt.Sprintf("%c %-18s", letter(i), row)
		for j, column := range rooms {
			switch {
			case i == j:
				line += " ╲"
			case slices.Contains(imports[row], column):
				line += " ●"
			default:
				line += "  "
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// letter returns the name of a row and of its column.
func letter(i int) rune { return rune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]) }

// TestTheMapIsTrue compares the rooms in the map with the layers: each room is there, below all rooms of higher layers.
func TestTheMapIsTrue(t *testing.T) {
	page, err := os.ReadFile(mapFile)
	if err != nil {
		t.Fatal(err)
	}

	_, rest, _ := strings.Cut(string(page), "```\n")
	drawn, _, _ := strings.Cut(rest, "```\n")
	lines := strings.Split(drawn, "\n")
	lowest := -1
	for _, layer := range layers()[1:] { // main is above the map
		from := lowest + 1
		for _, room := range layer {
			word := regexp.MustCompile(`(^|\s)` + regexp.QuoteMeta(room) + `(\s|$)`)
			at := slices.IndexFunc(lines, func(line string) bool {
				return word.MatchString(line[:min(len(line), mapColumns)])
			})
			if at < from {
				t.Errorf("%s is on line %d of the map; want line %d or below", room, at+1, from+1)
			}
			lowest = max(lowest, at)
		}
	}
}
