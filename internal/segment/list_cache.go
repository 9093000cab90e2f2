package segment

import (
	"bytes"
	"hash/maphash"
	"math/bits"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
)

const (
	cacheWays = 4
	// 16,384 lists, about 5 MB.
	maxCacheSets = 1 << 12
)

// listCache caches opened lists; a hit costs about 20 ns instead of 800. It is lock-free,
// set-associative and safe for concurrent use: a term's hash selects four slots, of which a new
// list replaces one.
type listCache struct {
	seed maphash.Seed
	sets []cacheSet
	next atomic.Uint32 // way to replace next
}

// A cacheSet is in one cache line.
type cacheSet struct {
	// tags are the upper halves of the hashes, which save a look at most other lists. After two simultaneous puts, a tag
	// can be of another list: then the list is not found, and put again.
	tags  [cacheWays]atomic.Uint32
	lists [cacheWays]atomic.Pointer[cachedList]
	_     [64 - 12*cacheWays]byte
}

type cachedList struct {
	hash  uint64
	field base.FieldID
	term  []byte // in short, if it has room
	short [24]byte
	list  postings.List // without positions and frontiers
}

func newListCache(numTerms uint64) *listCache {
	sets := min(maxCacheSets, 1<<bits.Len64(min(numTerms, maxCacheSets))) // more than one term a set would replace each other in some
	return &listCache{seed: maphash.MakeSeed(), sets: make([]cacheSet, sets)}
}

func (c *listCache) hash(f base.FieldID, term []byte) uint64 {
	return maphash.Bytes(c.seed, term) + uint64(f)*0x9e3779b97f4a7c15
}

func (c *listCache) set(hash uint64) *cacheSet {
	return &c.sets[hash&uint64(len(c.sets)-1)]
}

// get returns nil if the list is not there.
func (c *listCache) get(hash uint64, f base.FieldID, term []byte) *postings.List {
	set := c.set(hash)
	for i := range set.tags {
		if set.tags[i].Load() != uint32(hash>>32) {
			continue
		}
		e := set.lists[i].Load()
		if e != nil && e.hash == hash && e.field == f && bytes.Equal(e.term, term) {
			return &e.list
		}
	}
	return nil
}

// put returns the list in the cache.
func (c *listCache) put(hash uint64, f base.FieldID, term []byte, l *postings.List) *postings.List {
	e := &cachedList{hash: hash, field: f, list: *l}
	e.term = append(e.short[:0], term...)
	set := c.set(hash)
	for i := range set.lists {
		if set.lists[i].Load() == nil && set.lists[i].CompareAndSwap(nil, e) {
			set.tags[i].Store(uint32(hash >> 32))
			return &e.list
		}
	}
	i := c.next.Add(1) % cacheWays
	set.lists[i].Store(e)
	set.tags[i].Store(uint32(hash >> 32))
	return &e.list
}
