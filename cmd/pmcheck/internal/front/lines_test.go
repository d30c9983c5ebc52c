package front

import (
	"io"
	"net"
	"testing"
	"time"
)

// FuzzHangUp: hangUp reads at most maxSaid bytes from a client, and returns.
func FuzzHangUp(f *testing.F) {
	f.Add([]byte(""))
	f.Add([]byte("ca\n"))
	f.Add(make([]byte, 3*maxSaid))
	f.Fuzz(func(t *testing.T, said []byte) {
		ours, theirs := net.Pipe()
		ours.SetDeadline(time.Now().Add(10 * time.Second))
		taken := make(chan int, 1)
		go func() {
			n, _ := theirs.Write(said) // blocks until all bytes are read, or the other end is closed
			theirs.Close()
			taken <- n
		}()
		hangUp(ours)
		ours.Close()
		if n := <-taken; n > maxSaid || n < min(len(said), maxSaid) {
			t.Errorf("hangUp read %d of %d bytes, want %d at most", n, len(said), maxSaid)
		}
		if _, err := ours.Read(make([]byte, 1)); err != io.ErrClosedPipe {
			t.Errorf("the connection is still open: %v", err)
		}
	})
}
