package status

import (
	"bytes"
	"runtime"
	"testing"
)

// FuzzDecode: what is decoded at all is small.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"services":[{},{}]}`), 1)
	f.Fuzz(func(t *testing.T, piece []byte, times int) {
		body := bytes.Repeat(piece, min(max(times, 1), (4<<20)/(len(piece)+1)+1))
		var s Status
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		decode(bytes.NewReader(body), &s)
		runtime.ReadMemStats(&after)
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 64 {
			t.Errorf("%d MiB for %d bytes", used, len(body))
		}
	})
}
