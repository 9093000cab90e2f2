package wal

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Torn is the end of a log that Open cut off: the writer ended before it was durable. It has no
// acknowledged record, unless the last write before that was damaged afterwards; a later write
// would have confirmed it.
type Torn struct {
	File      string
	Offset    int64 // of the first byte that was cut off
	LostBytes int64
	Why       string
}

// Open opens or creates the log in a folder, which only the log may use. The folder above must exist; else the error wraps
// base.ErrRemoved: another program has removed or moved it. Open holds a lock in the
// folder until Close: if another has it, the error wraps base.ErrLocked. Damage wraps
// base.ErrCorrupt, but Open checks only the files' headers and the last file's records; Replay
// checks all that it reads. The records of the last file that no mark confirms are copied to a
// new file; if there is no room for that, appending waits for it. If acknowledged records may be lost, a new term begins:
// the log was not closed, and a Mode other than ModeRequest was set.
func Open(fsys vfs.FS, dir string, opts Options) (*Dir, error) {
	opts.setDefaults()
	if err := makeFolder(fsys, dir); err != nil {
		return nil, err
	}
	lock, err := fsys.Lock(filepath.Join(dir, lockName))
	if err != nil {
		return nil, err
	}
	l := &Dir{fs: fsys, dir: dir, opts: opts, lock: lock}
	if l.was.lock, err = fsys.Identify(filepath.Join(dir, lockName)); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	l.pool.room.L, l.idle.L, l.files.released.L, l.syncer.wake.L = &l.mu, &l.mu, &l.mu, &l.mu
	l.syncer.stop, l.syncer.done, l.syncer.changed = make(chan struct{}), make(chan struct{}), make(chan struct{})
	l.replacePending()
	if err := l.recover(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	l.syncer.running = opts.Mode != ModeRequest
	if l.syncer.running {
		go l.run()
	}
	return l, nil
}

// makeFolder makes the folder durable, even if it exists: the process that made it may have ended
// before it synced the parent.
func makeFolder(fsys vfs.FS, dir string) error {
	if _, err := fsys.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		err = fsys.Mkdir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %w", base.ErrRemoved, err)
		}
		if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(dir))
}

// Torn returns what Open cut off, and whether it did.
func (l *Dir) Torn() (Torn, bool) { return l.was.torn, l.was.torn.File != "" }

// Found returns the number of the last record that Open found; 0: none. Stats().Last is higher if Options.After is, or if
// a new term began.
func (l *Dir) Found() Seq { return l.was.last }

func (l *Dir) recover() error {
	found, err := scan(l.fs, l.dir)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.id = found.id
	l.files.list, l.files.number = found.files, found.number
	if len(found.files) == 0 {
		var random [8]byte
		_, _ = rand.Read(random[:]) // never fails
		l.id = binary.LittleEndian.Uint64(random[:])
	}
	h := header{id: l.id}
	l.seed = h.seed()
	l.written, l.durable = found.end, found.durable
	l.was.torn, l.was.last = found.torn, found.end.seq
	l.files.repair = repair{
		leftover: found.leftover, folder: true, end: found.end,
		tail: found.tail,
	}
	if err = l.beginTerm(found.end.seq); err != nil {
		return err
	}
	err = l.finishRepair()
	if err != nil {
		if retry, err := resource(err); !retry {
			return err
		}
	}
	for _, name := range found.unfinished {
		_ = l.fs.Remove(filepath.Join(l.dir, name)) // or the next Open does
	}
	if l.written.seq < l.opts.After {
		if l.durable == l.written.seq { // all that is written is durable
			l.durable = l.opts.After
		}
		l.written.seq = l.opts.After
	}
	l.next = l.written
	return nil
}

// found is the content of a folder.
type found struct {
	id         uint64
	files      []logFile
	number     uint64 // the highest
	lastSize   int64  // of the last of files
	end        position
	durable    Seq
	tail       bool // the last file has content that is damaged or may not be durable
	torn       Torn
	leftover   string   // a file without records that must be removed, or ""
	unfinished []string // copies that were not finished
}

// scan reads the files' headers and the last file's frames.
func scan(fsys vfs.FS, dir string) (*found, error) {
	names, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	s := &found{}
	var numbers []uint64
	for _, name := range names {
		if number, ok := parseName(name); ok {
			numbers = append(numbers, number)
		} else if strings.HasPrefix(name, filePrefix) && strings.HasSuffix(name, newSuffix) {
			s.unfinished = append(s.unfinished, name)
		}
	}
	slices.Sort(numbers)
	for i, number := range numbers {
		if err := s.add(fsys, dir, number, i == len(numbers)-1); err != nil {
			return nil, err
		}
	}
	if len(s.files) == 0 {
		return s, nil
	}
	return s, s.scanLast(fsys, dir)
}

// add reads the header of a file.
func (s *found) add(fsys vfs.FS, dir string, number uint64, last bool) error {
	name := fileName(dir, number)
	s.number = number
	size, err := fsys.Stat(name)
	if err != nil {
		return err
	}
	c, err := openCursor(fsys, name, min(size, headerLen), nil)
	if err != nil {
		if last && size <= headerLen && errors.Is(err, base.ErrCorrupt) {
			s.leftover = name
			s.torn = Torn{name, 0, size, "the writer ended while it began the file"}
			return nil
		}
		return err
	}
	if err := c.file.Close(); err != nil {
		return err
	}
	h := c.header
	if h.number != number {
		return &damage{name, 0, fmt.Sprintf("it is file %d of a log", h.number)}
	}
	if n := len(s.files); n > 0 {
		before := &s.files[n-1]
		switch {
		case h.id != s.id:
			return &damage{name, 0, "it belongs to another log"}
		case h.first < before.first:
			return &damage{name, 0, "its records do not follow the previous file's"}
		case h.prevEnd > s.lastSize:
			return &damage{fileName(dir, before.number), s.lastSize, fmt.Sprintf("it ends here and had %d bytes", h.prevEnd)}
		case h.prevEnd < headerLen:
			return &damage{name, 0, "a file before it is missing"}
		}
		before.end = h.prevEnd
	}
	s.id = h.id
	s.lastSize = size
	s.files = append(s.files, logFile{number, h.first, size})
	return nil
}

// scanLast finds the end of the log.
func (s *found) scanLast(fsys vfs.FS, dir string) error {
	last := &s.files[len(s.files)-1]
	name := fileName(dir, last.number)
	c, err := openCursor(fsys, name, last.end, nil)
	if err != nil {
		return err
	}
	defer c.file.Close()
	for err == nil {
		_, _, err = c.frame()
	}
	if at := (*damage)(nil); errors.As(err, &at) {
		confirmed, err2 := c.confirmed(c.endNext)
		if err2 != nil {
			return err2
		}
		if confirmed {
			return err
		}
		if s.leftover == "" {
			s.torn = Torn{name, c.end, last.end - c.end, fmt.Sprintf("byte %d: %s", at.offset, at.why)}
		}
	} else if !errors.Is(err, errEnd) {
		return err
	}
	last.end = c.end
	s.end = position{c.endNext - 1, c.endCRC}
	s.durable = c.durable
	s.tail = s.durable < s.end.seq || last.end < s.lastSize || last.end == headerLen
	if !s.tail {
		last.end = c.endRecords // a mark behind it may not be durable
	}
	return nil
}
