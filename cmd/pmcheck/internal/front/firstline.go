package front

import "bytes"

// The first lines of a request and its answer, in which balancers and net/http disagree.
//
// What pmcheck replaces never read the request and always answered in HTTP/1.1, so there are balancers that send the
// least that HTTP ever asked for, and balancers that compare the line that they get.
const (
	suppliedHost    = "Host: pmcheck\r\n"
	suppliedVersion = " HTTP/1.0"
	suppliedEnd     = "\r\n"

	// A client that speaks TLS, as a check of Puppet's own port does, would wait for an answer until net/http gives up.
	tlsHandshake  = "\x16\x03"
	refusedAtOnce = "TLS\r\n"

	// room is the most that complete adds.
	room = max(len(suppliedHost), len(suppliedVersion)+len(suppliedEnd))
)

// isWhole reports whether a request has arrived whole, or so much of it that it is refused.
func isWhole(request []byte) bool {
	if IsTLS(request) {
		return true
	}
	end := bytes.IndexByte(request, '\n') + 1
	if end == 0 {
		return false
	}
	if !hasVersion(request[:end]) {
		return true
	}
	_, ended := headers(request, end)
	return ended
}

// complete completes a whole request in b[:n], and returns its new length. It needs room behind n. It changes nothing
// else: what it leaves alone is net/http's to judge.
func complete(b []byte, n int) int {
	end := bytes.IndexByte(b[:n], '\n') + 1

	if IsTLS(b[:n]) {
		return copy(b, refusedAtOnce)
	}

	if hasNoVersion(b[:end]) {
		at := len(bytes.TrimRight(b[:end], "\r\n"))
		if end == n { // no empty line ends the headers
			n = insert(b, n, n, suppliedEnd)
		}
		return insert(b, n, at, suppliedVersion)
	}

	if hasNoHost(b[:n], end) {
		return insert(b, n, end, suppliedHost)
	}
	return n
}

// IsTLS reports whether a client began with a TLS handshake instead of a request.
func IsTLS(asked []byte) bool { return bytes.HasPrefix(asked, []byte(tlsHandshake)) }

// hasVersion reports whether a first line ends in a version of HTTP, so that headers follow.
func hasVersion(line []byte) bool {
	line = bytes.TrimRight(line, "\r\n")
	return bytes.HasPrefix(line[bytes.LastIndexByte(line, ' ')+1:], []byte("HTTP/"))
}

// hasNoVersion reports whether a first line is "GET /path", the whole request of HTTP/0.9. F5 sends it unless it is
// given something else to send.
func hasNoVersion(line []byte) bool {
	target, is := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("GET /"))
	return is && len(target) < len(line) && !bytes.ContainsAny(target, " \t\r")
}

// headers returns the headers of a request, whose first line has an end, and reports whether an empty line ends them.
func headers(request []byte, end int) (lines []byte, ended bool) {
	for at := end; ; {
		length := bytes.IndexByte(request[at:], '\n') + 1
		if length == 0 {
			return request[end:], false
		}
		isEmpty := len(bytes.TrimRight(request[at:at+length], "\r\n")) == 0
		if isEmpty {
			return request[end:at], true
		}
		at += length
	}
}

// hasNoHost reports whether a whole HTTP/1.1 request has no Host header. HAProxy sends such requests ("option httpchk
// GET / HTTP/1.1", unless the header is written out), and net/http refuses them. The name in the header means nothing
// here.
func hasNoHost(request []byte, end int) bool {
	isHTTP11 := bytes.HasSuffix(bytes.TrimRight(request[:end], "\r\n"), []byte(" HTTP/1.1"))
	if !isHTTP11 {
		return false
	}

	lines, ended := headers(request, end)
	for line := range bytes.Lines(lines) {
		const host = "host:"
		if len(line) >= len(host) && bytes.EqualFold(line[:len(host)], []byte(host)) {
			return false
		}
	}
	return ended
}

// insert inserts a text into b[:n], which must have room for it, and returns the new length.
func insert(b []byte, n, at int, text string) int {
	copy(b[at+len(text):], b[at:n])
	copy(b[at:], text)
	return n + len(text)
}

// code returns the status code of an answer.
func code(answer []byte) string {
	const before, length = len("HTTP/1.1 "), len("200")
	if len(answer) < before+length {
		return ""
	}
	return string(answer[before : before+length])
}

// versioned returns an answer whose status line names HTTP/1.1, as the answers of Apache and nginx do, whatever the
// version of the request: net/http repeats that. A client of HTTP/1.0 understands the rest; as the version now allows
// a second request, the answer says that there is none.
func versioned(answer []byte) []byte {
	rest, is := bytes.CutPrefix(answer, []byte("HTTP/1.0 "))
	line, headers, whole := bytes.Cut(rest, []byte("\r\n"))
	if !is || !whole {
		return answer
	}

	const ours, end = "HTTP/1.1 ", "\r\nConnection: close\r\n"
	changed := make([]byte, 0, len(answer)+len(end))
	changed = append(changed, ours...)
	changed = append(changed, line...)
	changed = append(changed, end...)
	return append(changed, headers...)
}
