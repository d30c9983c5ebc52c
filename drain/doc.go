// Package drain keeps the holds of a master and derives its mode from them.
package drain
