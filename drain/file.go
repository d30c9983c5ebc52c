package drain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	fileVersion = 1        // the only version of the file format so far
	maxFile     = 64 << 10 // the size of the largest hold file that is read
)

// file is the JSON of a hold file; the package comment describes it.
type file struct {
	Version int        `json:"version"`
	Mode    Mode       `json:"mode"`
	Leaving Leaving    `json:"leaving,omitempty"`
	Reason  string     `json:"reason,omitempty"`
	By      string     `json:"by,omitempty"`
	Since   *time.Time `json:"since,omitempty"`
	Until   *time.Time `json:"until,omitempty"`
}

// Encode returns the content of the file for h. It does not contain the holder,
// service, owner and directory: these are in the file's name and attributes. Encode
// returns an error if the content would not be valid.
func (h Hold) Encode() ([]byte, error) {
	f := file{Version: fileVersion, Mode: h.Mode, Leaving: h.Leaving, Reason: oneLine(h.Reason), By: oneLine(h.By)}
	h.Since, h.Until = h.Since.UTC(), h.Until.UTC()
	if !h.Since.IsZero() {
		f.Since = &h.Since
	}
	if !h.Until.IsZero() {
		f.Until = &h.Until
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return nil, err
	}
	if len(data) >= maxFile {
		return nil, errTooLarge
	}
	return append(data, '\n'), nil
}

// Parse returns the hold in the content of a hold file, with the fields that
// Encode writes. It is strict, since ignoring a misspelt field could make a hold
// weaker or endless: an unknown or repeated field, a name in another case, or data
// after the object is an error.
func Parse(data []byte) (Hold, error) {
	if len(data) > maxFile {
		return Hold{}, errTooLarge
	}
	f := file{Version: fileVersion}
	if err := decodeObject(data, map[string]any{
		"version": &f.Version,
		"mode":    &f.Mode,
		"leaving": &f.Leaving,
		"reason":  &f.Reason,
		"by":      &f.By,
		"since":   &f.Since,
		"until":   &f.Until,
	}); err != nil {
		return Hold{}, err
	}
	if err := f.check(); err != nil {
		return Hold{}, err
	}
	h := Hold{Mode: f.Mode, Leaving: f.Leaving, Reason: oneLine(f.Reason), By: oneLine(f.By)}
	if f.Since != nil {
		h.Since = f.Since.UTC()
	}
	if f.Until != nil {
		h.Until = f.Until.UTC()
	}
	return h, nil
}

// check validates what decoding does not.
func (f file) check() error {
	switch {
	case f.Version != fileVersion:
		return fmt.Errorf("version %d of the format is unknown, want %d", f.Version, fileVersion)
	case f.Mode == "":
		return errors.New("no mode")
	case f.Mode != Drain && f.Mode != Maint:
		return fmt.Errorf("mode %q is not drain or maint", f.Mode)
	case !f.Leaving.known():
		return fmt.Errorf("leaving %q is not turn or spare", f.Leaving)
	}
	return errors.Join(checkTime("since", f.Since), checkTime("until", f.Until))
}

// checkTime refuses times that JSON cannot represent in UTC, and Go's zero time, which
// would mean "not set".
func checkTime(field string, t *time.Time) error {
	if t == nil {
		return nil
	}
	if y := t.UTC().Year(); y < 1970 || y > 9999 {
		return fmt.Errorf("%s: year %d is not between 1970 and 9999", field, y)
	}
	return nil
}

// decodeObject decodes the JSON object in data, each field into the pointer that
// fields has for its name. A field that occurs twice is an error.
func decodeObject(data []byte, fields map[string]any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	switch start, err := dec.Token(); {
	case err == io.EOF:
		return errors.New("file is empty")
	case err != nil:
		return err
	case start != json.Delim('{'):
		return errors.New("not a JSON object")
	}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		dst, ok := fields[name]
		if !ok {
			return fmt.Errorf("field %q is unknown or given twice", name)
		}
		delete(fields, name)
		if err := dec.Decode(dst); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if _, err := dec.Token(); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("more data after the JSON object")
	}
	return nil
}
