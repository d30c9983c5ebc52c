package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile is the largest file that is read; a configuration is a few kilobytes.
const maxFile = 1 << 20

// readFile returns the content of a file of at most maxFile bytes.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s is larger than 1 MiB", path)
	}
	return data, nil
}

// A fileReader walks the nodes of pmcheck.yaml and accepts only keys of the schema. It
// works on nodes because they have line numbers, and because decoding into a struct
// is lenient about case, null, duplicates, and 1.9 for an int.
type fileReader struct {
	name   string
	schema schema
	layer  layer
	faults *faults
}

func (r *fileReader) read(data []byte) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return
	}
	if err == nil {
		r.section("", doc.Content[0])
		err = dec.Decode(&second)
	}
	switch {
	case err == nil:
		r.fault(&second, "", "a second document begins", "remove the --- line")
	case !errors.Is(err, io.EOF):
		r.syntax(err, data)
	}
}

// section reads the settings of one mapping. A section without settings is valid: all
// of its lines may be commented out.
func (r *fileReader) section(prefix string, n *yaml.Node) {
	name := strings.TrimSuffix(prefix, ".")
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.fault(n, name, describe(n)+" is not a section", "write key: value")
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if first, dup := seen[k.Value]; dup && k.Kind == yaml.ScalarNode {
			r.fault(k, "", fmt.Sprintf("%s is set twice, first in line %d", show(prefix+k.Value), first), "")
			continue
		}
		seen[k.Value] = k.Line
		r.entry(prefix, k, v)
	}
}

func (r *fileReader) entry(prefix string, k, v *yaml.Node) {
	key := prefix + k.Value
	t, known := r.schema.types[key]
	switch {
	case k.Kind != yaml.ScalarNode || k.ShortTag() != "!!str" && k.ShortTag() != "!!merge":
		r.fault(k, strings.TrimSuffix(prefix, "."), describe(k)+" is not the name of a setting", "")
	case strings.Contains(k.Value, "."):
		r.fault(k, "", "unknown setting "+show(key), "dots are written as sections, one inside the other")
	case r.schema.sections[key]:
		r.section(key+".", v)
	case !known:
		r.fault(k, "", "unknown setting "+show(key), r.schema.suggest(key))
	case t.Kind() == reflect.Slice:
		r.list(key, t, v)
	default:
		if value, ok := r.scalar(key, t, v); ok {
			r.layer.set(key, value, r.place(k))
		}
	}
}

func (r *fileReader) list(key string, t reflect.Type, n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		r.fault(n, key, describe(n)+" is not a list", "["+show(n.Value)+"]")
		return
	}
	list, sound := reflect.MakeSlice(t, 0, len(n.Content)), true
	for _, item := range n.Content {
		value, ok := r.scalar(key, t.Elem(), item)
		if ok {
			list = reflect.Append(list, reflect.ValueOf(value))
		}
		sound = sound && ok
	}
	if sound {
		r.layer.set(key, list.Interface(), r.place(n))
	}
}

// scalar returns the value of a node, or reports why it has none.
func (r *fileReader) scalar(key string, t reflect.Type, n *yaml.Node) (any, bool) {
	value, err := parseNode(t, n)
	if err != nil && strings.HasSuffix(key, "listen") && n.ShortTag() == "!!int" {
		err = wrong(n.Value+" is not an address", `":`+n.Value+`" for every interface`)
	}
	return value, r.faults.took(err, key, r.place(n))
}

// parseNode is parse for a node. The node's tag must match the type too: a number in
// quotes, or a bare number or boolean for text, is probably a mistake.
func parseNode(t reflect.Type, n *yaml.Node) (any, error) {
	tag := n.ShortTag()
	switch {
	case n.Kind != yaml.ScalarNode:
		return nil, wrong(describe(n)+" is not a value", "")
	case tag == "!!null":
		return nil, wrong("has no value", "write one, or leave the line out")
	}
	switch zero := reflect.Zero(t).Interface().(type) {
	case int, bool:
		if _, err := parse(t, n.Value); err == nil && tag == "!!str" {
			return nil, wrong(strconv.Quote(n.Value)+" is text", "without quotes: "+n.Value)
		}
	case enum:
		// In YAML 1.1, which Puppet writes, a bare off means false.
		if tag == "!!bool" && n.Value == "false" && slices.Contains(zero.Words(), "off") {
			return parse(t, "off")
		}
	default:
		if t.Kind() == reflect.String && tag != "!!str" {
			return nil, wrong(show(n.Value)+" is not text", "quote it: "+strconv.Quote(n.Value))
		}
	}
	return parse(t, n.Value)
}

// describe names a node in a message.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a section"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.AliasNode:
		return "the alias " + show("*"+n.Value)
	case n.ShortTag() == "!!null":
		return "nothing"
	}
	return show(n.Value)
}

func (r *fileReader) place(n *yaml.Node) place {
	if n.Line == 0 {
		return place{layerFile, 0, r.name}
	}
	return place{layerFile, n.Line, r.name + ":" + strconv.Itoa(n.Line)}
}

func (r *fileReader) fault(n *yaml.Node, key, problem, hint string) {
	r.faults.add(r.place(n), key, problem, hint)
}

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
	r.fault(at, "", "not YAML: "+text, "")
}

// trueLine corrects the line number in an error of yaml v3. Its parser counts lines
// from 0 and its scanner from 1, and neither mentions line 0. The fault of a file that
// ends too early is in its last line.
func trueLine(line int, text string, data []byte) int {
	parser := regexp.MustCompile(`^did not find expected (node content|key|'-' indicator|',' or '[]}]'|` +
		`<document start>|<stream-start>)$|^found (duplicate %|incompatible YAML document$|undefined tag handle$)`)
	// Errors about bytes or anchors have no line.
	scanner := regexp.MustCompile(`^(found|did not find|could not find|mapping|block|exceeded) `)
	switch {
	case parser.MatchString(text):
		line++
	case line == 0 && scanner.MatchString(text):
		line = 1
	}
	return min(line, 1+bytes.Count(bytes.TrimRight(data, "\n"), []byte("\n")))
}
