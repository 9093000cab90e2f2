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
	// 16,384 lists, about 6 MB.
	maxCacheSets = 1 << 12
)

// listCache caches opened lists; a hit costs about 40 ns instead of 800. It is lock-free,
// set-associative and safe for concurrent use: a term's hash selects four slots, of which a new
// list replaces one.
type listCache struct {
	seed maphash.Seed
	sets [][cacheWays]atomic.Pointer[cachedList]
	next atomic.Uint32 // way to replace next
}

type cachedList struct {
	hash  uint64
	field base.FieldID
	term  []byte
	list  postings.List // without positions and frontiers
}

func newListCache(numTerms uint64) *listCache {
	sets := min(maxCacheSets, 1<<bits.Len64(min(numTerms, maxCacheSets))) // more than one term a set would replace each other in some
	return &listCache{seed: maphash.MakeSeed(), sets: make([][cacheWays]atomic.Pointer[cachedList], sets)}
}

func (c *listCache) hash(f base.FieldID, term []byte) uint64 {
	return maphash.Bytes(c.seed, term) + uint64(f)*0x9e3779b97f4a7c15
}

func (c *listCache) set(hash uint64) *[cacheWays]atomic.Pointer[cachedList] {
	return &c.sets[hash&uint64(len(c.sets)-1)]
}

// get returns nil if the list is not there.
func (c *listCache) get(hash uint64, f base.FieldID, term []byte) *postings.List {
	set := c.set(hash)
	for i := range set {
		e := set[i].Load()
		if e != nil && e.hash == hash && e.field == f && bytes.Equal(e.term, term) {
			return &e.list
		}
	}
	return nil
}

// put returns the list in the cache.
func (c *listCache) put(hash uint64, f base.FieldID, term []byte, l *postings.List) *postings.List {
	e := &cachedList{hash: hash, field: f, term: bytes.Clone(term), list: *l}
	set := c.set(hash)
	for i := range set {
		if set[i].Load() == nil && set[i].CompareAndSwap(nil, e) {
			return &e.list
		}
	}
	set[c.next.Add(1)%cacheWays].Store(e)
	return &e.list
}
