package status_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/pmcheck/pmcheck/cmd/pmcheck/internal/status"
)

// Printable must handle the type of every field in a Status.
func TestEachFieldOfAStatusIsMadePrintable(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(path string, typ reflect.Type)
	walk = func(path string, typ reflect.Type) {
		if seen[typ] || typ == reflect.TypeFor[time.Time]() || typ.PkgPath() == "net/netip" {
			return
		}
		seen[typ] = true
		switch typ.Kind() {
		case reflect.Struct:
			for f := range typ.Fields() {
				if f.IsExported() {
					walk(path+"."+f.Name, f.Type)
				}
			}
		case reflect.Pointer, reflect.Slice:
			walk(path+"[]", typ.Elem())
		case reflect.String, reflect.Int, reflect.Int64, reflect.Uint16, reflect.Uint64, reflect.Float64, reflect.Bool:
		default:
			t.Errorf("%s is a %s, which Printable does not know", path, typ)
		}
	}
	walk("Status", reflect.TypeFor[status.Status]())
}
