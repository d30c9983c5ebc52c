package config

import (
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"

	"github.com/pmcheck/pmcheck/check"
	"github.com/pmcheck/pmcheck/check/text"
)

// A field is one setting: a leaf of Config.
type field struct {
	key   string
	value reflect.Value
	tag   reflect.StructTag
}

// fields returns the settings of c in the order of the struct. Its structs are
// sections, named by their yaml tags. A field with the tag yaml:"-" is derived, and no setting.
func fields(c *Config) []field { return appendFields(nil, "", reflect.ValueOf(c).Elem()) }

func appendFields(list []field, prefix string, v reflect.Value) []field {
	for i := range v.NumField() {
		f, tag := v.Field(i), v.Type().Field(i).Tag
		key, set := tag.Lookup("yaml")
		checks, are := f.Interface().(check.List)
		switch {
		case are:
			for i, c := range checks {
				if c.Name != check.CheckProbe {
					list = append(list, field{"checks." + c.Name, reflect.ValueOf(&checks[i].Severity).Elem(), ""})
				}
			}
		case v.Type().Field(i).Anonymous:
			list = appendFields(list, prefix, f)
		case f.Kind() == reflect.Struct:
			list = appendFields(list, prefix+key+".", f)
		case set && key != "-":
			list = append(list, field{prefix + key, f, tag})
		}
	}
	return list
}

// An enum is a setting with a closed vocabulary; Words lists it.
type enum interface{ Words() []string }

// hook decodes the text of a value, or a list of texts, which is one text in a variable: its items are separated by
// commas.
func hook(_, to reflect.Type, data any) (any, error) {
	s, isText := data.(string)
	switch {
	case to.Kind() == reflect.Slice && isText:
		return strings.Split(s, ","), nil
	case to.Kind() == reflect.Slice:
		return data, nil
	case !isText:
		return nil, wrong("a list is not a value", "")
	}
	return parse(to, strings.TrimSpace(s))
}

// parse turns the text of one value into the type of a setting.
func parse(t reflect.Type, s string) (any, error) {
	switch zero := reflect.Zero(t).Interface().(type) {
	case time.Duration:
		return ParseDuration(s)
	case netip.Prefix:
		return parsePrefix(s)
	case int:
		n, err := strconv.Atoi(s)
		if err != nil {
			return nil, wrong(show(s)+" is not a whole number", "")
		}
		return n, nil
	case enum:
		words := zero.Words()
		if s == "false" && slices.Contains(words, "off") {
			s = "off" // in YAML 1.1, which Puppet reads and writes, a bare off means false
		}
		if !slices.Contains(words, s) {
			return nil, wrong(show(s)+" is not one of "+strings.Join(words, ", "), "")
		}
		return reflect.ValueOf(s).Convert(t).Interface(), nil
	}
	return s, nil
}

// ParseDuration parses a duration in the format of all settings: that of
// time.ParseDuration, or with days and weeks, such as 30d or 2w.
func ParseDuration(s string) (time.Duration, error) {
	if d, err := time.ParseDuration(s); err == nil {
		return d, nil
	}
	d, err := model.ParseDuration(s)
	if err != nil {
		return 0, wrong(show(s)+" is not a duration", "such as 1500ms, 2s or 30d")
	}
	return time.Duration(d), nil
}

// parsePrefix accepts a network, or a bare address as the network of that address alone.
func parsePrefix(text string) (any, error) {
	p, err := netip.ParsePrefix(text)
	if addr, addrErr := netip.ParseAddr(text); addrErr == nil && addr.Zone() == "" {
		p, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	switch {
	case err != nil || p.Addr().Is4In6():
		return nil, wrong(show(text)+" is not a network", "such as 10.0.0.0/8 or 2001:db8::/32")
	case p != p.Masked():
		return nil, wrong(show(text)+" has bits beyond its mask", p.Masked().String())
	}
	return p, nil
}

// format returns a value as written in YAML.
func format(v reflect.Value) string {
	value := v.Interface()
	switch x := value.(type) {
	case time.Duration:
		value = text.Duration(x)
	case MaxOut:
		return string(x)
	}
	var n yaml.Node
	_ = n.Encode(value) // no setting is of a type that has no YAML
	n.Style |= yaml.FlowStyle
	out, _ := yaml.Marshal(&n)
	return strings.TrimSpace(string(out))
}
