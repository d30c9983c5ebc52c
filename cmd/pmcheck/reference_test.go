package main

import (
	"encoding"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"log/slog"
	"net/http/httptest"
	"net/netip"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/metrics"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

// reference is the page with everything that programs may rely on.
const reference = "../../packaging/doc/reference.md"

// TestTheReferenceIsWhatTheProgramSays compares the page with the code, line by line. Whatever is renamed or removed
// breaks a program of a user.
func TestTheReferenceIsWhatTheProgramSays(t *testing.T) {
	page, err := os.ReadFile(reference)
	if err != nil && !*update {
		t.Fatal(err)
	}
	want := newReference(t).page()
	if *update {
		if err := os.WriteFile(reference, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}

	had, has := strings.Split(string(page), "\n"), strings.Split(want, "\n")
	for i, line := range had {
		if !slices.Contains(has, line) {
			t.Errorf("packaging/doc/reference.md:%d: the program no longer has\n%s", i+1, line)
		}
	}
	for _, line := range has {
		if !slices.Contains(had, line) {
			t.Errorf("packaging/doc/reference.md lacks\n%s", line)
		}
	}
	if t.Failed() {
		t.Log("if it is meant, and CHANGELOG.md says so: go test ./cmd/pmcheck -run Reference -update")
	} else if string(page) != want {
		t.Error("the lines of packaging/doc/reference.md are in another order: go test ./cmd/pmcheck -run Reference -update")
	}
}

// references is what the comments in the source say: of each field of a struct, and of each constant.
type references struct {
	t      *testing.T
	fields map[string]string       // by package, type and field
	words  map[string][]string     // the values of a named string type, each with its meaning
	shown  []reflect.Type          // of which the page has the words
	places map[reflect.Type]string // where the page has the fields of a struct
	b      strings.Builder
}

func newReference(t *testing.T) *references {
	r := &references{
		t:      t,
		fields: map[string]string{},
		words:  map[string][]string{},
		places: map[reflect.Type]string{},
	}
	for _, p := range packages(t) {
		for _, f := range parse(t, token.NewFileSet(), p) {
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.TypeSpec:
					r.readType(p.ImportPath+"."+n.Name.Name, n.Type)
				case *ast.GenDecl:
					r.readConstants(p.ImportPath, n)
					if len(n.Specs) == 1 {
						if typ, is := n.Specs[0].(*ast.TypeSpec); is {
							r.fields[p.ImportPath+"."+typ.Name.Name] = n.Doc.Text()
						}
					}
				}
				return true
			})
		}
	}
	return r
}

func (r *references) readType(name string, of ast.Expr) {
	s, is := of.(*ast.StructType)
	if !is {
		return
	}
	for _, f := range s.Fields.List {
		for _, id := range f.Names {
			r.fields[name+"."+id.Name] = f.Doc.Text() + f.Comment.Text()
		}
	}
}

// readConstants reads the values of closed vocabularies: constants of a type, with a comment each.
func (r *references) readConstants(pkg string, d *ast.GenDecl) {
	for _, s := range d.Specs {
		v, is := s.(*ast.ValueSpec)
		if !is || d.Tok != token.CONST || v.Type == nil || len(v.Values) != 1 {
			continue
		}
		text, err := strconv.Unquote(types.ExprString(v.Values[0]))
		if err != nil {
			continue
		}
		name := pkg + "." + types.ExprString(v.Type)
		meaning := oneLine(v.Doc.Text() + v.Comment.Text())
		meaning = regexp.MustCompile(`^`+v.Names[0].Name+` (is |are )?`).ReplaceAllString(meaning, "")
		r.words[name] = append(r.words[name], fmt.Sprintf("| `%q` | %s |", text, cell(meaning)))
	}
}

func (r *references) page() string {
	r.b.WriteString(`# Reference

What programs may rely on: from 1.0 on, nothing here is renamed or removed before the next major version. New fields,
metrics, labels and reasons may come at any time, so ignore what you do not know. Exit codes, settings, commands and
hold files are in the manuals.

This page is made from the source: ` + "`go test ./cmd/pmcheck -run Reference -update`" + `.
A test fails while the two differ.

## Status

The JSON of ` + "`/status`" + `, of the socket and of ` + "`pmcheck status --json`" + `. Times are RFC 3339,
durations seconds. A field that is *optional* is absent while it has nothing to say, and where its meaning says empty,
0 or zero.
For several masters, as with ` + "`--fleet`" + `, the command prints a list of objects: ` +
		"`host`, as it was named; `status`,\nas below; or `error`" + `, why there is none.

| Field | Type | Meaning |
| --- | --- | --- |
`)
	r.object("", reflect.TypeFor[status.Status]())

	r.b.WriteString("\n### Words\n\nThe fields above that have a vocabulary of their own. " +
		"Services are named by the configuration.\n")
	for _, t := range r.shown {
		fmt.Fprintf(&r.b, "\n#### %s\n\n| Value | Meaning |\n| --- | --- |\n%s\n", t.Name(),
			strings.Join(r.words[t.PkgPath()+"."+t.Name()], "\n"))
	}

	r.b.WriteString("\n## Reasons\n\nOf a verdict, of a check, of a probe, and in the answer to a balancer. " +
		"The owner is whose fault it is; the health is the\nworst that the reason gives the verdict of a check that " +
		"ejects.\n\n" +
		"| Reason | Check | Severity | Owner | Health | Begins | Ends | Hint |\n" +
		"| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, c := range check.All() {
		for _, cause := range c.Reasons {
			fmt.Fprintf(&r.b, "| `%s` | %s | %s | %s | %s | %s | %s | %s |\n", cause.Reason, c.Name, c.Severity, cause.Owner,
				cause.Health, cell(cause.Begins), cell(cause.Ends), cell(cause.Hint))
		}
	}
	fmt.Fprintf(&r.b, "| `%s` | any | | | | nothing is wrong | | |\n", check.OK)
	fmt.Fprintf(&r.b, "| `%s` | any | | | | the check could not find out | | |\n", check.NotKnown)

	r.b.WriteString("\n## Metrics\n\n`/metrics`, beside those of the Go runtime and of the process.\n\n" +
		"| Metric | Type | Labels | Meaning |\n| --- | --- | --- | --- |\n")
	r.metrics()
	return r.b.String()
}

// object writes a row for each field of a struct in JSON, and of the structs in it.
func (r *references) object(prefix string, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			r.object(prefix, f.Type)
			continue
		}
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			r.t.Errorf("%s.%s has no name in JSON", t, f.Name)
		}

		if strings.Contains(options, "string") {
			r.t.Errorf("%s.%s is another type in JSON than in Go", t, f.Name)
		}
		if strings.Contains(options, "omitempty") && f.Type.Kind() == reflect.Struct {
			r.t.Errorf("%s.%s is a struct, which only omitzero leaves out", t, f.Name)
		}

		kind, inside, suffix := r.kind(f.Type)
		if strings.HasSuffix(name, "_seconds") {
			kind += ", seconds"
		}
		if strings.HasPrefix(options, "omit") {
			kind += ", optional"
		}
		meaning := r.meaning(t, f)
		if meaning == "" {
			r.t.Errorf("%s.%s has no comment, from which its meaning is taken", t, f.Name)
		}
		path := prefix + name + suffix
		if place := r.places[inside]; place != "" {
			meaning += "; with the fields of `" + place + "`"
			inside = nil
		}
		fmt.Fprintf(&r.b, "| `%s` | %s | %s |\n", path, kind, cell(meaning))
		if inside != nil {
			r.places[inside] = path
			r.object(path+".", inside)
		}
	}
}

// kind returns the type of a value in JSON, the struct that it is or consists of, and what stands behind its name.
func (r *references) kind(t reflect.Type) (kind string, inside reflect.Type, suffix string) {
	switch t {
	case reflect.TypeFor[time.Time]():
		return "time", nil, ""
	case reflect.TypeFor[netip.Addr]():
		return "string, an address", nil, ""
	case reflect.TypeFor[netip.Prefix]():
		return "string, a network", nil, ""
	case reflect.TypeFor[netip.AddrPort]():
		return "string, address:port", nil, ""
	}
	if t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return "string", nil, ""
	}

	switch t.Kind() {
	case reflect.Pointer:
		return r.kind(t.Elem())
	case reflect.Slice:
		kind, inside, suffix = r.kind(t.Elem())
		return "list, " + kind, inside, suffix + "[]"
	case reflect.Struct:
		return "object", t, ""
	case reflect.String:
		if len(r.words[t.PkgPath()+"."+t.Name()]) > 0 && t != reflect.TypeFor[check.Reason]() {
			if !slices.Contains(r.shown, t) {
				r.shown = append(r.shown, t)
			}
			return fmt.Sprintf("string, a [%s](#%s)", t.Name(), strings.ToLower(t.Name())), nil, ""
		}
		if t == reflect.TypeFor[check.Reason]() {
			return "string, a [reason](#reasons)", nil, ""
		}
		return "string", nil, ""
	case reflect.Bool:
		return "boolean", nil, ""
	case reflect.Float64:
		return "number", nil, ""
	case reflect.Int, reflect.Int64, reflect.Uint16, reflect.Uint64:
		return "integer", nil, ""
	}
	r.t.Errorf("%s has no name in the reference", t)
	return "", nil, ""
}

// meaning returns the comment of a field as a reader of JSON needs it: the names of fields are those in JSON.
func (r *references) meaning(t reflect.Type, f reflect.StructField) string {
	text := oneLine(r.fields[t.PkgPath()+"."+t.Name()+"."+f.Name])
	if text == "" { // the comment of its type may say enough
		text = oneLine(r.fields[f.Type.PkgPath()+"."+f.Type.Name()])
		text = strings.TrimPrefix(text, f.Type.Name()+" ")
	}
	text = regexp.MustCompile(`^`+f.Name+` (is|are) `).ReplaceAllString(text, "")
	text = regexp.MustCompile(`, which is \[\w+\],`).ReplaceAllString(text, "") // links to Go are for readers of Go
	text = strings.TrimSuffix(strings.TrimPrefix(text, f.Name+" "), ".")
	for i := range t.NumField() {
		other := t.Field(i)
		name, _, _ := strings.Cut(other.Tag.Get("json"), ",")
		if name != "" && name != strings.ToLower(other.Name) || other.Name == f.Name {
			text = regexp.MustCompile(`\b`+other.Name+`\b`).ReplaceAllString(text, "`"+name+"`")
		}
	}
	return text
}

func oneLine(comment string) string { return strings.Join(strings.Fields(comment), " ") }

// cell returns a text that can stand in a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// metrics writes a row for each metric of a status in which nothing is empty.
func (r *references) metrics() {
	var full status.Status
	fill(r.t, reflect.ValueOf(&full).Elem())
	full.Balancers[0].View.State = "UP" // or it has no weight
	m := metrics.New(func(time.Time) status.Status { return full }, slog.New(slog.DiscardHandler))
	m.Answered(200)
	m.Probed("server", time.Millisecond)
	answer := httptest.NewRecorder()
	m.ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))

	var name, help, kind string
	for line := range strings.Lines(answer.Body.String()) {
		line = strings.TrimSpace(line)
		if rest, is := strings.CutPrefix(line, "# HELP "); is {
			name, help, _ = strings.Cut(rest, " ")
			continue
		}
		if rest, is := strings.CutPrefix(line, "# TYPE "); is {
			_, kind, _ = strings.Cut(rest, " ")
			continue
		}
		if !strings.HasPrefix(name, "pmcheck_") || name == "" {
			continue
		}
		var labels []string
		for _, label := range regexp.MustCompile(`[{,](\w+)="`).FindAllStringSubmatch(line, -1) {
			if label[1] != "le" {
				labels = append(labels, "`"+label[1]+"`")
			}
		}
		fmt.Fprintf(&r.b, "| `%s` | %s | %s | %s |\n", name, kind, strings.Join(labels, ", "), cell(help))
		name = "" // one row for all samples
	}
}

// fill sets everything in a value to something.
func fill(t *testing.T, v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(1, 0)))
		return
	case netip.Addr:
		v.Set(reflect.ValueOf(netip.MustParseAddr("192.0.2.1")))
		return
	case netip.Prefix:
		v.Set(reflect.ValueOf(netip.MustParsePrefix("192.0.2.0/24")))
		return
	case netip.AddrPort:
		v.Set(reflect.ValueOf(netip.MustParseAddrPort("192.0.2.1:8140")))
		return
	}

	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(t, v.Field(i))
			}
		}
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint16, reflect.Uint64:
		v.SetUint(1)
	case reflect.Map:
	default:
		t.Errorf("cannot fill a %s", v.Type())
	}
}
