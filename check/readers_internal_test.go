package check

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestReadersRefuseBadInput gives bad input to every function that reads JSON from
// the network or from a file.
func TestReadersRefuseBadInput(t *testing.T) {
	readers := map[string]func([]byte) error{
		"pool":     func(b []byte) error { _, err := parsePool(b); return err },
		"puppetdb": func(b []byte) error { _, err := readPuppetDB(http.StatusOK, b); return err },
		"deploy":   func(b []byte) error { _, err := parseDeploy(b); return err },
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

// FuzzReadPuppetDB: only a 200 with the state running, and without a flag that
// contradicts it, is healthy. A Fault has one of the reasons of this check.
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

// FuzzParseDeploy: whatever a record contains, its environment can be encoded as
// JSON, and is OK only if the deployment succeeded.
func FuzzParseDeploy(f *testing.F) {
	f.Add([]byte(`{"signature":"1","started_at":"2026-11-20 09:00:00 +0000","finished_at":"2026-11-20 09:00:30 UTC",` +
		`"deploy_success":true,"module_deploys":[{"name":"stdlib","version":"9.6.0","sha":null}]}`))
	f.Add([]byte(`{"started_at":"2026-11-20T09:00:00Z","finished_at":"0001-01-01T00:00:00Z",` +
		`"deploy_success":false,"puppetfile_checksum":""}`))
	f.Add([]byte(`{"started_at":"2026-01-01 00:00:00 +2400","finished_at":"9999-12-31 23:59:59 -1200",` +
		`"deploy_success":true}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		record, err := parseDeploy(data)
		if err != nil {
			return
		}
		e := (&deployFile{environment: "production", record: record}).judge(time.Now())
		if e.Reason == OK && !*record.Success || (e.Reason == OK) != (e.Detail == "") || len(e.ID) != 12 {
			t.Errorf("%+v", e)
		}
		if _, err := json.Marshal(e); err != nil {
			t.Error(err)
		}
	})
}
