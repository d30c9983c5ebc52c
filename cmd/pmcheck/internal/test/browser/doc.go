// Package browser tests pmcheck's page in a real browser. Chromium runs without a window,
// with its own profile below a temporary directory, and speaks the DevTools protocol over
// two pipes. It opens only the pages that a test visits.
//
// To keep the screenshots, use
//
//	go test -artifacts -outputdir /tmp ./cmd/pmcheck/internal/test/browser
package browser
