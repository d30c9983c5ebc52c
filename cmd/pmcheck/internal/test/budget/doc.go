// Package budget runs the drain budget on a real PostgreSQL: claims in the same
// moment, masters and strangers by their certificates, and each row of the table of
// failures in packaging/doc/leaving.md.
package budget
