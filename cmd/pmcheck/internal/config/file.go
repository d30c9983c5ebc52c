package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
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

// A fileReader reads pmcheck.yaml for viper. The values that it returns are the nodes of the file,
// because they have line numbers, and because viper's own reader is lenient about case, null, and
// 1.9 for an int.
type fileReader struct {
	name   string
	known  map[string]bool // every key; true for a section
	places map[string]place
	faults *faults
}

func newFileReader(name string, c *Config, found *faults) *fileReader {
	r := &fileReader{name, map[string]bool{}, map[string]place{}, found}
	for _, f := range fields(c) {
		r.known[f.key] = false
		if section, _, nested := strings.Cut(f.key, "."); nested {
			r.known[section] = true
		}
	}
	return r
}

// read returns the settings by section and key.
func (r *fileReader) read(data []byte) (settings map[string]any) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	err := decoder.Decode(&doc)
	if err == nil {
		settings = r.section("", doc.Content[0])
		err = decoder.Decode(&second)
	}
	switch {
	case err == nil:
		r.fault(&second, "", "a second document begins", "remove the --- line")
	case !errors.Is(err, io.EOF):
		at, text := &yaml.Node{}, strings.TrimPrefix(err.Error(), "yaml: ")
		if n, _ := fmt.Sscanf(text, "line %d:", &at.Line); n == 1 {
			_, text, _ = strings.Cut(text, ": ")
		}
		r.fault(at, "", "not YAML: "+text, "")
	}
	return settings
}

// section reads one mapping. A section without settings is valid: all of its lines may be commented
// out.
func (r *fileReader) section(prefix string, n *yaml.Node) map[string]any {
	if n.ShortTag() == "!!null" {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		r.fault(n, strings.TrimSuffix(prefix, "."), describe(n)+" is not a section", "write key: value")
		return nil
	}
	settings, seen := map[string]any{}, map[string]int{}
	for pair := range slices.Chunk(n.Content, 2) {
		k, v := pair[0], pair[1]
		key := prefix + k.Value
		section, known := r.known[key]
		switch first, dup := seen[k.Value]; {
		case k.Kind != yaml.ScalarNode || k.ShortTag() != "!!str" && k.ShortTag() != "!!merge":
			r.fault(k, strings.TrimSuffix(prefix, "."), describe(k)+" is not the name of a setting", "")
		case dup:
			r.fault(k, "", fmt.Sprintf("%s is set twice, first in line %d", show(key), first), "")
		case strings.Contains(k.Value, "."):
			r.fault(k, "", "unknown setting "+show(key), "dots are written as sections, one inside the other")
		case !known:
			r.fault(k, "", "unknown setting "+show(key), suggest(key, slices.Sorted(maps.Keys(r.known))))
		case section:
			settings[k.Value] = r.section(key+".", v)
		default:
			settings[k.Value] = v
			r.places[key] = r.place(k)
			if v.Kind == yaml.SequenceNode {
				r.places[key] = r.place(v)
			}
		}
		seen[k.Value] = k.Line
	}
	return settings
}

// items returns the items of a list.
func (r *fileReader) items(n *yaml.Node) (any, error) {
	if n.Kind != yaml.SequenceNode {
		return nil, r.locate(wrong(describe(n)+" is not a list", "["+show(n.Value)+"]"), n)
	}
	return append([]*yaml.Node{}, n.Content...), nil
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
	case int:
		if _, err := parse(t, n.Value); err == nil && tag == "!!str" {
			return nil, wrong(strconv.Quote(n.Value)+" is text", "without quotes: "+n.Value)
		}
	case MaxOut: // a number or text
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

func (r *fileReader) place(n *yaml.Node) place { return inFile(layerFile, r.name, n.Line) }

func (r *fileReader) fault(n *yaml.Node, key, problem, hint string) {
	r.faults.add(r.place(n), key, problem, hint)
}

// locate adds the place of a node to the error of its value.
func (r *fileReader) locate(err error, n *yaml.Node) error {
	if f, is := errors.AsType[Fault](err); is {
		f.at = r.place(n)
		return f
	}
	return err
}
