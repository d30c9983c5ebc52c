// Package browser tests pmcheck's page in a real browser. Chromium runs without
// a window, with a profile of its own below a temporary directory, and speaks
// the DevTools protocol over two pipes; it opens nothing but what a test names.
//
// The pictures are kept for a person to look at with
//
//	go test -artifacts -outputdir /tmp ./cmd/pmcheck/internal/test/browser
package browser
