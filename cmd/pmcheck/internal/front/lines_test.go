package front

import (
	"io"
	"net"
	"testing"
	"time"
)

// FuzzHangUp: hangUp reads a bounded part of what a client sends, and returns.
func FuzzHangUp(f *testing.F) {
	f.Add([]byte(""))
	f.Add([]byte("ca\n"))
	f.Add(make([]byte, 3*maxSaid))
	f.Fuzz(func(t *testing.T, said []byte) {
		ours, theirs := net.Pipe()
		ours.SetDeadline(time.Now().Add(10 * time.Second))
		taken := make(chan int, 1)
		go func() {
			n, _ := theirs.Write(said) // blocks until all of it is taken, or the other end is closed
			theirs.Close()
			taken <- n
		}()
		hangUp(ours)
		ours.Close()
		// A reader takes no more than it was asked for.
		if n := <-taken; n > maxSaid || n < min(len(said), maxSaid) {
			t.Errorf("%d of %d bytes were taken", n, len(said))
		}
		if _, err := ours.Read(make([]byte, 1)); err != io.ErrClosedPipe {
			t.Errorf("the connection is still open: %v", err)
		}
	})
}
