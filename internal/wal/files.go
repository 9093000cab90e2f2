package wal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs"
)

const (
	filePrefix = "wal-"
	newSuffix  = ".new" // a file that is being copied
	lockName   = "LOCK"
)

func fileName(dir string, number uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%s%06d", filePrefix, number))
}

// parseName returns the number in the name of a file.
func parseName(name string) (number uint64, ok bool) {
	digits, ok := strings.CutPrefix(name, filePrefix)
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	return number, err == nil && filepath.Base(fileName("", number)) == name
}

// logFile is a file of the log.
type logFile struct {
	number uint64
	first  Seq   // the lowest number of a record that it may have
	end    int64 // bytes from here on are no part of the log
}

// files are the files of a log, oldest first.
type files struct {
	list    []logFile
	number  uint64   // the highest ever used
	removed uint64   // the highest that TruncateFront began to remove
	current vfs.File // open for appending: the last of list; nil if none
	counted bool     // the file system counts the names of current, so that its removal is noticed
	broken  bool     // current has bytes behind its end
	// What Open could not do for lack of room or permission, and must be done before the next
	// write.
	repair   repair
	term     term // that the file has, unless repair.term or doubt
	doubt    bool // the file may not have the term, because a write of it failed
	busy     bool // someone syncs or replaces current
	released sync.Cond
}

type repair struct {
	leftover string   // a file that must be removed first, or ""
	tail     bool     // the end of the last file must be copied into a new file
	end      position // of that file
	folder   bool     // the folder must be synced
	term     bool     // the term must be written
}

func (f *files) last() *logFile { return &f.list[len(f.list)-1] }

// name is the current file's, for errors.
func (f *files) name(dir string) string {
	if len(f.list) == 0 {
		return dir
	}
	return fileName(dir, f.last().number)
}

// prepare makes sure that a group can be written to the current file, with anew to an empty one.
// The leader calls it; l.mu is held, and released for a time.
func (l *Dir) prepare(anew bool) error {
	if f := &l.files; f.current != nil && !f.broken && f.last().end < l.opts.FileBytes && !anew {
		return nil
	}
	l.acquireFile()
	defer l.releaseFile()
	if l.failed != nil { // by the syncer, meanwhile: another sync of the file would succeed without effect
		return l.failed
	}
	if err := l.replaceCurrent(); err != nil {
		if l.failed != nil {
			return l.failed
		}
		retry, err := resource(err)
		if retry {
			return err
		}
		return l.fail(err)
	}
	return nil
}

func (l *Dir) replaceCurrent() error {
	f := &l.files
	if err := l.checkFolder(); err != nil {
		return err
	}
	if f.current != nil {
		if l.durable < l.written.seq {
			if err := l.syncFile(l.written.seq); err != nil {
				return err
			}
		}
		if f.broken && f.last().end == headerLen && len(f.list) > 1 {
			// Without records it is removed, or each attempt on a full disk would leave a file. The only one has the next number.
			f.repair.leftover = f.name(l.dir)
			f.list = f.list[:len(f.list)-1]
		}
		_ = f.current.Close() // synced
		f.current, f.broken = nil, false
	}
	if err := l.finishRepair(); err != nil {
		return err
	}
	return l.begin()
}

// begin creates the next file.
func (l *Dir) begin() error {
	f := &l.files
	f.number++
	h := header{id: l.id, number: f.number, first: l.written.seq + 1, prev: l.written.crc}
	if len(f.list) > 0 {
		h.prevEnd = f.last().end
	}
	name := fileName(l.dir, h.number)
	err := l.unlocked(func() (err error) {
		f.current, f.counted, err = create(l.fs, l.dir, name, &h)
		return err
	})
	if err != nil {
		f.repair.leftover = name
		_ = l.finishRepair() // or before the next write
		return err
	}
	f.list = append(f.list, logFile{h.number, h.first, headerLen})
	l.marked = l.durable
	return nil
}

// checkFolder returns an error that wraps base.ErrRemoved if the folder of the log is not at its path any more, or another
// is: it has another lock file. Lucene checks its lock file in the same way (NativeFSLockFactory, ensureValid). A new file would be lost, or
// replace a file of another log. l.mu is held, and released for a time.
func (l *Dir) checkFolder() error {
	return l.unlocked(func() error {
		now, err := l.fs.Identify(filepath.Join(l.dir, lockName))
		if errors.Is(err, fs.ErrNotExist) || err == nil && !now.SameFile(l.was.lock) {
			err = fmt.Errorf("%s: %w", l.dir, base.ErrRemoved)
		}
		return err
	})
}

func (l *Dir) unlocked(fn func() error) error {
	l.mu.Unlock()
	defer l.mu.Lock()
	return fn()
}

// create writes a file with a header. Header and name are durable before the first frame, so that
// a file that has frames has a valid header, or is damaged.
func create(fsys vfs.FS, dir, name string, h *header) (file vfs.File, counted bool, err error) {
	file, err = fsys.Create(name)
	if err != nil {
		return nil, false, err
	}
	if err = write(file, h.encode()); err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = fsys.SyncDir(dir)
	}
	if err == nil {
		counted, err = countsNames(fsys, file, name)
	}
	if err != nil {
		_ = file.Close()
		return nil, false, vfs.PathError("create", name, err)
	}
	return file, counted, nil
}

// countsNames reports whether a removal of a new file would be noticed: some file systems, in user space, count no names at all.
func countsNames(fsys vfs.FS, file vfs.File, name string) (bool, error) {
	if !vfs.IsRemoved(file) {
		return true, nil
	}
	_, err := fsys.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: %w", name, base.ErrRemoved)
	}
	return false, err
}

// write is a Write without short writes.
func write(file vfs.File, data []byte) error {
	n, err := file.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	return err
}

// finishRepair does what Open could not do. l.mu is held, and released for a time.
func (l *Dir) finishRepair() error {
	todo := &l.files.repair
	if todo.leftover != "" {
		if err := l.unlocked(func() error { return remove(l.fs, l.dir, todo.leftover) }); err != nil {
			return err
		}
		todo.leftover = ""
	}
	if todo.folder {
		if err := l.unlocked(func() error { return l.fs.SyncDir(l.dir) }); err != nil {
			return err
		}
		todo.folder = false
	}
	if todo.tail {
		if err := l.copyTail(); err != nil {
			return err
		}
		todo.tail = false
	}
	if todo.term { // after the tail: a term that began with a file relies on it
		t := l.files.term
		if err := l.unlocked(func() error { return writeTerm(l.fs, l.dir, t) }); err != nil {
			return err
		}
		todo.term = false
	}
	return nil
}

// remove deletes a file if it exists.
func remove(fsys vfs.FS, dir, name string) error {
	// Without Stat, a read-only file system would refuse to remove a missing file.
	if _, err := fsys.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		if err := fsys.Remove(name); err != nil {
			return err
		}
	}
	return fsys.SyncDir(dir)
}

// copyTail copies what no mark confirms from the last file into a new one. After a failed sync
// the system may show data that is not on the disk, and a sync of the same file may succeed.
func (l *Dir) copyTail() error {
	f := &l.files
	last := f.last()
	f.number++
	number, durable, end := f.number, l.durable, f.repair.end
	var copied logFile
	var split int64
	err := l.unlocked(func() (err error) {
		copied, split, err = l.copyFrom(*last, number, durable, end)
		return err
	})
	if err != nil {
		return err
	}
	if last.end = split; copied.number == last.number {
		*last = copied
	} else {
		f.list = append(f.list, copied)
	}
	l.durable = l.written.seq
	return nil
}

// copyFrom copies the records after durable. It returns the new file, and the end of what stays
// in the file from. If nothing does, the copy replaces the file, whose header may not be durable.
func (l *Dir) copyFrom(from logFile, number uint64, durable Seq, end position) (copied logFile, split int64, err error) {
	c, err := openCursor(l.fs, fileName(l.dir, from.number), from.end, nil)
	if err != nil {
		return copied, 0, err
	}
	defer c.file.Close()
	h := header{id: l.id, number: number}
	h.first, h.prev, h.prevEnd = c.next, c.crc, c.at
	for err == nil {
		var f frame
		f, _, err = c.frame()
		if err == nil && f.kind != kindMark {
			if f.seq > durable {
				break
			}
			h.first, h.prev, h.prevEnd = c.next, c.crc, c.at // a mark behind it may not be durable
		}
	}
	if err != nil && !errors.Is(err, errEnd) {
		return copied, 0, err
	}
	if h.prevEnd == headerLen {
		h = c.header
	}
	name := fileName(l.dir, h.number)
	size, err := l.writeCopy(name+newSuffix, &h, c, err == nil, end)
	if err != nil {
		_ = l.fs.Remove(name + newSuffix) // or Open does
		return copied, 0, err
	}
	if err := l.fs.Rename(name+newSuffix, name); err != nil {
		return copied, 0, err
	}
	if err := l.fs.SyncDir(l.dir); err != nil {
		// The file may be there or not: only Open can tell.
		return copied, 0, fmt.Errorf("%w: %w", ErrFailed, err)
	}
	return logFile{h.number, h.first, size}, h.prevEnd, nil
}

// writeCopy writes, with frames, the last frame of c and those after it, and a mark of the end.
func (l *Dir) writeCopy(name string, h *header, c *cursor, frames bool, end position) (size int64, err error) {
	file, err := l.fs.Create(name)
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriterSize(file, readBytes)
	_, _ = out.Write(h.encode()) // Flush returns the error
	size = headerLen + frameLen
	for frames && err == nil {
		_, _ = out.Write(c.raw)
		size += int64(len(c.raw))
		_, _, err = c.frame()
	}
	if err != nil && !errors.Is(err, errEnd) {
		return 0, errors.Join(err, file.Close())
	}
	var mark [frameLen]byte
	putMark(mark[:], l.seed, end.crc, end.seq)
	_, _ = out.Write(mark[:])
	if err = out.Flush(); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return 0, vfs.PathError("copy", name, err)
	}
	return size, nil
}
