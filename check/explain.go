package check

import "strings"

// CheckProbe is the name by which the probe itself is explained.
const CheckProbe = "probe"

// Explanation says what there is to know about a check, in sentences.
type Explanation struct {
	Name     string
	Title    string   // a few words
	Asks     string   // what it asks, and what of
	Why      string   // what would go unnoticed without it
	Severity Severity // what it may do unless configured otherwise
	Because  string   // the argument for that
	Do       string   // what to do when it is not well
}

// Names lists the probe and the checks, in the order in which they are shown.
func Names() []string {
	var names []string
	for _, e := range explanations() {
		names = append(names, e.Name)
	}
	return names
}

// Explain returns the explanation of a check, and whether there is a check of
// that name.
func Explain(name string) (Explanation, bool) {
	for _, e := range explanations() {
		if e.Name == name {
			return e, true
		}
	}
	return Explanation{}, false
}

// DefaultSeverity returns what a check may do unless configured otherwise;
// Off for a name that is none.
func DefaultSeverity(name string) Severity {
	if e, ok := Explain(name); ok {
		return e.Severity
	}
	return Off
}

// String lays the explanation out for a terminal, in lines of at most 78
// bytes.
func (e Explanation) String() string {
	var b strings.Builder
	b.WriteString(e.Name + ": " + e.Title + "\n")
	for _, part := range []struct{ head, text string }{
		{"asks", e.Asks},
		{"why", e.Why},
		{"default", string(e.Severity) + ": " + e.Because},
		{"do", e.Do},
	} {
		paragraph(&b, part.head, part.text)
	}
	return b.String()
}

// paragraph writes a text beside its head.
func paragraph(b *strings.Builder, head, text string) {
	const indent, width = 10, 78
	line := head + strings.Repeat(" ", indent-1-len(head))
	for _, word := range strings.Fields(text) {
		if len(line)+1+len(word) > width {
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", indent-1)
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}
