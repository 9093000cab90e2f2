package resultcache

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
)

// model is a slow cache: a list of answers per shard, the most recently used first.
type model struct {
	cache   *Cache // for the shards of keys
	serials [numShards]uint64
	lists   [numShards][]modelEntry
	want    Stats
}

type modelEntry struct {
	key       string
	hits      int
	size      int64
	documents int64 // bytes, part of size
}

func (m *model) shardOf(key string) int {
	sh := m.cache.shardOf([]byte(key))
	for i := range m.cache.shards {
		if sh == &m.cache.shards[i] {
			return i
		}
	}
	return -1
}

func (m *model) advance(serial uint64) {
	for i := range m.lists {
		if m.serials[i] < serial {
			m.want.Invalidations += int64(len(m.lists[i]))
			m.serials[i], m.lists[i] = serial, nil
		}
	}
}

// find moves the answer to the front, and returns -1 if there is none.
func (m *model) find(serial uint64, key string) (hits int) {
	m.advance(serial)
	sh := m.shardOf(key)
	if m.serials[sh] != serial {
		return -1
	}
	at := slices.IndexFunc(m.lists[sh], func(e modelEntry) bool { return e.key == key })
	if at < 0 {
		return -1
	}
	e := m.lists[sh][at]
	m.lists[sh] = slices.Insert(slices.Delete(m.lists[sh], at, at+1), 0, e)
	m.want.Hits++
	return e.hits
}

func (m *model) keep(serial uint64, e modelEntry) {
	sh := m.shardOf(e.key)
	limit := m.want.LimitBytes / numShards
	if m.serials[sh] != serial || e.size > limit {
		return
	}
	list := m.lists[sh]
	for total(list)+e.size > limit {
		list = list[:len(list)-1]
		m.want.Evictions++
	}
	m.lists[sh] = slices.Insert(list, 0, e)
}

// keepDocuments moves the answer to the front, which it is in, and evicts from the end.
func (m *model) keepDocuments(key string, size int64) {
	sh := m.shardOf(key)
	limit := m.want.LimitBytes / numShards
	list := m.lists[sh]
	at := slices.IndexFunc(list, func(e modelEntry) bool { return e.key == key })
	if size > limit/documentsShare || at < 0 {
		return
	}
	e := list[at]
	e.size += size - e.documents
	e.documents = size
	list = slices.Insert(slices.Delete(list, at, at+1), 0, e)
	for total(list) > limit {
		list = list[:len(list)-1]
		m.want.Evictions++
	}
	m.lists[sh] = list
}

func total(list []modelEntry) (sum int64) {
	for _, e := range list {
		sum += e.size
	}
	return sum
}

func (m *model) stats() Stats {
	s := m.want
	for _, list := range m.lists {
		s.Entries += int64(len(list))
		s.SizeBytes += total(list)
	}
	if s.Hits+s.Misses > 0 {
		s.HitRate = float64(s.Hits) / float64(s.Hits+s.Misses)
	}
	return s
}

// Random queries on an older and a newer snapshot have the hits, the evictions and the counts of a
// slow cache, also when an answer fills a shard exactly.
func TestLikeModel(t *testing.T) {
	old, fresh := prepare(t), prepare(t)
	docFreqs := 8 * int64(cap(old.AppendDocFreqs(nil)))
	key := func(i int) string { return fmt.Sprintf("key %03d", i) }
	size := func(hits int) int64 {
		return entryOverhead + int64(len(key(0))) + hitBytes*int64(cap(slices.Clone(make([]base.Hit, hits)))) + docFreqs
	}
	for _, limit := range []int64{2 * size(4), 2*size(4) - 1, size(32)} { // of a shard
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(limit)))
			c := New(limit * numShards)
			m := &model{cache: c, want: Stats{LimitBytes: limit * numShards}}
			hitsOf := make([]base.Hit, 64)
			for step := range 4000 {
				p := old
				if step > 1500 && (step < 1600 || rng.IntN(3) > 0) {
					p = fresh
				}
				k := key(rng.IntN(80))
				hits := []int{0, 4, 4, 32, 33}[rng.IntN(5)]
				if rng.IntN(3) == 0 {
					found, want := c.Find(p.Snapshot().Serial, []byte(k)), m.find(p.Snapshot().Serial, k)
					if (found != nil) != (want >= 0) || found != nil && len(found.Answer(hitsOf).Hits) != want {
						t.Fatalf("step %d: found %v, want %d hits", step, found, want)
					}
					if found != nil && rng.IntN(2) == 0 {
						d := &Documents{Of: rng.IntN(2), Bytes: rng.Int64N(limit/documentsShare + 9)}
						c.KeepDocuments(found, d)
						m.keepDocuments(k, d.Bytes)
						if kept := d.Bytes <= limit/documentsShare; (found.Documents(d.Of) == d) != kept || kept && found.Documents(7) != nil {
							t.Fatalf("step %d: documents of %d bytes, found %+v", step, d.Bytes, found.Documents(d.Of))
						}
					}
				} else {
					want := m.find(p.Snapshot().Serial, k)
					cached := want >= 0
					if !cached {
						want = hits
						m.want.Misses++
						m.keep(p.Snapshot().Serial, modelEntry{key: k, hits: hits, size: size(hits)})
					}
					a, err := c.Answer(t.Context(), []byte(k), p.Plan, hitsOf, func() (plan.Answer, error) {
						return plan.Answer{Hits: make([]base.Hit, hits)}, nil
					})
					if err != nil || a.Cached != cached || len(a.Hits) != want {
						t.Fatalf("step %d: %+v, %v; want %d hits, cached: %t", step, a, err, want, cached)
					}
				}
				if got, want := c.Stats(), m.stats(); got != want {
					t.Fatalf("step %d: %+v, want %+v", step, got, want)
				}
			}
			if s := c.Stats(); s.Hits == 0 || s.Evictions == 0 || s.Invalidations == 0 {
				t.Errorf("%+v: the queries do not cover everything", s)
			}
		})
	}
}

// A cached answer has its own hits, in the caller's memory, and no work.
func TestCachedAnswer(t *testing.T) {
	c, p := New(1<<20), prepare(t)
	hits := []base.Hit{{DocID: 1, Score: 5}, {DocID: 2, Score: 4}}
	first := plan.Answer{Hits: hits, Mode: plan.ModeAnd, Traversal: "svs", By: sched.GPU, Matches: 2, Migrations: 3}
	first.Work.PostingsScored, first.StepsAt = 7, [sched.NumPlaces]int{1, 2}
	if _, err := p.answer(t.Context(), c, func() (plan.Answer, error) { return first, nil }); err != nil {
		t.Fatal(err)
	}
	hits[0].DocID = 99
	want := []base.Hit{{DocID: 1, Score: 5}, {DocID: 2, Score: 4}}
	dst := make([]base.Hit, 2, 8)
	for range 2 {
		e := c.Find(p.Snapshot().Serial, p.key)
		if e == nil || !slices.Equal(e.DocFreqs(), p.AppendDocFreqs(nil)) {
			t.Fatalf("found %+v", e)
		}
		a := e.Answer(dst)
		if !slices.Equal(a.Hits, want) || &a.Hits[0] != &dst[0] || !a.Cached || a.Mode != plan.ModeAnd || a.Matches != 2 || a.By != sched.GPU ||
			a.Work != (plan.Work{}) || a.Migrations != 0 || a.StepsAt != ([sched.NumPlaces]int{}) {
			t.Fatalf("cached answer %+v", a)
		}
		a.Hits[0].DocID = 98 // of the caller
	}
}

// No call leaves a shard locked.
func TestUnlocked(t *testing.T) {
	c, p := New(1<<20), prepare(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 3 {
			c.Find(p.Snapshot().Serial, p.key)
			c.Stats()
			_, _ = p.answer(t.Context(), c, func() (plan.Answer, error) { return plan.Answer{}, base.ErrCorrupt })
			_, _ = p.answer(t.Context(), c, func() (plan.Answer, error) { return plan.Answer{}, nil })
			c.advance(p.Snapshot().Serial + 1)
			_, _ = p.answer(t.Context(), c, func() (plan.Answer, error) { return plan.Answer{}, nil })
		}
	}()
	select {
	case <-done:
	case <-time.After(3 * time.Minute):
		t.Fatal("a call waits for a lock")
	}
	for i := range c.shards {
		if !c.shards[i].mu.TryLock() {
			t.Errorf("shard %d is locked", i)
		}
	}
}

// A shard that belongs to a newer snapshot, or already to this one, keeps its answers.
func TestAdvanceKeepsNewer(t *testing.T) {
	c := New(1 << 20)
	for i, serial := range []uint64{3, 4, 5} {
		sh := &c.shards[i]
		sh.serial = serial
		c.keep(sh, &Entry{key: "k", size: 1})
	}
	c.newest.Store(3)
	c.advance(4)
	for i, want := range []struct {
		serial  uint64
		entries int
	}{{4, 0}, {4, 1}, {5, 1}} {
		if sh := &c.shards[i]; sh.serial != want.serial || len(sh.entries) != want.entries {
			t.Errorf("shard %d: serial %d, %d answers; want %+v", i, sh.serial, len(sh.entries), want)
		}
	}
	if s := c.Stats(); s.Invalidations != 1 || s.Entries != 2 {
		t.Errorf("%+v, want one dropped answer", s)
	}
}

// A new cache takes answers of a snapshot with serial number 0.
func TestFirstSnapshot(t *testing.T) {
	c, p := New(1<<20), prepare(t)
	p.Snapshot().Serial = 0
	for _, cached := range []bool{false, true} {
		a, err := p.answer(t.Context(), c, func() (plan.Answer, error) { return plan.Answer{}, nil })
		if err != nil || a.Cached != cached {
			t.Errorf("%+v, %v; want cached: %t", a, err, cached)
		}
	}
}

// Documents of an answer that was dropped are not kept.
func TestDocumentsOfDropped(t *testing.T) {
	c, p := New(1<<20), prepare(t)
	ask := func() *Entry {
		if _, err := p.answer(t.Context(), c, func() (plan.Answer, error) { return plan.Answer{}, nil }); err != nil {
			t.Fatal(err)
		}
		return c.Find(p.Snapshot().Serial, p.key)
	}
	old := ask()
	c.advance(p.Snapshot().Serial + 1)
	c.KeepDocuments(old, &Documents{Bytes: 100})
	if s := c.Stats(); s.SizeBytes != 0 || old.Documents(nil) != nil {
		t.Errorf("%+v, documents %+v", s, old.Documents(nil))
	}
	p.Snapshot().Serial += 2
	fresh := ask()
	c.KeepDocuments(old, &Documents{Bytes: 100})
	if s := c.Stats(); s.SizeBytes != fresh.size || fresh.Documents(nil) != nil {
		t.Errorf("%+v, documents %+v", s, fresh.Documents(nil))
	}
}
