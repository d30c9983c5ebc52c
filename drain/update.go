package drain

import (
	"fmt"
	"path/filepath"
	"slices"
)

// Change is Put for a hold that depends on the one it replaces. It calls next with
// the hold of holder on service that is in effect and readable, or with the zero
// Hold if there is none, and puts what next returns for that holder and service.
// next must depend on nothing but its argument: it is called more than once, and the
// last result counts. No other writer can change the hold between that call and the
// write.
func (s *Store) Change(holder, service string, next func(old Hold) Hold) (Hold, error) {
	name := fileName(holder, service)
	replaced := func() (old []Hold, h Hold) {
		old = s.find(func(h Hold) bool { return filepath.Base(h.Path) == name })
		h = next(s.current(old))
		h.Holder, h.Service = holder, service
		return old, h
	}
	_, h := replaced()
	if err := s.prepare(h); err != nil {
		return Hold{}, err
	}
	unlock, err := s.lock()
	if err != nil {
		return Hold{}, err
	}
	defer unlock()
	old, h := replaced()
	if err := s.prepare(h); err != nil {
		return Hold{}, err
	}
	dir := s.dirOf(h)
	path := filepath.Join(dir, name)
	data, err := s.successor(h, old).Encode()
	if err != nil {
		return Hold{}, fmt.Errorf("hold %s: %w", holder, err)
	}
	if err := writeFile(dir, name, data); err != nil {
		return Hold{}, err
	}
	_, err = remove(slices.DeleteFunc(old, func(o Hold) bool { return o.Path == path }))
	s.tidy()
	stored := s.find(func(h Hold) bool { return h.Path == path })
	if err == nil && len(stored) == 0 {
		err = fmt.Errorf("%w: %s is gone again", ErrNotFound, path)
	}
	if err != nil {
		return Hold{}, err
	}
	return stored[0], nil
}

// Undo takes back set, a hold that Put or Change has returned: it puts back the hold that was
// there before, if that one is still in effect, or else removes set. A zero before means
// that there was none. restored reports which of the two it did. No other writer can change the
// hold in between. If the hold in place is not set, because another writer has lifted or replaced
// it or it has ended, Undo leaves it, and the error wraps [ErrNotFound].
func (s *Store) Undo(set, before Hold) (restored bool, err error) {
	gone := fmt.Errorf("%w: that of %s was lifted or replaced, or has ended", ErrNotFound, set.Holder)
	if before.Mode != "" && before.InEffect(s.now()) {
		owned := false
		_, err := s.Change(set.Holder, set.Service, func(old Hold) Hold {
			if owned = old == set; !owned {
				return Hold{} // not valid, and so not written
			}
			return before
		})
		switch {
		case !owned:
			return false, gone
		case err == nil || before.InEffect(s.now()):
			return err == nil, err
		}
	}
	lifted, err := s.lift(func(h Hold) bool { return h == set && h.InEffect(s.now()) })
	if err == nil && len(lifted) == 0 {
		return false, gone
	}
	return false, err
}

func (s *Store) dirOf(h Hold) string {
	if h.UntilReboot {
		return s.UntilReboot
	}
	return s.Persistent
}

// current returns the one of old that counts. If there are two, as after a move that
// failed, it is the persistent one.
func (s *Store) current(old []Hold) (current Hold) {
	for _, o := range old {
		if o.Code == "" && o.InEffect(s.now()) && (current.Mode == "" || !o.UntilReboot) {
			current = o
		}
	}
	return current
}
