package drain

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// keepExpired is how long after its end a hold stays on disk, since the clock may be
// wrong for a while.
const keepExpired = 24 * time.Hour

// Put sets the hold of h.Holder on h.Service to h.Mode, with h.Reason, h.By and
// h.Leaving, h.Until, in the directory that h.UntilReboot names, and returns it as it is
// read back. Other fields of h are ignored. If By is empty and root calls through
// sudo, By becomes the user who called sudo.
//
// A hold of the same holder and service is replaced: it keeps its Since while it
// is in effect, and moves if it is in the other
// directory. At any moment at least one of the two exists. When Put returns without an
// error, the hold is on stable storage. After a [*WriteError] the old hold is in place,
// with two exceptions: if Op is "remove", both are in place; if Op is "sync", the new
// one is, but it may not survive a power failure.
//
// Put creates the directory if it is missing. It also removes temporary files of
// writers that were killed, and other holds that ended more than a day ago.
func (s *Store) Put(h Hold) (Hold, error) {
	return s.Change(h.Holder, h.Service, func(Hold) Hold { return h })
}

// prepare returns an error if h cannot be put, and creates its directory.
func (s *Store) prepare(h Hold) error {
	switch {
	case h.Mode != Drain && h.Mode != Maint:
		return fmt.Errorf("hold %s: mode %q is not drain or maint", h.Holder, h.Mode)
	case !h.InEffect(s.now()):
		return fmt.Errorf("hold %s: the end %s has passed", h.Holder, h.Until.Format(time.RFC3339))
	}
	if err := CheckName(h.Holder); err != nil {
		return fmt.Errorf("holder: %w", err)
	}
	if err := CheckName(h.Service); err != nil && h.Service != "" {
		return fmt.Errorf("service: %w", err)
	}
	return makeDir(s.dirOf(h))
}

// successor returns h with the fields that Put sets, given the holds that it replaces.
func (s *Store) successor(h Hold, old []Hold) Hold {
	now := s.now()
	h.Since = now.UTC().Truncate(time.Second)
	for _, o := range old {
		if o.Code == "" && o.InEffect(now) && o.Since.Before(h.Since) {
			h.Since = o.Since
		}
	}
	if h.By == "" && os.Geteuid() == 0 {
		h.By = os.Getenv("SUDO_USER")
	}
	return h
}

// Lift removes the hold of holder on service, which may be unreadable, from both
// directories and returns what it removed. It removes only that hold: with an empty
// service, the hold on every service, but not those on single services.
//
// Lift creates missing directories, so that a host without them can become ready.
//
// The error wraps a [*WriteError] for each operation that failed, or else
// [ErrNotFound] if there was nothing to lift. The holds that were removed are returned
// even with an error.
func (s *Store) Lift(holder, service string) ([]Hold, error) {
	name := fileName(holder, service)
	if !isHold(name) || strings.ContainsRune(name, '/') {
		return nil, fmt.Errorf("%w: %q cannot name a hold", ErrNotFound, holder)
	}
	lifted, err := s.lift(func(h Hold) bool { return filepath.Base(h.Path) == name })
	if err == nil && len(lifted) == 0 {
		err = fmt.Errorf("%w: %s", ErrNotFound, strings.TrimSuffix(name, suffix))
	}
	return lifted, err
}

// LiftAll is Lift for all holds, including unreadable and expired ones. It succeeds if there
// are none.
func (s *Store) LiftAll() ([]Hold, error) {
	return s.lift(func(Hold) bool { return true })
}

// lift removes the holds that match.
func (s *Store) lift(match func(Hold) bool) (lifted []Hold, err error) {
	for _, p := range s.places() {
		err = errors.Join(err, makeDir(p.dir))
	}
	unlock, lockErr := s.lock()
	if lockErr != nil {
		return nil, errors.Join(err, lockErr)
	}
	defer unlock()
	lifted, removeErr := remove(s.find(match))
	s.tidy()
	return newSnapshot(s.now(), lifted).holds, errors.Join(err, removeErr)
}

// find returns the holds that match, in all directories, however many there are.
func (s *Store) find(match func(Hold) bool) []Hold {
	var found []Hold
	for _, p := range s.places() {
		for _, h := range s.scan(p, -1).holds { // where nothing can be read nothing is found
			if match(h) {
				found = append(found, h)
			}
		}
	}
	return found
}

// tidy removes holds that ended long ago, and the temporary files of writers that
// were killed. The caller must have the lock, so that no writer is at work. Failure
// does no harm: neither is in effect.
func (s *Store) tidy() {
	longAgo := s.now().Add(-keepExpired)
	for _, h := range s.find(func(h Hold) bool { return !h.InEffect(longAgo) }) {
		_ = os.Remove(h.Path)
	}
	for _, p := range s.places() {
		entries, _ := os.ReadDir(p.dir)
		for _, e := range entries {
			if isTemporary(e.Name()) {
				_ = os.Remove(filepath.Join(p.dir, e.Name()))
			}
		}
	}
}
