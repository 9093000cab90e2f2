package resultcache

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
)

// Cache keeps the answers of queries over one index. It is safe for concurrent use. The limit is
// divided evenly among the shards; each evicts its least recently used answers first.
type Cache struct {
	limit  int64
	seed   maphash.Seed
	shards [numShards]shard
	newest atomic.Uint64 // the newest Serial so far

	hits, misses, waits, evictions, invalidations atomic.Int64
}

const (
	numShards = 16
	// entryOverhead is the size of an answer without key and hits: the Entry, its slot in the map,
	// and the rounding of allocations.
	entryOverhead = 360
	hitBytes      = 16
)

type shard struct {
	mu      sync.Mutex
	serial  uint64 // of the snapshot of all entries
	entries map[string]*Entry
	flights map[string]*flight
	size    int64
	root    Entry // of a ring: root.next is the most recently used, root.prev the least
}

// Entry is a cached answer.
type Entry struct {
	key       string
	answer    plan.Answer
	docFreqs  []uint64 // from plan.Plan.AppendDocFreqs
	documents atomic.Pointer[Documents]

	// With the shard's mu:
	size       int64
	next, prev *Entry
}

// Documents are the document data that a search loaded for its answer. Their format is the caller's.
type Documents struct {
	Of    any // the options of that search, comparable
	Value any // never changed
	Bytes int64
}

// A running query with waiting equal queries.
type flight struct {
	done  chan struct{}
	entry *Entry // set before done is closed; nil: the query failed
}

// New returns a cache of at most limitBytes, or nil, which caches nothing, if limitBytes is not
// positive.
func New(limitBytes int64) *Cache {
	if limitBytes <= 0 {
		return nil
	}
	c := &Cache{limit: limitBytes, seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].clear()
	}
	return c
}

// Stats counts the queries and the contents of a Cache.
type Stats struct {
	// Hits counts cached answers, Waits queries that waited for an equal running query, Misses
	// queries that ran. HitRate is the share of hits and waits.
	Hits    int64   `json:"hits"`
	Waits   int64   `json:"waits"`
	Misses  int64   `json:"misses"`
	HitRate float64 `json:"hit_rate"`
	// Answers dropped for space, and by a commit.
	Evictions     int64 `json:"evictions"`
	Invalidations int64 `json:"invalidations"`
	// The current contents, at most LimitBytes.
	Entries    int64 `json:"entries"`
	SizeBytes  int64 `json:"size_bytes"`
	LimitBytes int64 `json:"limit_bytes"`
}

// Stats returns the current counts; zeros of a nil cache.
func (c *Cache) Stats() (s Stats) {
	if c == nil {
		return s
	}
	s = Stats{
		Hits: c.hits.Load(), Waits: c.waits.Load(), Misses: c.misses.Load(),
		Evictions: c.evictions.Load(), Invalidations: c.invalidations.Load(), LimitBytes: c.limit,
	}
	if n := s.Hits + s.Waits + s.Misses; n > 0 {
		s.HitRate = float64(s.Hits+s.Waits) / float64(n)
	}
	for i := range c.shards {
		sh := &c.shards[i]
		sh.mu.Lock()
		s.Entries += int64(len(sh.entries))
		s.SizeBytes += sh.size
		sh.mu.Unlock()
	}
	return s
}

func (c *Cache) shardOf(key []byte) *shard {
	return &c.shards[maphash.Bytes(c.seed, key)%numShards]
}

// Find returns the answer for a key in the snapshot with the given serial number, or nil, without
// allocation.
func (c *Cache) Find(serial uint64, key []byte) *Entry {
	c.advance(serial)
	sh := c.shardOf(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.serial != serial {
		return nil
	}
	e := sh.entries[string(key)]
	if e != nil {
		sh.use(e)
		c.hits.Add(1)
	}
	return e
}

// advance drops the answers of older snapshots when a serial number first appears. Afterwards each
// shard belongs to that snapshot or a newer one.
func (c *Cache) advance(serial uint64) {
	for newest := c.newest.Load(); newest < serial; newest = c.newest.Load() {
		for i := range c.shards {
			sh := &c.shards[i]
			sh.mu.Lock()
			if sh.serial < serial {
				c.invalidations.Add(int64(len(sh.entries)))
				sh.clear()
				sh.serial = serial
			}
			sh.mu.Unlock()
		}
		c.newest.CompareAndSwap(newest, serial)
	}
}

// clear drops all answers and forgets running queries, whose answers then reach only those already
// waiting. sh.mu is held.
func (sh *shard) clear() {
	sh.entries, sh.flights = map[string]*Entry{}, map[string]*flight{}
	sh.size = 0
	sh.root.next, sh.root.prev = &sh.root, &sh.root
}

// sh.mu is held.
func (sh *shard) use(e *Entry) {
	if e.prev != nil {
		e.prev.next, e.next.prev = e.next, e.prev
	}
	e.prev, e.next = &sh.root, sh.root.next
	e.prev.next, e.next.prev = e, e
}

// sh.mu is held.
func (sh *shard) drop(e *Entry) {
	e.prev.next, e.next.prev = e.next, e.prev
	e.prev, e.next = nil, nil
	delete(sh.entries, e.key)
	sh.size -= e.size
}

// Answer returns the answer for the key of a plan. If it is not cached and no equal query runs, it
// calls run and caches the answer. The wait for another query ends with ctx.
func (c *Cache) Answer(ctx context.Context, key []byte, p *plan.Plan, dst []base.Hit, run func() (plan.Answer, error)) (plan.Answer, error) {
	serial := p.Snapshot().Serial
	c.advance(serial)
	sh := c.shardOf(key)
	for {
		sh.mu.Lock()
		if sh.serial != serial {
			sh.mu.Unlock()
			c.misses.Add(1)
			return run()
		}
		if e := sh.entries[string(key)]; e != nil {
			sh.use(e)
			sh.mu.Unlock()
			c.hits.Add(1)
			return e.Answer(dst), nil
		}
		f := sh.flights[string(key)]
		if f == nil {
			f = &flight{done: make(chan struct{})}
			sh.flights[string(key)] = f
			sh.mu.Unlock()
			c.misses.Add(1)
			return c.lead(sh, f, key, p, run)
		}
		sh.mu.Unlock()
		select {
		case <-f.done:
			if f.entry != nil {
				c.waits.Add(1)
				return f.entry.Answer(dst), nil
			}
		case <-ctx.Done():
			return plan.Answer{}, ctx.Err()
		}
	}
}

// lead runs a query for all that wait for it.
func (c *Cache) lead(sh *shard, f *flight, key []byte, p *plan.Plan, run func() (plan.Answer, error)) (a plan.Answer, err error) {
	defer func() { // also after a panic
		sh.mu.Lock()
		defer sh.mu.Unlock()
		if sh.flights[string(key)] == f {
			delete(sh.flights, string(key))
			if f.entry != nil {
				c.keep(sh, f.entry)
			}
		}
		close(f.done)
	}()
	if a, err = run(); err == nil {
		f.entry = newEntry(key, p, &a)
	}
	return a, err
}

// keep evicts others to make room. sh.mu is held, and the shard belongs to the entry's snapshot.
func (c *Cache) keep(sh *shard, e *Entry) {
	limit := c.limit / numShards
	if e.size > limit {
		return
	}
	for sh.size+e.size > limit {
		sh.drop(sh.root.prev)
		c.evictions.Add(1)
	}
	sh.entries[e.key] = e
	sh.size += e.size
	sh.use(e)
}

func newEntry(key []byte, p *plan.Plan, a *plan.Answer) *Entry {
	e := &Entry{key: string(key), answer: *a, docFreqs: p.AppendDocFreqs(nil)}
	e.answer.Hits = slices.Clone(a.Hits)
	e.answer.Work, e.answer.Migrations, e.answer.StepsAt = plan.Work{}, 0, [sched.NumPlaces]int{}
	e.size = entryOverhead + int64(len(e.key)) + hitBytes*int64(cap(e.answer.Hits)) + 8*int64(cap(e.docFreqs))
	return e
}

// Answer returns the answer with its hits appended to dst[:0].
func (e *Entry) Answer(dst []base.Hit) plan.Answer {
	a := e.answer
	a.Hits = append(dst[:0], e.answer.Hits...)
	a.Cached = true
	return a
}

// DocFreqs is for plan.Plan.SetDocFreqs.
func (e *Entry) DocFreqs() []uint64 { return e.docFreqs }

// Documents returns those that were kept for the same options, or nil.
func (e *Entry) Documents(of any) *Documents {
	if d := e.documents.Load(); d != nil && d.Of == of {
		return d
	}
	return nil
}

// documentsShare is the part of a shard that the documents of one answer may take.
const documentsShare = 16

// KeepDocuments keeps documents with their answer instead of earlier ones, unless the answer was dropped or they are
// large. Others are evicted to make room.
func (c *Cache) KeepDocuments(e *Entry, d *Documents) {
	limit := c.limit / numShards
	if d.Bytes > limit/documentsShare {
		return
	}
	sh := c.shardOf([]byte(e.key))
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.entries[e.key] != e {
		return
	}
	sh.use(e)
	if old := e.documents.Swap(d); old != nil {
		e.size -= old.Bytes
		sh.size -= old.Bytes
	}
	e.size += d.Bytes
	sh.size += d.Bytes
	for sh.size > limit { // e itself at the end, if need be
		sh.drop(sh.root.prev)
		c.evictions.Add(1)
	}
}
