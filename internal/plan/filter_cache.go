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
	traced := FilterTrace{Query: s.text}
	if s.source.cost(m.words, m.segment) >= minCachedCost {
		hash := maphash.String(setSeed, s.key)
		list := m.view().Derived.List(0)
		if m.usedBefore(list, hash) {
			size := int64(8*(m.words.numDocs(m.segment)+63)/64 + len(s.key))
			traced.Cached = cachedSets.Keeps(list, hash)
			cached, err := cachedSets.GetIfRoom(list, hash, size, func() (*cachedSet, int64, error) {
				words := cleared(nil, m.words.numDocs(m.segment))
				err := s.source.mark(m, words)
				return &cachedSet{s.key, words, int(ones(words))}, size, err
			})
			if err != nil {
				return nil, 0, err
			}
			if cached != nil && cached.key == s.key {
				traced.Docs = cached.count
				m.filters = append(m.filters, traced)
				return cached.words, cached.count, nil
			}
			traced.Cached = false
		}
	}
	words = m.take()
	m.held = append(m.held, words)
	if err := s.source.mark(m, words); err != nil {
		return nil, 0, err
	}
	traced.Docs = int(ones(words))
	m.filters = append(m.filters, traced)
	return words, traced.Docs, nil
}

func (m *matcher) usedBefore(list derived.List, hash uint64) bool {
	uses, err := usesOfSets.Get(list, 0, func() (*setUses, int64, error) { return new(setUses), 8 * 256, nil })
	return err == nil && uses[hash%uint64(len(uses))].Swap(hash) == hash
}
