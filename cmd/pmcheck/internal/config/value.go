package config

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// A field is one setting: a leaf of Config.
type field struct {
	key   string
	value reflect.Value
}

// fields returns the settings of c in the order of the struct. c is a pointer to a
// struct; its structs are sections, named by their mapstructure tags.
func fields(c any) []field { return appendFields(nil, "", reflect.ValueOf(c).Elem()) }

func appendFields(list []field, prefix string, v reflect.Value) []field {
	for i := range v.NumField() {
		key := prefix + v.Type().Field(i).Tag.Get("mapstructure")
		if f := v.Field(i); f.Kind() == reflect.Struct {
			list = appendFields(list, key+".", f)
		} else {
			list = append(list, field{key, f})
		}
	}
	return list
}

// parse turns the text of one value, from whatever source, into the type of a setting.
func parse(t reflect.Type, text string) (any, *mistake) {
	switch reflect.Zero(t).Interface().(type) {
	case time.Duration:
		return parseDuration(text)
	case netip.Prefix:
		return parsePrefix(text)
	case int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, &mistake{show(text) + " is not a whole number", ""}
		}
		return n, nil
	case bool:
		if text != "true" && text != "false" {
			return nil, &mistake{show(text) + " is neither true nor false", ""}
		}
		return text == "true", nil
	case enum:
		return parseEnum(t, text)
	}
	return text, nil
}

func parseDuration(text string) (any, *mistake) {
	d, err := time.ParseDuration(text)
	if err == nil {
		return d, nil
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		hint := show(text + "s")
		if n >= 100 { // who leaves the unit out of 1500 thinks in milliseconds
			hint = show(text+"ms") + " or " + hint
		}
		return nil, &mistake{show(text) + " needs a unit", hint}
	}
	return nil, &mistake{show(text) + " is not a duration", "such as 2s, 1500ms or 1m30s"}
}

// parsePrefix accepts a network, or a bare address as the network of that address alone.
func parsePrefix(text string) (any, *mistake) {
	p, err := netip.ParsePrefix(text)
	if addr, addrErr := netip.ParseAddr(text); addrErr == nil && addr.Zone() == "" {
		p, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	switch {
	case err != nil:
		return nil, &mistake{show(text) + " is not a network", "such as 10.0.0.0/8 or 2001:db8::/32"}
	case p.Addr().Is4In6():
		return nil, &mistake{show(text) + " is an IPv4 network written as IPv6", "write it as IPv4"}
	case p != p.Masked():
		return nil, &mistake{show(text) + " has bits beyond its mask", p.Masked().String()}
	}
	return p, nil
}

func parseEnum(t reflect.Type, text string) (any, *mistake) {
	words := reflect.Zero(t).Interface().(enum).words()
	if !slices.Contains(words, text) {
		return nil, &mistake{show(text) + " is not one of " + strings.Join(words, ", "), suggest(text, words)}
	}
	return reflect.ValueOf(text).Convert(t).Interface(), nil
}

// format returns what one would write in YAML for a value.
func format(v reflect.Value) string {
	if v.Kind() == reflect.Slice {
		items := make([]string, v.Len())
		for i := range items {
			items[i] = format(v.Index(i))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		return short(x)
	case netip.Prefix:
		return quote(x.String())
	}
	if v.Kind() == reflect.String {
		return quote(v.String())
	}
	return fmt.Sprint(v.Interface())
}

// quote adds quotes to text that YAML would not read back as that text.
func quote(text string) string {
	var back []any
	err := yaml.Unmarshal([]byte("["+text+"]"), &back)
	if err == nil && len(back) == 1 && back[0] == text {
		return text
	}
	return strconv.Quote(text)
}

// short writes a duration without the zero units that time.Duration prints: 2m, not 2m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
