package front

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"
)

// requests are those that the documents name, and those that are refused.
var requests = []string{
	"GET / HTTP/1.1\r\n\r\n", // HAProxy without a Host header
	"GET / HTTP/1.1\r\nX-Haproxy-Server-State: UP; name=puppet/puppet1; node=lb1; weight=100/200\r\n\r\n",
	"GET /?drain=404 HTTP/1.1\r\nHost: puppet1\r\n\r\n",
	"GET /ca?drain=404&unhealthy=200 HTTP/1.0\r\n\r\n",
	"OPTIONS / HTTP/1.0\r\n\r\n",
	"OPTIONS * HTTP/1.1\r\n\r\n",
	"HEAD / HTTP/1.0\r\n\r\n",
	"GET /\r\n", // F5's default
	"GET /\r\n\r\n",
	"GET /\n",
	"GET / HTTP/1.1\n\n",
	"GET / HTTP/1.1\r\nHost: \r\nConnection: Close\r\n\r\n",
	"GET / HTTP/1.0\r\nUser-Agent: KeepAliveClient\r\nHost: puppet1\r\n\r\n",
	"GET /status/v1/simple/pe-master HTTP/1.1\r\n\r\n",
	"GET / HTTP/1.1\r\nhost: x\r\n\r\nGET / HTTP/1.1\r\n\r\n", // one more at once
	"GET / HTTP/1.1\r\n\r\nX",
	"POST /\r\n",
	"GET\r\n\r\n",
	"PROXY TCP4 192.0.2.5 192.0.2.1 4711 9200\r\nGET / HTTP/1.1\r\n\r\n",
	"\x16\x03\x01\x02\x00\x01\x00\x01",
}

// pieces is a connection on which a request arrives in pieces, and then no more.
type pieces struct {
	net.Conn
	left []string
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, os.ErrDeadlineExceeded
	}
	n := copy(b, p.left[0])
	p.left[0] = p.left[0][n:]
	if p.left[0] == "" {
		p.left = p.left[1:]
	}
	return n, nil
}

// heard returns what net/http makes of a request.
func heard(request ...string) string {
	named := strings.Contains(strings.ToLower(strings.Join(request, "")), "\nhost:")
	c := &conn{Conn: &pieces{left: request}, crowd: &crowd{}}
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return "refused"
	}
	if r.ProtoAtLeast(1, 1) && r.Host == "" && !named { // it answers 400
		return "no host"
	}
	return fmt.Sprint(r.Method, " ", r.RequestURI, " ", cmp.Or(r.Header.Get("X-Haproxy-Server-State"), "no view"))
}

// TestNothingDependsOnTheCuts: each request in two and in three pieces, cut at every byte, is heard as in one.
func TestNothingDependsOnTheCuts(t *testing.T) {
	for _, request := range requests {
		whole := heard(request)
		if whole == "no host" {
			t.Errorf("%q: %s", request, whole)
		}
		for i := 1; i < len(request); i++ {
			if got := heard(request[:i], request[i:]); got != whole {
				t.Errorf("%q, %q: %s, want %s", request[:i], request[i:], got, whole)
			}
			for j := i + 1; j < len(request); j++ {
				if got := heard(request[:i], request[i:j], request[j:]); got != whole {
					t.Errorf("%q, %q, %q: %s, want %s", request[:i], request[i:j], request[j:], got, whole)
				}
			}
		}
	}
}

// A request that is longer than it may be is net/http's to refuse, be it in pieces.
func TestLongRequestInPieces(t *testing.T) {
	long := "GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 3*maxHeader) + "\r\n\r\n"
	for _, size := range []int{1, 100, 5000} {
		var left []string
		for rest := long; rest != ""; rest = rest[min(size, len(rest)):] {
			left = append(left, rest[:min(size, len(rest))])
		}
		c := &conn{Conn: &pieces{left: left}, crowd: &crowd{}}
		if got, err := io.ReadAll(c); string(got) != long || err != os.ErrDeadlineExceeded {
			t.Errorf("pieces of %d bytes: %d bytes of %d, %v", size, len(got), len(long), err)
		}
	}
}

// A client that connects and sends no whole request is told of, with what it has sent; one that has been answered, or
// had to make room, is not.
func TestSilentClientsAreSeen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan string, 10)
	serve(t, l, "served", func(r Refusal) {
		if r.Client != netip.MustParseAddr("127.0.0.1") {
			t.Errorf("%s is refused", r.Client)
		}
		seen <- fmt.Sprintf("%s %q", r.By, r.Asked)
	})
	for _, tt := range []struct{ sends, want string }{
		{"", `silence ""`},
		{"GET / HTTP/1.1\r\n", `silence "GET / HTTP/1.1\r\n"`},
		{"PROXY TCP4 192.0.2.5 192.0.2.1 4711 9200\r\nGET / HTTP/1.1\r\n\r\n",
			`request "PROXY TCP4 192.0.2.5 192.0.2.1 4711 9200\r\nGET / HTTP/1.1\r\n\r\n"`},
	} {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, tt.sends)
		if strings.HasPrefix(tt.want, "request") {
			io.ReadAll(c)
		}
		c.Close()
		select {
		case got := <-seen:
			if got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%q is not seen", tt.sends)
		}
	}

	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "GET /\r\n")
	wantServed(t, c)
	if len(seen) > 0 {
		t.Errorf("%s, of a client that was served", <-seen)
	}
}
