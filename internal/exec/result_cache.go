package exec

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/saat"
	"github.com/griffin-search/griffin/internal/sched"
)

// ResultCache keeps the answers of queries, so that one that is asked again is not run
// again. It is of one index, and shared by its Searchers (UseResults); it is safe for
// concurrent use.
//
// An answer is found by what the query means, not by how it was written: see
// appendKey. It holds for one snapshot of the index. The first query on a newer
// snapshot, which every commit makes, drops the answers of the one before; a search
// that still runs on an older one neither finds answers nor leaves any.
//
// Queries of the same meaning that come at the same time are run once: the others wait
// for the answer. If the one that runs fails, or its context ends, one of those that
// wait runs in its place. They hold no slot of a Dispatcher while they wait.
//
// The least recently used answers make room for new ones, separately in each of
// resultShards parts of the limit.
type ResultCache struct {
	limit  int64
	seed   maphash.Seed
	shards [resultShards]resultShard
	newest atomic.Uint64 // Serial of the snapshots asked for

	hits, misses, waits, evictions, invalidations atomic.Int64
}

const (
	resultShards = 16
	// resultOverhead is what an answer counts beside its key and its hits: the entry, its
	// place in the map, and what allocations are rounded up by.
	resultOverhead = 360
	// hitBytes is the size of a base.Hit.
	hitBytes = 16
)

// resultShard is the part of the cache for keys of some hashes.
type resultShard struct {
	mu      sync.Mutex
	serial  uint64 // of the snapshot that everything here is of
	entries map[string]*resultEntry
	flights map[string]*flight
	size    int64
	root    resultEntry // of a ring: root.next was used last, root.prev is dropped next
}

// resultEntry is an answer that is kept. All but next and prev is never changed.
type resultEntry struct {
	key      string
	answer   Answer
	docFreqs []uint64 // by canonicalTerms
	size     int64

	next, prev *resultEntry
}

// flight is a query that runs, for all that ask it.
type flight struct {
	done  chan struct{}
	entry *resultEntry // set before done is closed; nil: it failed
}

// NewResultCache returns an empty cache of at most limitBytes. It is nil, which keeps
// nothing, if that is not more than 0.
func NewResultCache(limitBytes int64) *ResultCache {
	if limitBytes <= 0 {
		return nil
	}
	c := &ResultCache{limit: limitBytes, seed: maphash.MakeSeed()}
	for i := range c.shards {
		c.shards[i].clear()
	}
	return c
}

// ResultCacheStats tell what a ResultCache did and holds.
type ResultCacheStats struct {
	// Hits counts queries whose answer was there, Waits those that waited for one that
	// ran, Misses those that ran. HitRate is the share of the first two.
	Hits    int64   `json:"hits"`
	Waits   int64   `json:"waits"`
	Misses  int64   `json:"misses"`
	HitRate float64 `json:"hit_rate"`
	// Evictions counts answers that made room for others, Invalidations those that a
	// commit made worthless.
	Evictions     int64 `json:"evictions"`
	Invalidations int64 `json:"invalidations"`
	// Entries and SizeBytes are there now, of at most LimitBytes.
	Entries    int64 `json:"entries"`
	SizeBytes  int64 `json:"size_bytes"`
	LimitBytes int64 `json:"limit_bytes"`
}

// cacheable reports whether the answer may come from a ResultCache.
func (o *Options) cacheable() bool {
	return o.Cached && o.Budget == (saat.Budget{}) && o.Traversal == "" && o.Accumulators == "" && !o.CPU && o.Policy == "" && o.Placement == nil
}

// findAnswer sets the key of a plan that is compiled, and looks for its answer.
func (p *Plan) findAnswer(sc *Scratch, opts *Options) bool {
	p.key = sc.keys.appendKey(p.key[:0], p, opts)
	p.cached = p.searcher.results.find(p.searcher.snapshot.Serial, p.key)
	if p.cached == nil {
		return false
	}
	// What Sought tells needs them.
	p.docFreqs = append(p.docFreqs[:0], make([]uint64, len(p.terms))...)
	sc.keys.terms = p.canonicalTerms(sc.keys.terms[:0])
	for i, t := range sc.keys.terms {
		p.docFreqs[t] = p.cached.docFreqs[i]
	}
	return true
}

// errCached is what a plan that was made with Options.Cached returns to what it is not for.
var errCached = fmt.Errorf("a plan whose answer may be a cached one can only be run by itself: %w", base.ErrBadInput)

// Stats returns the counts as of now; of a nil cache none.
func (c *ResultCache) Stats() (s ResultCacheStats) {
	if c == nil {
		return s
	}
	s = ResultCacheStats{
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

// shard returns the shard of a key.
func (c *ResultCache) shard(key []byte) *resultShard {
	return &c.shards[maphash.Bytes(c.seed, key)%resultShards]
}

// find returns the answer of a key in the snapshot with that serial, nil if there is
// none. It allocates nothing.
func (c *ResultCache) find(serial uint64, key []byte) *resultEntry {
	c.advance(serial)
	sh := c.shard(key)
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

// advance drops what is of snapshots older than that with a serial, the first time that
// it comes. Afterwards each shard is of that snapshot, or a newer one.
func (c *ResultCache) advance(serial uint64) {
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

// clear drops all answers, and forgets the queries that run: their answers are for those
// that wait already. sh.mu is held.
func (sh *resultShard) clear() {
	sh.entries, sh.flights = map[string]*resultEntry{}, map[string]*flight{}
	sh.size = 0
	sh.root.next, sh.root.prev = &sh.root, &sh.root
}

// use puts an entry to the front. sh.mu is held.
func (sh *resultShard) use(e *resultEntry) {
	if e.prev != nil {
		e.prev.next, e.next.prev = e.next, e.prev
	}
	e.prev, e.next = &sh.root, sh.root.next
	e.prev.next, e.next.prev = e, e
}

// drop removes an entry. sh.mu is held.
func (sh *resultShard) drop(e *resultEntry) {
	e.prev.next, e.next.prev = e.next, e.prev
	e.prev, e.next = nil, nil
	delete(sh.entries, e.key)
	sh.size -= e.size
}

// answer returns what run returns, or the answer of a query with the same key that runs
// already, or has been kept meanwhile. It waits no longer than ctx.
func (c *ResultCache) answer(ctx context.Context, p *Plan, dst []base.Hit, run func() (Answer, error)) (Answer, error) {
	serial := p.searcher.snapshot.Serial
	c.advance(serial)
	sh := c.shard(p.key)
	for {
		sh.mu.Lock()
		if sh.serial != serial {
			sh.mu.Unlock()
			c.misses.Add(1)
			return run()
		}
		if e := sh.entries[string(p.key)]; e != nil {
			sh.use(e)
			sh.mu.Unlock()
			c.hits.Add(1)
			return e.appendTo(dst), nil
		}
		f := sh.flights[string(p.key)]
		if f == nil {
			f = &flight{done: make(chan struct{})}
			sh.flights[string(p.key)] = f
			sh.mu.Unlock()
			c.misses.Add(1)
			return c.lead(sh, f, p, run)
		}
		sh.mu.Unlock()
		select {
		case <-f.done:
			if f.entry != nil {
				c.waits.Add(1)
				return f.entry.appendTo(dst), nil
			}
		case <-ctx.Done():
			return Answer{}, ctx.Err()
		}
	}
}

// lead runs a query for all that ask it, and keeps the answer.
func (c *ResultCache) lead(sh *resultShard, f *flight, p *Plan, run func() (Answer, error)) (a Answer, err error) {
	defer func() { // after a panic too
		sh.mu.Lock()
		defer sh.mu.Unlock()
		if sh.flights[string(p.key)] == f {
			delete(sh.flights, string(p.key))
			if f.entry != nil {
				c.keep(sh, f.entry)
			}
		}
		close(f.done)
	}()
	if a, err = run(); err == nil {
		f.entry = newResultEntry(p, &a)
	}
	return a, err
}

// keep adds an entry, and drops others until it has room. sh.mu is held, and the shard
// is of the entry's snapshot.
func (c *ResultCache) keep(sh *resultShard, e *resultEntry) {
	limit := c.limit / resultShards
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

func newResultEntry(p *Plan, a *Answer) *resultEntry {
	e := &resultEntry{key: string(p.key), answer: *a}
	e.answer.Hits = slices.Clone(a.Hits)
	e.answer.Work, e.answer.Migrations, e.answer.StepsAt = Work{}, 0, [sched.NumPlaces]int{}
	for _, t := range p.canonicalTerms(nil) {
		e.docFreqs = append(e.docFreqs, p.docFreqs[t])
	}
	e.size = resultOverhead + int64(len(e.key)) + hitBytes*int64(cap(e.answer.Hits)) + 8*int64(cap(e.docFreqs))
	return e
}

// appendTo returns the answer with its hits appended to dst[:0].
func (e *resultEntry) appendTo(dst []base.Hit) Answer {
	a := e.answer
	a.Hits = append(dst[:0], e.answer.Hits...)
	a.Cached = true
	return a
}
