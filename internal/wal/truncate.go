package wal

// TruncateFront implements Log: it removes whole files. If the log has no record from keep on,
// it begins a new file, so that the log's size falls to the size of a header.
func (l *Dir) TruncateFront(keep Seq) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.leading {
		l.idle.Wait()
	}
	if err := l.usable(); err != nil {
		return err
	}
	l.leading = true
	defer l.handOver()
	if err := l.checkFolder(); err != nil {
		return err
	}
	if err := l.removeBefore(keep); err != nil {
		return err
	}
	if keep <= l.written.seq || len(l.files.list) == 0 || l.files.last().first > l.written.seq {
		return nil
	}
	if err := l.prepare(true /* anew */); err != nil {
		return err
	}
	return l.removeBefore(keep)
}

// removeBefore removes files oldest first, each durably before the next, so that a crash leaves
// no gap.
func (l *Dir) removeBefore(keep Seq) error {
	f := &l.files
	for len(f.list) > 1 && f.list[1].first <= keep {
		name := fileName(l.dir, f.list[0].number)
		f.removed = f.list[0].number
		if err := l.unlocked(func() error { return remove(l.fs, l.dir, name) }); err != nil {
			_, err := resource(err)
			return err
		}
		f.list = f.list[1:]
	}
	return nil
}
