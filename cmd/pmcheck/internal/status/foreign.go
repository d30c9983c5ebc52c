package status

import (
	"net/netip"
	"reflect"
	"strings"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
)

// maxText bounds one text of a status, in bytes. A status contains text from other hosts, such as
// the names of balancers and certificates, and root prints it.
const maxText = 1000

// Printable makes everything that v points to safe to print: strings are bounded, on one line and
// without control characters, and numbers are not negative. Unexported fields are left alone.
func Printable(v any) { sanitize(reflect.ValueOf(v)) }

func sanitize(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(printable(v.String()))
	case reflect.Int, reflect.Int64:
		v.SetInt(max(v.Int(), 0))
	case reflect.Float64:
		v.SetFloat(max(v.Float(), 0))
	case reflect.Pointer:
		if !v.IsNil() {
			sanitize(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			sanitize(v.Index(i))
		}
	case reflect.Struct:
		switch known := v.Addr().Interface().(type) {
		case *netip.Addr: // its zone may be any text
			*known = known.WithZone("")
		case *netip.AddrPort:
			*known = netip.AddrPortFrom(known.Addr().WithZone(""), known.Port())
		}

		for i := range v.NumField() { // Value.Fields takes twice as long
			if field := v.Field(i); field.CanSet() {
				sanitize(field)
			}
		}
	}
}

// printable is like text.Printable, for a text that may have several lines.
func printable(s string) string {
	return text.Printable(strings.ReplaceAll(strings.TrimSpace(s), "\n", "; "), maxText)
}

// Seconds returns the duration that a Status has as a number of seconds, 3650 days at most, as no setting has more:
// the number may come from another host.
func Seconds(s float64) time.Duration {
	const most = 3650 * 24 * time.Hour
	return time.Duration(min(s, most.Seconds()) * float64(time.Second))
}
