package living

import (
	"cmp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/inverter"
)

// queue has writes between the log and the batch, guarded by Store.mu.
type queue struct {
	items []item
	wake  sync.Cond
	// size is the bytes of documents that are not visible yet, fresh those since the last seal.
	size, fresh int64
	// waiting is the bytes of those that the pump has not taken.
	waiting atomic.Int64
	pace    pace
	// publishing is the batches that the pump has handed over and that are not visible yet. Signal wake when it
	// becomes 0.
	publishing atomic.Int64
	last       *seal // the newest
	closed     bool
}

// item is a write, or the end of a batch.
type item struct {
	id    string
	state state
	size  int
	// schema has the fields that are declared when the write takes effect. One without an id declares
	// fields only.
	schema *inverter.Schema
	seal   *seal
}

// seal ends a batch.
type seal struct {
	size int64
	done chan struct{} // closed when the batch is visible, or after err
	err  error
}

func (q *queue) init(mu *sync.Mutex) {
	q.wake.L = mu
	q.last = &seal{done: make(chan struct{})}
	close(q.last.done)
}

// seal ends the current batch unless it is empty, and returns the newest seal.
func (q *queue) seal(v *versions) *seal {
	if q.fresh == 0 {
		return q.last
	}
	q.last = &seal{size: q.fresh, done: make(chan struct{})}
	q.fresh = 0
	q.items = append(q.items, item{seal: q.last})
	v.begin()
	q.wake.Signal()
	return q.last
}

func (q *queue) close() {
	q.closed = true
	q.wake.Broadcast()
}

// Each write counts at least this, for its entries in maps and tables.
const itemBytes = 200

// enqueue adds a write that is in the log. s.mu is held.
func (s *Store) enqueue(it item) {
	q := &s.queue
	if it.id != "" {
		s.versions.set(it.id, it.state)
	}
	q.items = append(q.items, it)
	q.size += int64(it.size) + itemBytes
	q.fresh += int64(it.size) + itemBytes
	q.waiting.Add(int64(it.size) + itemBytes)
	if q.fresh > q.room(s)/2 {
		q.seal(&s.versions)
	}
	q.wake.Signal()
}

// batch is documents and deletions up to the last of some seals or further, inverted by several goroutines.
type batch struct {
	*inverter.CrewBatch
	dir   string
	items []item // to begin again after an error of a temporary file
	seq   uint64
	seals []*seal
	size  int64 // of the seals
	bytes int64 // of the documents, which can be of later seals
	began time.Time
}

// sealed reports whether somebody waits for the batch.
func (b *batch) sealed() bool { return b != nil && len(b.seals) > 0 }

// pump hands writes to batches in the order of the log. While a batch is being published, the next one takes more
// writes after its seal, so that neither they nor their clients wait, and there are fewer segments.
func (s *Store) pump() {
	defer close(s.work.sealed)
	var b *batch
	var spare []item
	for {
		s.mu.Lock()
		for len(s.queue.items) == 0 && !s.queue.closed && (!b.sealed() || s.queue.publishing.Load() > 0) {
			s.queue.wake.Wait()
		}
		items, closed := s.queue.items, s.queue.closed
		s.queue.items = spare[:0]
		s.mu.Unlock()
		for i := range items {
			if s.work.ctx.Err() != nil {
				break
			}
			b = s.invert(s.handOver(b), &items[i])
			if items[i].seal == nil {
				s.queue.waiting.Add(-int64(items[i].size) - itemBytes)
			}
		}
		clear(items) // for the garbage collector
		spare = items
		b = s.handOver(b)
		if closed {
			if b != nil {
				s.discard(b) // the log has its records
			}
			return
		}
	}
}

// invert adds an item to a batch, and returns the batch for the next.
func (s *Store) invert(b *batch, it *item) *batch {
	if b == nil {
		var err error
		if b, err = s.openBatch(); err != nil {
			s.abandon(err, it.seal)
			return nil
		}
	}
	if it.seal == nil {
		b.bytes += int64(it.size) + itemBytes
		if b.seq = it.state.version.Seq; !superseded(s, it) {
			b.add(it)
			b.items = append(b.items, *it)
		}
		return b
	}
	b.seals, b.size = append(b.seals, it.seal), b.size+it.seal.size
	b.Dispatch()
	return b
}

// handOver hands a batch to the publisher if it has a seal, and the publisher is idle or the batch is full, and
// returns the batch for the next item.
func (s *Store) handOver(b *batch) *batch {
	if !b.sealed() || s.queue.publishing.Load() > 0 && b.size <= s.memoryBytes()/2 {
		return b
	}
	s.queue.publishing.Add(1)
	select {
	case s.work.sealed <- b:
	case <-s.work.ctx.Done():
		s.queue.publishing.Add(-1)
		s.discard(b)
	}
	return nil
}

func (b *batch) add(it *item) {
	b.declare(it.schema)
	switch {
	case it.id == "":
	case it.state.doc == nil:
		b.Delete(it.id)
	default:
		d := *it.state.doc
		d.Declared = it.schema.NumDeclared()
		if it.state.isNew {
			b.AddNew(&d, it.state.version, it.size)
			return
		}
		b.Add(&d, it.state.version, it.size)
	}
}

func (s *Store) openBatch() (b *batch, err error) {
	err = s.retry("index", maxPublishWait, nil, s.work.again[indexing], func() (err error) {
		attempt := s.work.attempts.Add(1)
		b, err = s.newBatch()
		s.failures.record(indexing, attempt, err)
		return err
	})
	return b, err
}

// abandon ends publishing: later batches must not be visible, or committed, without this one. The
// log has all of them.
func (s *Store) abandon(err error, seals ...*seal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = cmp.Or(s.ended, err)
	for _, of := range seals {
		if of != nil {
			of.err = s.ended
			close(of.done)
		}
	}
}

func (s *Store) endedBy() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// discard ends a batch and removes its temporary files.
func (s *Store) discard(b *batch) {
	_ = b.Close()
	_ = s.fs.RemoveAll(b.dir)
}

// again inverts a batch once more.
func (s *Store) again(b *batch) error {
	next, err := s.newBatch()
	if err != nil {
		return err
	}
	s.discard(b)
	b.CrewBatch, b.dir = next.CrewBatch, next.dir
	for i := range b.items {
		b.add(&b.items[i])
	}
	return nil
}

// publish makes sealed batches visible, in their order.
func (s *Store) publish() {
	unsaved := int64(0)
	for b := range s.work.sealed {
		began, err := time.Now(), s.endedBy()
		if err == nil {
			if numSegments(s.ix) <= s.opts.MaxSegments/2 {
				s.slow.held.begin()
			}
			err = s.retry("refresh", maxPublishWait, nil, s.work.again[publishing], func() error { return s.publishBatch(b) })
			s.slow.held.end()
		}
		s.discard(b)
		if err != nil {
			s.abandon(err, b.seals...)
		} else {
			b.published(s)
		}
		s.mu.Lock()
		if s.queue.publishing.Add(-1) == 0 {
			s.queue.wake.Signal()
		}
		s.mu.Unlock()
		if err != nil {
			continue
		}
		s.updateMerges()
		signalAll(&s.work.changed)
		s.flushIfLong()
		if unsaved += b.size; unsaved >= s.opts.CheckpointBytes {
			unsaved = 0
			signal(s.work.save)
		}
		if !s.replaying.Load() {
			rest(restAfter(time.Since(began), numSegments(s.ix), s.opts.MaxSegments), s.work.quit)
		}
	}
}

// published ends the seals of a batch that is visible.
func (b *batch) published(s *Store) {
	s.mu.Lock()
	s.queue.pace.published(b.began, time.Now(), b.bytes)
	s.queue.size -= b.size
	for range b.seals {
		s.versions.drop(time.Now())
	}
	s.mu.Unlock()
	for _, of := range b.seals {
		close(of.done)
	}
}

func (s *Store) publishBatch(b *batch) (err error) {
	attempt := s.work.attempts.Add(1)
	defer func() { s.failures.record(publishing, attempt, err) }()
	partials, err := b.Partials()
	if err != nil { // perhaps of long ago, when the documents were inverted
		if err := s.again(b); err != nil {
			return err
		}
		if partials, err = b.Partials(); err != nil {
			return err
		}
	}
	_, err = s.live.Publish(s.work.ctx, partials.Sources(), partials.Err, b.Deletes(), b.Schema(), b.Former(), b.seq)
	return err
}
