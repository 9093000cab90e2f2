package wal

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs"
)

const (
	// maxGroupBytes is the size from which on a group accepts no more Appends: 64 goroutines that
	// append 1 MiB each reach twice the throughput of no limit (docs/benchmarks/wal.md),
	// when buffers are too large to keep.
	maxGroupBytes = 8 << 20
	// maxKeptBytes is the size above which the buffer of a group is released after its write.
	maxKeptBytes = 2 * maxGroupBytes
	maxFree      = 4 // groups
)

// Dir is a Log in a local folder.
//
// Appends encode their records into the pending group. One of them, the leader, writes the group
// and, with ModeRequest, syncs it, while others fill the next group.
type Dir struct {
	fs   vfs.FS
	dir  string
	opts Options
	lock io.Closer
	seed uint32 // of all checksums
	id   uint64
	was  opened

	mu      sync.Mutex
	files   files
	pending *group // accepts records
	pool    pool
	leading bool // someone writes a group or begins a file
	idle    sync.Cond
	// Invariant: durable <= written < next.
	written position // of what was written, and with ModeRequest synced
	next    position // of what was encoded
	durable Seq
	marked  Seq // the durable Seq of the last mark
	syncer  syncer
	failed  error
	closed  bool
}

var _ Log = (*Dir)(nil)

// opened is what Open found.
type opened struct {
	torn Torn
	last Seq
	lock vfs.Identity // of the lock file
}

// position is a place in the chain of records.
type position struct {
	seq Seq    // the last record
	crc uint32 // of its frame
}

// group is the records of one write.
type group struct {
	buf     []byte // room for a mark, and frames
	end     position
	waiting int // Appends that are in it
	done    bool
	err     error
	cond    sync.Cond
}

// pool has groups for reuse.
type pool struct {
	free []*group
	room sync.Cond // there is a new pending group
}

// replacePending begins a new group.
func (l *Dir) replacePending() {
	var g *group
	if n := len(l.pool.free); n > 0 {
		g = l.pool.free[n-1]
		l.pool.free = l.pool.free[:n-1]
	} else {
		g = &group{buf: make([]byte, frameLen)}
		g.cond.L = &l.mu
	}
	g.buf, g.done, g.err = g.buf[:frameLen], false, nil
	l.pending = g
	l.pool.room.Broadcast()
}

func (l *Dir) release(g *group) {
	if g.waiting--; g.waiting > 0 {
		return
	}
	if cap(g.buf) <= maxKeptBytes && len(l.pool.free) < maxFree {
		l.pool.free = append(l.pool.free, g)
	}
}

func (g *group) finish(err error) {
	g.done, g.err = true, err
	g.cond.Broadcast()
}

// Append implements Log.
func (l *Dir) Append(records []Record) (first Seq, err error) {
	size := 0
	for i := range records {
		if n := len(records[i].Payload); n > MaxPayloadBytes {
			return 0, fmt.Errorf("%s: a record of %d bytes, at most %d: %w", l.dir, n, MaxPayloadBytes, base.ErrBadInput)
		}
		size += frameLen + len(records[i].Payload)
	}
	if size == 0 {
		return 0, fmt.Errorf("%s: no records: %w", l.dir, base.ErrBadInput)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.usable() == nil && len(l.pending.buf) >= maxGroupBytes {
		l.pool.room.Wait()
	}
	if err := l.usable(); err != nil {
		return 0, err
	}
	first = l.next.seq + 1
	g := l.pending
	g.waiting++
	l.encode(g, records, size)
	for !g.done {
		if l.leading {
			g.cond.Wait()
			continue
		}
		l.lead(g)
	}
	err = g.err
	l.release(g)
	if err != nil {
		return 0, err
	}
	return first, nil
}

func (l *Dir) usable() error {
	if l.closed {
		return fmt.Errorf("%s: %w", l.dir, base.ErrClosed)
	}
	return l.failed
}

func (l *Dir) encode(g *group, records []Record, size int) {
	g.buf = slices.Grow(g.buf, size)
	at := l.next
	for i := range records {
		f := frame{prev: at.crc, kind: kindRecord, typ: records[i].Type, seq: at.seq + 1}
		if i == len(records)-1 {
			f.kind = kindLast
		}
		at.seq++
		g.buf, at.crc = appendFrame(g.buf, l.seed, f, records[i].Payload)
	}
	l.next, g.end = at, at
}

// lead writes g, the pending group.
func (l *Dir) lead(g *group) {
	l.leading = true
	l.replacePending()
	err := l.commit(g)
	if err != nil {
		// The pending group continues the chain of records that are not there.
		if p := l.pending; p.waiting > 0 {
			l.replacePending()
			p.finish(err)
		}
		l.next = l.written
	}
	g.finish(err)
	l.handOver()
}

// handOver ends the leader's rights.
func (l *Dir) handOver() {
	l.leading = false
	l.pending.cond.Signal()
	l.idle.Broadcast()
}

// commit writes g and, with ModeRequest, syncs it. After an error nothing of it is acknowledged.
// It releases l.mu for a time.
func (l *Dir) commit(g *group) error {
	if l.failed != nil {
		return l.failed
	}
	if err := l.prepare(false /* anew */); err != nil {
		return err
	}
	data := g.buf[frameLen:]
	mark := l.durable
	if mark > l.marked {
		putMark(g.buf, l.seed, l.written.crc, mark)
		data = g.buf
	}
	f := l.files.current
	l.mu.Unlock()
	n, err := f.Write(data)
	l.mu.Lock()
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	if err != nil {
		// The bytes behind the last group are no part of the log: the header of the next file excludes them.
		l.files.broken = true
		return l.stopped("write", err)
	}
	l.marked = mark
	if l.opts.Mode == ModeRequest {
		if err := l.sync(g.end.seq); err != nil {
			return err
		}
	}
	if l.failed != nil { // by the syncer
		return l.failed
	}
	l.written = g.end
	l.files.last().end += int64(n)
	if l.opts.Mode != ModeRequest {
		l.syncer.wake.Signal()
	}
	return nil
}

// stopped returns the error of an operation on the current file. Unless it is a lack of room or
// permission, it stops the log.
func (l *Dir) stopped(op string, err error) error {
	retry, err := resource(vfs.PathError(op, l.files.name(l.dir), err))
	if retry {
		return err
	}
	return l.fail(err)
}

// fail stops the log.
func (l *Dir) fail(err error) error {
	if l.failed == nil {
		l.failed = fmt.Errorf("%w: %w", ErrFailed, err)
		l.syncer.wake.Signal()
	}
	return l.failed
}

// Stats implements Log.
func (l *Dir) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Stats{First: l.written.seq + 1, Last: l.written.seq, Durable: l.durable, Files: len(l.files.list), Syncs: l.syncer.count}
	for i, f := range l.files.list {
		s.SizeBytes += f.end
		if i == 0 {
			s.First = f.first
		}
	}
	return s
}

// Close implements Log. A log that stopped returns the reason.
func (l *Dir) Close() error {
	l.syncer.modes.Lock()
	defer l.syncer.modes.Unlock()
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.syncer.wake.Signal()
	close(l.syncer.stop)
	for l.leading || l.pending.waiting > 0 {
		l.idle.Wait()
	}
	if l.syncer.running {
		l.mu.Unlock()
		<-l.syncer.done
		l.mu.Lock()
	}
	defer l.mu.Unlock()
	err := l.failed
	switch {
	case err != nil:
	case l.files.current != nil:
		err = l.finish()
	case l.durable < l.written.seq: // of a process before
		_, err = resource(l.finishRepair())
	}
	if err == nil && !l.files.repair.term { // else nothing was acknowledged
		_ = l.setUnsynced(false) // or the next Open begins a new term
	}
	if f := l.files.current; f != nil {
		_ = f.Close() // synced, or reported as not
		l.files.current = nil
	}
	if e := l.lock.Close(); err == nil {
		err = e
	}
	return err
}

// finish syncs and marks the end, so that any later damage is detected.
func (l *Dir) finish() error {
	if l.durable < l.written.seq {
		if err := l.sync(l.written.seq); err != nil {
			return err
		}
	}
	if l.marked == l.durable || l.files.broken {
		return nil
	}
	var mark [frameLen]byte
	putMark(mark[:], l.seed, l.written.crc, l.durable)
	if _, err := l.files.current.Write(mark[:]); err != nil {
		return nil //nolint:nilerr // the records are durable without the mark
	}
	return l.sync(l.written.seq)
}
