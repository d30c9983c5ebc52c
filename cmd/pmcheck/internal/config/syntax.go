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
	switch {
	case isParserText(text):
		line++
	case line == 0 && isScannerText(text):
		line = 1
	}
	return min(line, 1+bytes.Count(bytes.TrimRight(data, "\n"), []byte("\n")))
}

// isParserText reports whether a text is the parser's; there are no others.
func isParserText(text string) bool {
	return regexp.MustCompile(`^did not find expected (node content|key|'-' indicator|',' or '[]}]'|<document start>|` +
		`<stream-start>)$|^found (duplicate %|incompatible YAML document$|undefined tag handle$)`).MatchString(text)
}

// isScannerText reports whether a text is one of the scanner's, which has a line,
// and not one about bytes or anchors, which has none.
func isScannerText(text string) bool {
	return regexp.MustCompile(`^(found|did not find|could not find|mapping|block|exceeded) `).MatchString(text)
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
