package answer

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pmcheck/pmcheck/check/text"
)

// MaxOut is how many masters of a pool may be out at one time: a number from 1 to 1000, or a percentage
// from 1% to 100%, which is at least one master. The database of a budget counts the same way, in pmcheck.allowed.
type MaxOut struct {
	Number  int
	Percent bool // Number is a percentage
}

// UnmarshalText is strict: a percentage that was meant as a number, or the reverse, empties a pool.
func (m *MaxOut) UnmarshalText(s []byte) error {
	digits, percent := strings.CutSuffix(string(s), "%")
	most := uint64(1000)
	if percent {
		most = 100
	}

	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || digits[0] == '0' || n > most {
		return fmt.Errorf("%s is not a number of masters (1 to 1000, or a percentage such as 5%%)", text.Show(string(s)))
	}
	*m = MaxOut{Number: int(n), Percent: percent}
	return nil
}

// String returns the text that UnmarshalText reads.
func (m MaxOut) String() string {
	if m.Percent {
		return strconv.Itoa(m.Number) + "%"
	}
	return strconv.Itoa(m.Number)
}

// Of returns how many of these masters may be out.
func (m MaxOut) Of(masters int) int {
	if m.Percent {
		return max(1, m.Number*masters/100)
	}
	return max(1, m.Number)
}
