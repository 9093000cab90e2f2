package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs"
)

// A loss of power can take acknowledged records of ModeAsync and ModeInterval away. Open then begins a new term, 2^40
// numbers above the last one, so that no number names two records.
const termBits = 40

// Term is the term of a record, from 1. s is at least 1.
func (s Seq) Term() uint64 { return 1 + uint64(s-1)>>termBits }

// Number is the number of a record without its term, from 0. It goes on in the next term. s is at least 1.
func (s Seq) Number() uint64 { return uint64(s-1) & (1<<termBits - 1) }

// SeqOf is the record of a term and a number; false: no record has them.
func SeqOf(term, number uint64) (s Seq, ok bool) {
	if term == 0 || term > 1<<(63-termBits) || number >= 1<<termBits {
		return 0, false
	}
	return Seq((term-1)<<termBits|number) + 1, true
}

// term is the file of a log that records whether acknowledged records may be lost. It is replaced as a whole.
//
//	0          8         12         16      24     32      40      44    48
//	+----------+---------+----------+-------+------+-------+-------+-----+
//	|"GRIFFTRM"| version | unsynced | after | last | begin | zeros | crc |
//	+----------+---------+----------+-------+------+-------+-------+-----+
type term struct {
	unsynced bool // records may have been acknowledged before they were durable
	after    Seq  // the records of the current term have higher numbers
	// When a term began without a file, the last record was last, and the next one is after begin.
	last, begin Seq
}

// begins reports whether all records from number from on are in a log whose first file begins with first.
func (t term) begins(from, first Seq) bool { return from > t.last && first <= t.begin+1 }

const (
	termName    = "term"
	termMagic   = "GRIFFTRM"
	termVersion = 1 // 1: the first
	termLen     = 48
)

func (t term) encode() []byte {
	b := make([]byte, termLen)
	copy(b, termMagic)
	binary.LittleEndian.PutUint32(b[8:], termVersion)
	if t.unsynced {
		binary.LittleEndian.PutUint32(b[12:], 1)
	}
	binary.LittleEndian.PutUint64(b[16:], uint64(t.after))
	binary.LittleEndian.PutUint64(b[24:], uint64(t.last))
	binary.LittleEndian.PutUint64(b[32:], uint64(t.begin))
	sealTerm(b)
	return b
}

func sealTerm(b []byte) {
	binary.LittleEndian.PutUint32(b[44:], crc32.Checksum(b[:44], castagnoli))
}

func decodeTerm(name string, b []byte) (t term, err error) {
	if len(b) != termLen || string(b[:8]) != termMagic || crc32.Checksum(b[:44], castagnoli) != binary.LittleEndian.Uint32(b[44:]) {
		return t, fmt.Errorf("%w (remove the file, and a new term begins)", &damage{name, 0, "it has no valid term of the log"})
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != termVersion {
		return t, fmt.Errorf("%s: version %d: %w", name, v, base.ErrVersion)
	}
	flags := binary.LittleEndian.Uint32(b[12:])
	number := func(at int) Seq { return Seq(binary.LittleEndian.Uint64(b[at:])) }
	t = term{unsynced: flags == 1, after: number(16), last: number(24), begin: number(32)}
	if flags > 1 || t.last > t.begin || t.begin > t.after || binary.LittleEndian.Uint32(b[40:]) != 0 {
		return t, &damage{name, 12, "it has impossible values"}
	}
	return t, nil
}

// readTerm reads the term of a log; false: it has none.
func readTerm(fsys vfs.FS, dir string) (t term, found bool, err error) {
	name := filepath.Join(dir, termName)
	size, err := fsys.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return t, false, nil
	} else if err != nil {
		return t, false, err
	}
	f, err := fsys.Open(name)
	if err != nil {
		return t, false, err
	}
	w := window{file: f, name: name, limit: min(size, termLen+1)}
	b, err := w.peek(termLen + 1)
	if err == nil {
		t, err = decodeTerm(name, b)
	}
	return t, err == nil, errors.Join(err, f.Close())
}

// beginTerm chooses the numbers of new records from the state that Open found, and the content that the file must
// have before the first one is appended. A log with records, or with removed records, but without the file is of an
// older version.
func (l *Dir) beginTerm(last Seq) error {
	t, found, err := readTerm(l.fs, l.dir)
	if err != nil {
		return err
	}
	before := max(last, l.opts.After)
	lost := t.unsynced || !found && before > 0
	after := max(before, t.after)
	if lost {
		after += 1 << termBits
		if t.after = after; len(l.files.list) == 0 {
			t.last, t.begin = before, after
		}
	}
	l.opts.After = after
	unsynced := l.opts.Mode != ModeRequest
	l.files.repair.term = lost || !found || unsynced != t.unsynced
	t.unsynced = unsynced
	l.files.term = t
	return nil
}

// writeTerm replaces the file durably.
func writeTerm(fsys vfs.FS, dir string, t term) error {
	name := filepath.Join(dir, termName)
	if err := vfs.WriteFile(fsys, name+newSuffix, t.encode()); err != nil {
		_ = fsys.Remove(name + newSuffix) // or it is replaced
		return vfs.PathError("write", name, err)
	}
	if err := fsys.Rename(name+newSuffix, name); err != nil {
		return err
	}
	return fsys.SyncDir(dir)
}

// setUnsynced records in the file whether records can be acknowledged before they are durable. l.mu is held, and
// released for a time.
func (l *Dir) setUnsynced(unsynced bool) error {
	if l.files.term.unsynced == unsynced && !l.files.doubt {
		return nil
	}
	l.acquireFile()
	defer l.releaseFile()
	next := l.files.term
	next.unsynced = unsynced
	if !l.files.repair.term { // else it is written before the next record
		err := l.unlocked(func() error { return writeTerm(l.fs, l.dir, next) })
		if l.files.doubt = err != nil; err != nil {
			return err
		}
	}
	l.files.term = next
	return nil
}
