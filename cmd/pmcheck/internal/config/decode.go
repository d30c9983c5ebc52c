package config

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/prometheus/common/model"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/answer"
	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/mistake"
)

// decode sets the settings. viper reads the file and the environment, and knows which of them wins; what it has no
// place for is ours: where each value comes from, and the mistakes, with their lines. A value that cannot be read is
// not set.
func (l *loader) decode(file string, data []byte) {
	settings := fields(&l.config)
	l.keys = keysOf(settings)

	v := viper.NewWithOptions(viper.WithDecoderRegistry(yamlFile{loader: l, name: file}))
	v.SetConfigType("yaml")
	v.SetEnvPrefix("PMCHECK")
	v.SetEnvKeyReplacer(strings.NewReplacer(".", "_"))
	v.SetDefault(keySocket, l.config.Socket)
	v.SetDefault(keyHolds, l.options.HoldsIn)
	for _, f := range settings {
		v.SetDefault(f.key, f.value.Interface())
	}
	_ = v.ReadConfig(bytes.NewReader(data)) // its mistakes are in l.mistakes
	if l.options.Environment {
		l.bind(v, settings)
	}

	for _, f := range settings {
		err := v.UnmarshalKey(f.key, f.value.Addr().Interface(), viper.DecodeHook(hook), replaceLists)
		l.take(err, f.key, l.places[f.key])
		if f.keep != nil {
			f.keep()
		}
	}
	if dir := v.GetString(keyHolds); dir != "" {
		l.config.HoldsIn = dir
		v.SetDefault(keySocket, filepath.Join(dir, "pmcheck.sock"))
	}
	l.config.Socket = v.GetString(keySocket)
}

// These keys are not settings: only variables have them.
const (
	keyHolds  = "holds"
	keySocket = "socket"
)

// replaceLists has lists replaced as a whole, not item by item in the memory of the default.
func replaceLists(c *mapstructure.DecoderConfig) { c.ZeroFields = true }

// bind lets the PMCHECK_ variables win over the file. An empty variable is a mistake, since it may be meant as unset or
// as empty text. A variable that names no setting is ignored: beside a Service called pmcheck, Kubernetes sets
// PMCHECK_PORT, PMCHECK_SERVICE_HOST and others in every pod.
func (l *loader) bind(v *viper.Viper, settings []field) {
	_ = v.BindEnv(keyHolds) // it fails without a key only
	_ = v.BindEnv(keySocket)
	known := []string{"PMCHECK_CONFIG", "PMCHECK_HOLDS", "PMCHECK_SOCKET"} // the first is read with the command line

	for _, f := range settings {
		name := "PMCHECK_" + strings.ToUpper(strings.ReplaceAll(f.key, ".", "_"))
		known = append(known, name)
		value, set := os.LookupEnv(name)
		if !set || slices.Contains(l.options.Unset, name) {
			continue
		}
		at := mistake.Place{File: fromEnvironment + name}
		if value == "" {
			l.mistake(at, f.key, "is empty", "unset it, or give it a value")
			continue
		}
		_ = v.BindEnv(f.key)
		l.places[f.key] = at
	}

	environ := os.Environ()
	slices.Sort(environ)
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "PMCHECK_") && !slices.Contains(known, name) {
			l.ignored = append(l.ignored, fromEnvironment+text.Show(name)+": unknown variable, which is ignored")
		}
	}
}

// yamlFile is pmcheck.yaml for viper, which would decode it without lines, fold the case of keys, and ignore keys
// without a value.
type yamlFile struct {
	loader *loader
	name   string
}

// Decoder returns y: pmcheck.yaml has one format.
func (y yamlFile) Decoder(string) (viper.Decoder, error) { return y, nil }

// Decode puts the settings in data into a map. Mistakes are noted in the loader, so that it returns no error.
func (y yamlFile) Decode(data []byte, into map[string]any) error {
	maps.Copy(into, y.loader.read(y.name, data))
	return nil
}

// read returns the settings in a file, by section and key: the text of each value, or the texts of a list.
func (l *loader) read(file string, data []byte) map[string]any {
	decoder := yaml.NewDecoder(bytes.NewReader(data))

	var document yaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) { // nothing, or comments only
		return nil
	}
	if err != nil {
		l.mistake(mistake.Place{File: file}, "", "not YAML: "+strings.TrimPrefix(err.Error(), "yaml: "), "")
		return nil
	}

	var second yaml.Node
	if more := decoder.Decode(&second); !errors.Is(more, io.EOF) {
		l.mistake(mistake.Place{File: file, Line: second.Line}, "", "a second document begins", "remove the --- line")
	}
	return l.section(file, "", document.Content[0])
}

// section reads one mapping. A section without settings is valid: all of its lines may be commented out.
func (l *loader) section(file, prefix string, n *yaml.Node) map[string]any {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		at := mistake.Place{File: file, Line: n.Line}
		l.mistake(at, strings.TrimSuffix(prefix, "."), "is not a section", "write key: value")
		return nil
	}

	settings := map[string]any{}
	lines := map[string]int{} // where a name was met last
	for pair := range slices.Chunk(n.Content, 2) {
		name := pair[0].Value
		at := mistake.Place{File: file, Line: pair[0].Line}
		if before := lines[name]; before > 0 {
			l.mistake(at, "", fmt.Sprintf("%s is set twice, first in line %d", text.Show(prefix+name), before), "")
		} else if value, ok := l.entry(prefix, name, pair[1], at); ok {
			settings[name] = value
		}
		lines[name] = at.Line
	}
	return settings
}

// entry reads what stands at a name in a section: a setting, or a section in it.
func (l *loader) entry(prefix, name string, n *yaml.Node, at mistake.Place) (value any, ok bool) {
	key := prefix + name
	if strings.Contains(name, ".") {
		l.mistake(at, "", "unknown setting "+text.Show(key), "dots are written as sections, one inside the other")
		return nil, false
	}

	isSection, known := l.keys[key]
	if !known {
		l.mistake(at, "", "unknown setting "+text.Show(key), suggest(key, slices.Sorted(maps.Keys(l.keys))))
		return nil, false
	}
	if isSection {
		return l.section(at.File, key+".", n), true
	}

	if isNull(n) || slices.ContainsFunc(n.Content, isNull) {
		l.mistake(at, key, "has no value", "write one, or leave the line out")
		return nil, false
	}
	l.places[key] = at
	return l.value(n, key, at), true
}

// value returns the text of a value, or the texts of a list.
func (l *loader) value(n *yaml.Node, key string, at mistake.Place) any {
	var single string
	if n.Decode(&single) == nil {
		return single
	}
	var list []string
	if n.Decode(&list) == nil {
		return list
	}
	l.mistake(at, key, "is neither a value nor a list of values", "")
	return nil
}

// keysOf returns the keys of all settings and sections, and whether each is a section.
func keysOf(settings []field) map[string]bool {
	keys := map[string]bool{}
	for _, f := range settings {
		keys[f.key] = false
		if section, _, nested := strings.Cut(f.key, "."); nested {
			keys[section] = true
		}
	}
	return keys
}

func isNull(n *yaml.Node) bool { return n.ShortTag() == "!!null" }

// field is a setting in a Config.
type field struct {
	key   string
	value reflect.Value // may be set; of a check it is a copy
	tag   reflect.StructTag
	keep  func() // puts a copy that was set into the Config; else nil
}

// fields returns the settings of c in the order of the struct. Its structs are
// sections, named by their yaml tags. A field with the tag yaml:"-" is derived, and no setting.
func fields(c *Config) []field { return appendFields(nil, "", reflect.ValueOf(c).Elem()) }

func appendFields(list []field, prefix string, v reflect.Value) []field {
	for i := range v.NumField() {
		value := v.Field(i)
		described := v.Type().Field(i)
		if checks, are := value.Addr().Interface().(*check.List); are {
			list = appendChecks(list, checks)
			continue
		}
		if described.Anonymous { // its settings count as settings of v
			list = appendFields(list, prefix, value)
			continue
		}

		key, set := described.Tag.Lookup("yaml")
		_, parsesItself := value.Addr().Interface().(encoding.TextUnmarshaler)
		if value.Kind() == reflect.Struct && !parsesItself {
			list = appendFields(list, prefix+key+".", value)
			continue
		}
		if set && key != "-" {
			list = append(list, field{key: prefix + key, value: value, tag: described.Tag})
		}
	}
	return list
}

// appendChecks appends the severities of all checks but the probe, then the settings of each check.
func appendChecks(list []field, checks *check.List) []field {
	for _, c := range *checks {
		if c.Name != check.CheckProbe {
			severity := c.Severity
			keep := func() { *checks = checks.WithSeverity(c.Name, severity) }
			list = append(list, field{key: "checks." + c.Name, value: reflect.ValueOf(&severity).Elem(), keep: keep})
		}
	}

	for _, c := range *checks {
		if c.Settings == nil {
			continue
		}
		settings := reflect.New(reflect.TypeOf(c.Settings)).Elem()
		settings.Set(reflect.ValueOf(c.Settings))
		for _, f := range appendFields(nil, c.Name+".", settings) {
			f.keep = func() { *checks = checks.With(settings.Interface()) }
			list = append(list, f)
		}
	}
	return list
}

// An enum is a setting with a closed vocabulary; Words lists it.
type enum interface{ Words() []string }

// hook decodes the text of a value, or a list of texts, which is one text in a variable: its items are separated by
// commas. A default has its type already.
func hook(from, to reflect.Type, data any) (any, error) {
	if from == to && to != reflect.TypeFor[string]() {
		return data, nil
	}
	single, isText := data.(string)
	if to.Kind() == reflect.Slice && isText {
		return strings.Split(single, ","), nil
	}
	if to.Kind() == reflect.Slice {
		return data, nil
	}
	if !isText {
		return nil, mistake.Problem("a list is not a value", "")
	}
	return parse(to, strings.TrimSpace(single))
}

// parse makes a value of the type of a setting.
func parse(t reflect.Type, s string) (any, error) {
	into := reflect.New(t)
	switch value := into.Interface().(type) {
	case *time.Duration:
		return ParseDuration(s)
	case *netip.Prefix:
		return parsePrefix(s)
	case *int:
		return parseNumber(s)
	case encoding.TextUnmarshaler:
		err := value.UnmarshalText([]byte(s))
		return into.Elem().Interface(), err
	case enum:
		word, err := parseWord(s, value.Words())
		return reflect.ValueOf(word).Convert(t).Interface(), err
	}
	return s, nil
}

func parseNumber(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, mistake.Problem(text.Show(s)+" is not a whole number", "")
	}
	return n, nil
}

// parseWord returns the one of the words that a text is.
func parseWord(s string, words []string) (string, error) {
	// In YAML 1.1, which Puppet reads and writes, a bare off means false.
	if s == "false" && slices.Contains(words, "off") {
		return "off", nil
	}
	if !slices.Contains(words, s) {
		return "", mistake.Problem(text.Show(s)+" is not one of "+strings.Join(words, ", "), "")
	}
	return s, nil
}

// ParseDuration parses a duration in the format of all settings: as
// time.ParseDuration does, or with days and weeks, such as 30d or 2w.
func ParseDuration(s string) (time.Duration, error) {
	if d, err := time.ParseDuration(s); err == nil {
		return d, nil
	}
	d, err := model.ParseDuration(s)
	if err != nil {
		return 0, mistake.Problem(text.Show(s)+" is not a duration", "such as 1500ms, 2s or 30d")
	}
	return time.Duration(d), nil
}

// parsePrefix accepts a network, or a bare address as the network of that address alone.
func parsePrefix(s string) (any, error) {
	network, err := netip.ParsePrefix(s)
	if alone, notAddress := netip.ParseAddr(s); notAddress == nil && alone.Zone() == "" {
		network, err = alone.Prefix(alone.BitLen())
	}

	if err != nil || network.Addr().Is4In6() {
		return nil, mistake.Problem(text.Show(s)+" is not a network", "such as 10.0.0.0/8 or 2001:db8::/32")
	}
	if network != network.Masked() {
		return nil, mistake.Problem(text.Show(s)+" has bits beyond its mask", network.Masked().String())
	}
	return network, nil
}

// format returns a value as it is written in YAML, on one line.
func format(v reflect.Value) string {
	value := v.Interface()
	switch x := value.(type) {
	case time.Duration:
		value = text.Duration(x)
	case Database:
		value = x.URL
	case answer.MaxOut: // a number needs no quotes
		return x.String()
	}

	var n yaml.Node
	_ = n.Encode(value) // no setting is of a type that has no YAML
	n.Style |= yaml.FlowStyle
	out, _ := yaml.Marshal(&n)
	return strings.TrimSpace(string(out))
}
