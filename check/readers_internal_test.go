package check

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestReadersRefuseBadInput gives bad input to every function that reads JSON from
// the network or from a file.
func TestReadersRefuseBadInput(t *testing.T) {
	readers := map[string]func([]byte) error{
		"pool":     func(b []byte) error { _, err := parsePool(b); return err },
		"puppetdb": func(b []byte) error { _, err := readPuppetDB(http.StatusOK, b); return err },
	}
	inputs := map[string]string{
		"nothing": "", "null": "null", "a word": "running", "a page": "<html>", "an array": "[]", "an object": "{}",
		"deep objects": nested(100_000), "deep arrays": strings.Repeat("[", 100_000), "cut": `{"status":{"a":`,
		"deep below a known key": `{"status":` + nested(9_999) + `}`,
	}
	for name, reader := range readers {
		for kind, input := range inputs {
			if reader([]byte(input)) == nil {
				t.Errorf("%s accepts bad input: %s", name, kind)
			}
		}
	}
}

// FuzzReadPuppetDB: only a 200 with the state running is healthy. A Fault has one of the reasons of
// this check.
func FuzzReadPuppetDB(f *testing.F) {
	f.Add(200, []byte(`{"state":"running","status":`+
		`{"maintenance_mode?":false,"queue_depth":0,"read_db_up?":true,"write_db_up?":true}}`))
	f.Add(503, []byte(`{"state":"error","status":{"read_db_up?":false}}`))
	f.Add(200, []byte(`{"state":"running","status":{"queue_depth":"0"}}`))
	f.Fuzz(func(t *testing.T, code int, body []byte) {
		value, err := readPuppetDB(code, body)
		if err == nil && (code != 200 || !strings.HasPrefix(value, "running")) {
			t.Errorf("status %d with %q counts as healthy", code, body)
		}
		var fault *Fault
		if errors.As(err, &fault) && fault.Reason != PuppetDBDown && fault.Reason != PuppetDBMaintained {
			t.Errorf("reason %s", fault.Reason)
		}
		if !utf8.ValidString(value) || len(value) > 100 {
			t.Errorf("value %q", value)
		}
	})
}
