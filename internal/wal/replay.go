package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/griffin-search/griffin/internal/vfs"
)

// Replay implements Log. Appends and TruncateFront may run at the same time: it reads the records that were acknowledged when it began, and fails with ErrTruncated if a file that it needs is removed.
func (l *Dir) Replay(from Seq, each func(Entry) error) error {
	l.mu.Lock()
	if l.closed {
		defer l.mu.Unlock()
		return l.usable()
	}
	files, last, t := slices.Clone(l.files.list), l.written.seq, l.files.term
	l.mu.Unlock()
	err := replay(l.fs, l.dir, files, t, last, from, each)
	if errors.Is(err, fs.ErrNotExist) {
		l.mu.Lock()
		defer l.mu.Unlock()
		if files[0].number <= l.files.removed {
			err = fmt.Errorf("%w: %w", ErrTruncated, err)
		}
	}
	return err
}

// Scan is Replay of a log that is not open, without a lock and without changing it. It also
// returns the torn end, which it leaves out.
func Scan(fsys vfs.FS, dir string, from Seq, each func(Entry) error) (Torn, error) {
	s, err := scan(fsys, dir)
	if err != nil {
		return Torn{}, err
	}
	t, _, err := readTerm(fsys, dir)
	if err != nil {
		return Torn{}, err
	}
	return s.torn, replay(fsys, dir, s.files, t, s.end.seq, from, each)
}

func replay(fsys vfs.FS, dir string, files []logFile, t term, last, from Seq, each func(Entry) error) error {
	first := last + 1
	if len(files) > 0 {
		first = files[0].first
	}
	if from != 0 && from < first && !t.begins(from, first) {
		return fmt.Errorf("%s: records %d to %d: %w", dir, from, first-1, ErrTruncated)
	}
	var buf []byte
	var before *cursor
	for i, f := range files {
		if i+1 < len(files) && files[i+1].first <= from {
			continue
		}
		c, err := openCursor(fsys, fileName(dir, f.number), f.end, buf)
		if err != nil {
			return err
		}
		if before != nil && (c.header.prev != before.crc || c.header.first < before.next || c.header.prevEnd != before.end) {
			err = &damage{c.name, 0, fmt.Sprintf("it does not follow %s", before.name)}
		}
		for err == nil {
			err = c.deliver(from, each)
		}
		buf, before = c.buf, c
		closed := c.file.Close()
		if !errors.Is(err, errEnd) {
			return err
		}
		if closed != nil {
			return closed
		}
	}
	return nil
}

// deliver passes on the next record; errEnd after the last.
func (c *cursor) deliver(from Seq, each func(Entry) error) error {
	f, payload, err := c.frame()
	if err != nil || f.kind == kindMark || f.seq < from {
		return err
	}
	return each(Entry{Seq: f.seq, Type: f.typ, Payload: payload})
}
