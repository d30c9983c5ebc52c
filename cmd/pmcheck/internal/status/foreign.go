package status

import (
	"net/netip"
	"reflect"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
)

// Bounds on a status. It contains text from other hosts, such as the names of
// balancers and certificates, and root prints it.
const (
	maxText   = 1000    // bytes of one text
	maxList   = 10_000  // entries of one list
	maxNumber = 1 << 53 // the largest integer that a float64, and so JSON, keeps exact
	maxTime   = 1e9     // seconds: 31 years fit a time.Duration
)

// Printable makes everything that v points to safe to print: strings are on one line and
// without control characters, and strings, lists and numbers are bounded. Unexported
// fields are left alone.
func Printable(v any) { sanitize(reflect.ValueOf(v)) }

func sanitize(v reflect.Value) {
	if v.CanAddr() && sanitizeKnown(v.Addr().Interface()) {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(printable(v.String()))
	case reflect.Pointer:
		if !v.IsNil() {
			sanitize(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() { // Value.Fields takes twice as long
			if field := v.Field(i); field.CanSet() {
				sanitize(field)
			}
		}
	case reflect.Slice:
		if v.Len() > maxList {
			v.Set(v.Slice(0, maxList))
		}
		for i := range v.Len() {
			sanitize(v.Index(i))
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(min(max(v.Int(), 0), maxNumber))
	case reflect.Float32, reflect.Float64: // no NaN: JSON has none
		v.SetFloat(min(max(v.Float(), 0), maxTime))
	}
}

// sanitizeKnown handles values of types without exported fields, and reports whether v
// is one. Decoding has checked a time.Time. The zone of a netip.Addr may be any text.
func sanitizeKnown(v any) bool {
	switch v := v.(type) {
	case *time.Time:
	case *netip.Addr:
		*v = sanitizeAddr(*v)
	case *netip.AddrPort:
		*v = netip.AddrPortFrom(sanitizeAddr(v.Addr()), v.Port())
	default:
		return false
	}
	return true
}

func sanitizeAddr(a netip.Addr) netip.Addr {
	if a.Zone() == "" {
		return a
	}
	return a.WithZone(printable(a.Zone()))
}

// printable is like text.Printable, for a text that may have several lines.
func printable(s string) string {
	if !strings.Contains(s, "\n") {
		return text.Printable(s, maxText)
	}
	var lines []string
	for line := range strings.Lines(s[:min(len(s), 4*maxText)]) {
		if line = text.Printable(line, maxText); line != "" {
			lines = append(lines, line)
		}
	}
	return text.Printable(strings.Join(lines, "; "), maxText)
}

// foreignError is an error that quotes what another host sent.
type foreignError struct{ error }

func (e foreignError) Error() string { return printable(e.error.Error()) }

func (e foreignError) Unwrap() error { return e.error }
