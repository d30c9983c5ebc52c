package drain

// MarkInUse says of a host that it is not new, for a package that is upgraded: an
// [Store.Initial] that is set later must not take it out. A host that still has the
// hold of Initial stays new. Nothing is written where the marker is, whatever it is,
// and no link is followed: others than root may write the directory.
func (s *Store) MarkInUse() error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if _, isNew := s.initialHold(); isNew || isMarked(s.Persistent) {
		return nil
	}
	return writeFile(s.Persistent, marker, []byte("This host was in use when its package was upgraded.\n"))
}
