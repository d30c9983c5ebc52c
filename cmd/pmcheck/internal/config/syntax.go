package config

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// syntax reports an error of the YAML parser, whose text begins "yaml: " and, as a
// rule, "line N: ".
func (r *fileReader) syntax(err error, data []byte) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	at := &yaml.Node{}
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if number, problem, ok := strings.Cut(rest, ": "); ok {
			at.Line, _ = strconv.Atoi(number)
			text = problem
		}
	}
	at.Line = trueLine(at.Line, text, data)
	r.fault(at, "", "not YAML: "+text, colonHint(at.Line, data))
}

// trueLine corrects the line that yaml says. It counts from 0 where it parses and
// from 1 where it scans, and leaves out what would be line 0. A file that ends too
// early is wrong in its last line.
func trueLine(line int, text string, data []byte) int {
	parser := regexp.MustCompile(`^did not find expected (node content|key|'-' indicator|',' or '[]}]'|` +
		`<document start>|<stream-start>)$|^found (duplicate %|incompatible YAML document$|undefined tag handle$)`)
	// What is said of bytes or anchors has no line.
	scanner := regexp.MustCompile(`^(found|did not find|could not find|mapping|block|exceeded) `)
	switch {
	case parser.MatchString(text):
		line++
	case line == 0 && scanner.MatchString(text):
		line = 1
	}
	return min(line, 1+bytes.Count(bytes.TrimRight(data, "\n"), []byte("\n")))
}

// colonHint is for {listen: :9201}, which is fine in a line of its own.
func colonHint(line int, data []byte) string {
	lines := bytes.Split(data, []byte("\n"))
	if line < 1 || line > len(lines) {
		return ""
	}
	if m := regexp.MustCompile(`[{,][^{}]*:\s+(:\d+)`).FindSubmatch(lines[line-1]); m != nil {
		return `inside { } quote it: "` + string(m[1]) + `"`
	}
	return ""
}
