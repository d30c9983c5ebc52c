package front

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

const http11 = " HTTP/1.1\r\n"

func TestRequestIsCompleted(t *testing.T) {
	for _, tt := range []struct{ name, sent, want string }{
		{"HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"},
		{"a host", "GET /" + http11 + "Host: x\r\n\r\n", "GET /" + http11 + "Host: x\r\n\r\n"},
		{"no host", "GET /" + http11 + "A: b\r\n\r\n", "GET /" + http11 + "Host: pmcheck\r\nA: b\r\n\r\n"},
		{"no host, in pieces", "GET /" + http11 + "A: b\r\n", "GET /" + http11 + "A: b\r\n"},
		{"F5's default", "GET /\r\n", "GET / HTTP/1.0\r\n\r\n"},
		{"with an empty line", "GET /\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"},
		{"with a query", "GET /ca?drain=404\r\n", "GET /ca?drain=404 HTTP/1.0\r\n\r\n"},
		{"with a header", "GET /\r\nHost: x\r\n\r\n", "GET / HTTP/1.0\r\nHost: x\r\n\r\n"},
		{"of a terminal", "GET /\n", "GET / HTTP/1.0\n\r\n"},
		{"in pieces", "GET /", "GET /"},
		{"another method", "POST /\r\n", "POST /\r\n"},
		{"no path", "GET\r\n", "GET\r\n"},
		{"another version", "GET / HTTP/2.0\r\n\r\n", "GET / HTTP/2.0\r\n\r\n"},
		{"a return in the path", "GET /\rx\r\n", "GET /\rx\r\n"},
		{"TLS", "\x16\x03\x01\x02\x00\x01", "TLS\r\n"},
		{"nothing", "", ""},
	} {
		b := make([]byte, len(tt.sent)+room)
		n := complete(b, copy(b, tt.sent))
		if got := string(b[:n]); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// FuzzRequestIsCompleted: only a whole request is added to, and only by its version, its end, or a host.
func FuzzRequestIsCompleted(f *testing.F) {
	for _, seed := range []string{
		"GET /\r\n", "GET /\n", "GET /\r\n\r\n", "GET /\rx\r\n", "\x16\x03\x01",
		"GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "OPTIONS * HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		if IsTLS(sent) {
			return
		}
		b := make([]byte, len(sent)+room)
		n := complete(b, copy(b, sent))
		completed := b[:n]
		if bytes.Equal(completed, sent) {
			return
		}

		before, errBefore := http.ReadRequest(bufio.NewReader(bytes.NewReader(sent)))
		after, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(completed)))
		removed := string(completed)
		for _, added := range []string{suppliedHost, suppliedVersion, suppliedEnd} {
			removed = strings.Replace(removed, added, "", 1)
		}
		if without := strings.Replace(string(sent), suppliedEnd, "", 1); removed != without && removed != string(sent) {
			t.Fatalf("%q became %q", sent, completed)
		}
		if errBefore == nil && err == nil && (before.Method != after.Method || before.RequestURI != after.RequestURI) {
			t.Fatalf("%s %s became %s %s", before.Method, before.RequestURI, after.Method, after.RequestURI)
		}
		if errBefore == nil && err != nil {
			t.Fatalf("%q, which is a request, became %q: %v", sent, completed, err)
		}
	})
}

// Whatever version a client asks in, the status line is that of HTTP/1.1, and the rest is as net/http has it.
func TestStatusLineIsThatOfHTTP11(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var refused []Refusal
	serve(t, l, strings.Repeat("served ", 1000)+"served", func(r Refusal) {
		mu.Lock()
		defer mu.Unlock()
		r.Asked = bytes.Clone(r.Asked)
		refused = append(refused, r)
	})

	for sent, want := range map[string]string{
		"GET / HTTP/1.0\r\n\r\n":            "200 OK",
		"HEAD / HTTP/1.0\r\n\r\n":           "200 OK",
		"OPTIONS * HTTP/1.1\r\n\r\n":        "200 OK",
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n": "200 OK",
		"GET /\r\n":                         "200 OK",
		"GET\r\n\r\n":                       "400 Bad Request",
		"\x16\x03\x01\x00":                  "400 Bad Request",
	} {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, sent)
		answer, err := io.ReadAll(c)
		c.Close()

		line, rest, _ := strings.Cut(string(answer), "\r\n")
		_, body, _ := strings.Cut(rest, "\r\n\r\n")
		if err != nil || line != "HTTP/1.1 "+want {
			t.Errorf("%q: %q, %v, want %s", sent, line, err, want)
		}
		if strings.Count(rest, "Connection: close\r\n") != 1 {
			t.Errorf("%q: the answer does not say once that the connection ends: %q", sent, rest)
		}
		chunked := strings.Contains(rest, "chunked")
		whole := strings.HasSuffix(body, "served") && len(body) == 7006
		if strings.HasPrefix(sent, "GET / HTTP/1.0") && (chunked || !whole) || sent == "GET /\r\n" && (chunked || !whole) {
			t.Errorf("%q: a client of HTTP/1.0 does not understand %q", sent, rest)
		}
	}

	mu.Lock()
	defer mu.Unlock()
	if len(refused) != 2 {
		t.Fatalf("%d requests were refused, want 2: %+v", len(refused), refused)
	}
	for _, r := range refused {
		if r.By != ByRequest || r.Code != 400 || string(r.Asked) != "GET\r\n\r\n" && string(r.Asked) != "\x16\x03\x01\x00" {
			t.Errorf("%+v, %q", r, r.Asked)
		}
	}
}
