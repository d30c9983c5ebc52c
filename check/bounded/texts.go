package bounded

import "io"

// Texts returns a reader of the JSON in r with each text cut after some most bytes: a text of any length then takes no
// memory. An escape such as \u00e9 is kept or cut as a whole. What is not JSON is cut between two quotation marks, too.
func Texts(r io.Reader, most int) io.Reader { return &texts{from: r, most: most} }

// texts is where the reader of Texts stands.
type texts struct {
	from   io.Reader
	most   int
	inText bool
	length int  // of the text so far
	cuts   bool // this character, or escape, is too much
	escape int  // how many bytes of an escape follow, as far as is known
	opens  bool // the byte before was the backslash of an escape
}

// Read reads until there is a byte that stays.
func (t *texts) Read(b []byte) (int, error) {
	for {
		n, err := t.from.Read(b)
		kept := b[:0]
		for _, c := range b[:n] {
			if t.keeps(c) {
				kept = append(kept, c)
			}
		}
		if len(kept) > 0 || err != nil || len(b) == 0 {
			return len(kept), err
		}
	}
}

// keeps takes the next byte into account, and reports whether it stays.
func (t *texts) keeps(c byte) bool {
	if !t.inText {
		t.inText = c == '"'
		t.length = 0
		return true
	}
	if t.escape == 0 && c == '"' {
		t.inText = false
		return true
	}

	t.length++
	if t.escape > 0 {
		t.escape--
		hasDigits := t.opens && c == 'u'
		if hasDigits {
			t.escape = 4
		}
		t.opens = false
		return !t.cuts
	}

	t.cuts = t.length > t.most
	if c == '\\' {
		t.escape = 1
		t.opens = true
	}
	return !t.cuts
}
