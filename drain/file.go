package drain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pmcheck/pmcheck/check/text"
)

const maxHoldFile = 64 << 10

// file is the JSON of a hold file, which pmcheck-holds(5) describes.
type file struct {
	Mode    Mode      `json:"mode"`
	Leaving Leaving   `json:"leaving,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	By      string    `json:"by,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	Until   time.Time `json:"until,omitzero"`
}

// encode returns the content of the file for h. Holder, service and directory are in the file's
// path.
func (h Hold) encode() ([]byte, error) {
	data, err := json.MarshalIndent(file{
		Mode:    h.Mode,
		Leaving: h.Leaving,
		Reason:  text.Printable(h.Reason, maxHoldFile),
		By:      text.Printable(h.By, maxHoldFile),
		Since:   h.Since.UTC(),
		Until:   h.Until.UTC(),
	}, "", "  ")
	if err != nil {
		return nil, err
	}

	data = append(data, '\n')
	_, err = parse(data) // what cannot be read back is not written
	return data, err
}

// parse is the inverse of encode. It is strict, since ignoring a misspelt field could make a hold
// weaker or endless.
func parse(data []byte) (Hold, error) {
	if len(data) > maxHoldFile {
		return Hold{}, errTooLarge
	}

	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var f file
	err := decoder.Decode(&f)
	if err == io.EOF {
		return Hold{}, errors.New("file is empty")
	}
	if err != nil {
		return Hold{}, err
	}
	if _, more := decoder.Token(); more != io.EOF {
		return Hold{}, errors.New("more data after the JSON object")
	}

	if f.Mode != Drain && f.Mode != Maint {
		return Hold{}, fmt.Errorf("mode %q is not drain or maint", f.Mode)
	}
	if f.Leaving.patience() < 0 || f.Leaving == LeavingByView {
		return Hold{}, fmt.Errorf("leaving %q is not turn, slot or spare", f.Leaving)
	}
	h := Hold{
		Mode:    f.Mode,
		Leaving: f.Leaving,
		Reason:  text.Printable(f.Reason, maxHoldFile),
		By:      text.Printable(f.By, maxHoldFile),
		Since:   f.Since.UTC(),
		Until:   f.Until.UTC(),
	}
	if _, err := json.Marshal(h); err != nil { // in UTC a time may have a year that JSON does not know
		return Hold{}, err
	}
	return h, nil
}
