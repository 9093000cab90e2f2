package living

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/wal"
)

// visible stands for a document that only the segments have.
var visible = new(corpus.Document)

// maxGroupBytes is the size from which on a group takes no more requests.
const maxGroupBytes = 8 << 20

// groups makes the requests of concurrent callers to groups. One of the callers, the leader, handles
// a group while the others of the next wait.
type groups struct {
	mu      sync.Mutex
	waiting []*request
	leading bool
	closed  bool
	idle    sync.Cond
}

type request struct {
	entries []entry
	size    int
	done    chan struct{}
}

func (g *groups) init() { g.idle.L = &g.mu }

// enter adds a request and reports whether the caller has to lead.
func (g *groups) enter(r *request) (lead bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false, errClosed
	}
	g.waiting = append(g.waiting, r)
	if g.leading {
		return false, nil
	}
	g.leading = true
	return true, nil
}

// next returns the next group; empty if the leader is done.
func (g *groups) next() []*request {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, size := 0, 0
	for n < len(g.waiting) && (n == 0 || size < maxGroupBytes) {
		size += g.waiting[n].size
		n++
	}
	group := g.waiting[:n:n]
	g.waiting = g.waiting[n:]
	if n == 0 {
		g.waiting, g.leading = nil, false
		g.idle.Broadcast()
	}
	return group
}

// close lets no more requests in and waits for the last one.
func (g *groups) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for g.leading {
		g.idle.Wait()
	}
}

// Apply makes the operations durable (Options.Sync), in their order, and returns their results. Each
// succeeds or fails on its own. If the error is not nil, none took effect: it wraps ErrBusy,
// ErrFull, ErrReadOnly, ErrDenied, wal.ErrFailed or base.ErrClosed, or is of ctx, which counts only
// until the operations are on their way to the log. After wal.ErrFailed, the next Open may find them.
func (s *Store) Apply(ctx context.Context, ops []Op) ([]Result, error) {
	results := make([]Result, len(ops))
	r := &request{entries: make([]entry, 0, len(ops)), done: make(chan struct{})}
	schema := s.schema.Load()
	memory := encodings.Get().(*encoding)
	for i := range ops {
		if err := checkOp(&ops[i], schema); err != nil {
			results[i].Err = err
			continue
		}
		r.entries = append(r.entries, entry{op: ops[i], result: &results[i], checked: schema})
		e := &r.entries[len(r.entries)-1]
		if err := s.opts.Gate.PassContext(ctx); err != nil {
			return nil, err
		}
		e.encode(memory)
		if n := len(e.payload); n > wal.MaxPayloadBytes {
			results[i].Err = fmt.Errorf("document %q: %d bytes, at most %d: %w", ops[i].Doc.ID, n, wal.MaxPayloadBytes, base.ErrBadInput)
			r.entries = r.entries[:len(r.entries)-1]
			continue
		}
		r.size += len(e.payload)
	}
	if len(r.entries) == 0 {
		return results, nil
	}
	if err := s.room(ctx); err != nil {
		return nil, s.explain(err)
	}
	lead, err := s.groups.enter(r)
	if err != nil {
		return nil, err
	}
	if lead {
		for group := s.groups.next(); len(group) > 0; group = s.groups.next() {
			s.handle(group)
		}
	}
	<-r.done
	memory.release()
	for i := range results {
		if err := results[i].Err; err != nil && !errors.Is(err, ErrConflict) && isOfLog(err) {
			return nil, s.explain(err)
		}
	}
	return results, nil
}

func isOfLog(err error) bool {
	var e *logError
	return errors.As(err, &e)
}

// logError is the error of a whole group.
type logError struct{ error }

func (e *logError) Unwrap() error { return e.error }

func checkOp(op *Op, schema *inverter.Schema) error {
	switch op.Kind {
	case Delete:
		return checkID(op.Doc.ID)
	case Declare:
		return checkFields(op.Fields)
	}
	if err := checkFields(op.Fields); err != nil {
		return err
	}
	if err := op.Doc.CheckUTF8(); err != nil {
		return err
	}
	return schema.Check(op.Doc)
}

// handle appends the operations of a group to the log.
func (s *Store) handle(group []*request) {
	defer func() {
		for _, r := range group {
			close(r.done)
		}
	}()
	total := 0
	for _, r := range group {
		total += len(r.entries)
	}
	records, entries := make([]wal.Record, 0, total), make([]*entry, 0, total)
	ahead := make(map[string]state, total) // by the operations of the group
	next := uint64(s.log.Stats().Last) + 1
	before := s.fields
	without := lookUp(s.ix, group, total)
	defer without.release()
	for _, r := range group {
		for i := range r.entries {
			e := &r.entries[i]
			depends := e.check(s, ahead, without.next())
			if depends || e.logged {
				entries = append(entries, e)
			}
			if !e.logged {
				continue
			}
			e.state.version.Seq = next + uint64(len(records))
			if e.op.Kind != Declare {
				ahead[e.op.Doc.ID] = e.state
			}
			e.schema = s.fields.schema
			records = append(records, e.record())
		}
	}
	if len(records) == 0 {
		return
	}
	first, err := s.log.Append(records)
	if err != nil {
		s.use(before)
		for _, e := range entries {
			e.fail(&logError{err})
		}
		return
	}
	invariant.Check(uint64(first) == next, "the log numbers records from %d, want %d", first, next) // nobody else appends
	s.mu.Lock()
	for _, e := range entries {
		if !e.logged {
			continue
		}
		it := item{state: e.state, size: len(e.payload), schema: e.schema}
		if e.op.Kind != Declare {
			it.id, e.result.Version = e.op.Doc.ID, e.state.version
		}
		s.enqueue(it)
	}
	s.mu.Unlock()
	s.flushIfLong()
}

// lookUp looks for the ids of a group in the segments of an index, together, which is faster than one by one.
func lookUp(ix *index.Index, group []*request, total int) (w withoutIDs) {
	const fewest = 16
	if total < fewest {
		return w
	}
	snapshot, err := ix.Snapshot()
	if err != nil {
		return w // state has the same error
	}
	ids := make([]string, 0, total)
	for _, r := range group {
		for i := range r.entries {
			id := "" // of a Declare
			if doc := r.entries[i].op.Doc; doc != nil {
				id = doc.ID
			}
			ids = append(ids, id)
		}
	}
	return withoutIDs{snapshot, snapshot.FindIDs(ids)}
}

// withoutIDs tells of the operations of a group, in their order, whether a snapshot has their ids. The zero value knows of none.
type withoutIDs struct {
	snapshot *index.Snapshot
	found    []bool
}

// next returns the snapshot if it does not have the id of the next operation, and else nil.
func (w *withoutIDs) next() *index.Snapshot {
	if w.snapshot == nil {
		return nil
	}
	found := w.found[0]
	if w.found = w.found[1:]; found {
		return nil
	}
	return w.snapshot
}

func (w *withoutIDs) release() {
	if w.snapshot != nil {
		w.snapshot.Release()
	}
}

// check checks an operation after the ones of ahead, and sets whether it goes to the log. It reports
// whether the result of one that does not depends on operations of the group, which may yet fail. absent, if not nil, is a
// snapshot without its id.
func (e *entry) check(s *Store, ahead map[string]state, absent *index.Snapshot) (depends bool) {
	if e.op.Kind != Declare {
		id, isNew := e.op.Doc.ID, false
		now, ok := ahead[id]
		if !ok {
			var pending bool
			var err error
			if now, pending, err = s.state(id, absent); err != nil {
				e.fail(err)
				return false
			}
			isNew = !pending && now.doc == nil
		}
		if !e.decide(now) {
			return ok
		}
		e.state.isNew = isNew
	}
	next, err := s.fields.declare(e)
	if err == nil && e.op.Kind != Declare && e.op.Kind != Delete && next.schema != e.checked {
		err = next.schema.Check(e.op.Doc) // fields were declared since
	}
	if err != nil {
		e.fail(err)
		return true
	}
	if next.schema != s.fields.schema {
		s.use(next)
	}
	e.logged = true
	if e.op.Kind == Declare {
		e.result.Outcome, e.logged = Declared, e.declares != nil
	}
	return true
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// room waits until there is memory for more documents and merges have caught up.
func (s *Store) room(ctx context.Context) error {
	until := time.Now().Add(s.opts.MaxWait)
	for wait := time.Millisecond; ; wait = min(2*wait, 8*time.Millisecond) {
		why := s.full()
		if why == "" {
			return nil
		}
		if slow := s.replaying.Load() && s.failures.latest() == nil; s.failures.stuck() || time.Now().After(until) && !slow {
			return s.busy(why)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.work.quit:
			return errClosed
		case <-time.After(wait):
		}
	}
}

// room is how many bytes of documents may be not visible. s.mu is held.
func (q *queue) room(s *Store) int64 {
	if s.replaying.Load() {
		return s.memoryBytes()
	}
	return min(s.memoryBytes(), q.pace.room(s.work.every.get()))
}

func (s *Store) full() (why string) {
	s.mu.Lock()
	size, room := s.queue.size, s.queue.room(s)
	s.mu.Unlock()
	// A refresh takes about the time of inverting the waiting documents. Inverted documents are visible
	// soon, so their limit is higher: larger batches take less work.
	if size > room || s.queue.waiting.Load() > max(s.memoryBytes()/12, 1<<20) {
		return fmt.Sprintf("%d MiB of documents wait to be indexed", size>>20)
	}
	if n := numSegments(s.ix); n > s.opts.MaxSegments && !s.replaying.Load() { // merges begin afterwards
		signalAll(&s.work.hurry)
		return fmt.Sprintf("%d segments wait to be merged", n)
	}
	return ""
}
