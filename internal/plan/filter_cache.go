package plan

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/derived"
)

// Bitmaps of sets are cached by segment from their second use on, within the memory of the index's
// derived structures (package derived) as long as nothing else needs it. A bitmap is of all documents,
// deleted ones too, so that it stays valid while the segment is open.

type cachedSet struct {
	key   string // of the set; another one of the same hash is not this
	words []uint64
	count int
}

// setUses are hashes of sets that were used in a segment; a newer one replaces an older one of its place.
type setUses [256]atomic.Uint64

var (
	cachedSets = derived.NewKind[cachedSet]("bitmap of a filter")
	usesOfSets = derived.NewKind[setUses]("uses of filters")
	setSeed    = maphash.MakeSeed()
)

// minCachedCost is the least cost of a set that is worth the look-up of its bitmap, about 20 µs.
const minCachedCost = 20_000

// set returns the documents of a set, not to be changed, and their number, valid until the matcher is used
// for another segment.
func (m *matcher) set(s *set) (words []uint64, count int, err error) {
	return m.documents(s.key, s.text, s.source.cost(m.words, m.segment), func(words []uint64) error { return s.source.mark(m, words) })
}

// filter is set for a filter of a flat stage.
func (m *matcher) filter(n *constant) (words []uint64, count int, err error) {
	if s, ok := n.child.(*set); ok {
		return m.set(s)
	}
	key := string(m.scratch.keys.appendNode(nil, m.words.terms, n.child))
	return m.documents(key, n.text, m.words.maskCost(m.segment, n.child), func(words []uint64) error { return m.mark(words, n.child) })
}

// documents returns the documents that mark gives, at an estimated cost, or those that are cached.
func (m *matcher) documents(key, text string, cost int, mark func(words []uint64) error) (words []uint64, count int, err error) {
	traced := FilterTrace{Query: text}
	if cost >= minCachedCost {
		cached, was, err := m.cached(key, mark)
		if err != nil {
			return nil, 0, err
		}
		if cached != nil {
			traced.Docs, traced.Cached = cached.count, was
			m.filters = append(m.filters, traced)
			return cached.words, cached.count, nil
		}
	}
	words = m.take()
	m.held = append(m.held, words)
	if err := mark(words); err != nil {
		return nil, 0, err
	}
	traced.Docs = int(ones(words))
	m.filters = append(m.filters, traced)
	return words, traced.Docs, nil
}

// cached returns nil if the set was not used before, or there is no room. was: it had been kept.
func (m *matcher) cached(key string, mark func(words []uint64) error) (c *cachedSet, was bool, err error) {
	hash := maphash.String(setSeed, key)
	list := m.view().Derived.List(0)
	if !m.usedBefore(list, hash) {
		return nil, false, nil
	}
	size := int64(8*(m.words.numDocs(m.segment)+63)/64 + len(key))
	was = cachedSets.Keeps(list, hash)
	c, err = cachedSets.GetIfRoom(list, hash, size, func() (*cachedSet, int64, error) {
		words := cleared(nil, m.words.numDocs(m.segment))
		err := mark(words)
		return &cachedSet{key, words, int(ones(words))}, size, err
	})
	if c != nil && c.key != key {
		return nil, false, err
	}
	return c, was, err
}

func (m *matcher) isCached(s *set) bool {
	return cachedSets.Keeps(m.view().Derived.List(0), maphash.String(setSeed, s.key))
}

func (m *matcher) usedBefore(list derived.List, hash uint64) bool {
	uses, err := usesOfSets.Get(list, 0, func() (*setUses, int64, error) { return new(setUses), 8 * 256, nil })
	return err == nil && uses[hash%uint64(len(uses))].Swap(hash) == hash
}
