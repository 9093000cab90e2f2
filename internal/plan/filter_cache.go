package plan

import (
	"hash/maphash"
	"slices"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/segment"
)

// From their second use on, the documents of sets are cached by segment, in the memory of the index's
// derived structures (package derived). The cache drops them if the memory is needed elsewhere. Cached sets
// include deleted documents, so that they stay valid while the segment is open. The live documents are
// cached beside them for the last deletions.

type cachedSet struct {
	key string // of the set; another one of the same hash is not this
	documents
	live atomic.Pointer[liveDocuments]
}

// liveDocuments are those that are not deleted.
type liveDocuments struct {
	live *segment.Bitmap
	documents
}

// setUses are hashes of sets that were used in a segment; a newer one replaces an older one of its place.
type setUses [256]atomic.Uint64

var (
	cachedSets = derived.NewKind[cachedSet]("bitmap of a filter")
	usesOfSets = derived.NewKind[setUses]("uses of filters")
	setSeed    = maphash.MakeSeed()
)

// minCachedCost is the least cost of a set, with the memory for its bitmap, that is worth the look-up of
// its documents.
const minCachedCost = 4000

// set returns the documents of a set, valid until the matcher is used for another segment.
func (m *matcher) set(s *set) (documents, error) {
	found, _, err := m.find(s, s.text)
	return found, err
}

// live is set for a filter of a flat stage, without the deleted documents.
func (m *matcher) live(n *constant) (documents, error) {
	found, cached, err := m.find(n.child, n.text)
	live := m.view().Live
	if err != nil || live == nil {
		return found, err
	}
	if cached != nil {
		return cached.without(live), nil
	}
	if found.words == nil {
		found.docs = selected(m.docList(len(found.docs)), found.docs, live.Words(), false)
		found.count = len(found.docs)
		return found, nil
	}
	and(found.words, live.Words()) // the matcher's
	found.count = int(ones(found.words))
	return found, nil
}

func (c *cachedSet) without(live *segment.Bitmap) documents {
	if l := c.live.Load(); l != nil && l.live == live {
		return l.documents
	}
	l := &liveDocuments{live: live}
	if c.words == nil {
		docs := selected(nil, c.docs, live.Words(), false)
		l.documents = documents{docs: docs, count: len(docs)}
	} else {
		words := slices.Clone(c.words)
		and(words, live.Words())
		l.documents = listed(words, int(ones(words)), live.Len(), nil)
	}
	c.live.Store(l)
	return l.documents
}

// find returns the documents of a set, or of another node of a filter. cached is their entry if they are kept;
// else their memory is the matcher's.
func (m *matcher) find(n node, text string) (found documents, cached *cachedSet, err error) {
	if m.in.part {
		found, err = m.findIn(n)
		return found, nil, err
	}
	traced := FilterTrace{Query: text}
	cost := m.words.filterCost(m.segment, n)
	if cost+m.words.numDocs(m.segment)/maskDocsPerCost >= minCachedCost {
		if cached, traced.Cached, err = m.cached(n); err != nil {
			return found, nil, err
		}
	}
	if cached != nil {
		found = cached.documents
	} else if found, err = m.compute(n); err != nil {
		return found, nil, err
	}
	traced.Docs = found.count
	m.filters = append(m.filters, traced)
	return found, cached, nil
}

// findIn is find in a part of the segment. Sets are found for all parts.
func (m *matcher) findIn(n node) (documents, error) {
	if l, ok := n.(*leaf); ok && !l.isPhrase() {
		return m.ofTerm(l.terms[0])
	}
	found, err := m.in.sets.get(m, n)
	if err != nil {
		return documents{}, err
	}
	return narrower{m}.compact(m.in.within(found)), nil
}

// isFound reports whether find needs not compute the documents of a node of a filter.
func (m *matcher) isFound(n node) bool {
	return m.in.part && m.in.sets.has(n) || m.kept(n) != nil
}

// filterCost estimates the cost of computing a node's documents.
func (ws *words) filterCost(segment int, n node) int {
	if s, ok := n.(*set); ok {
		return s.source.cost(ws, segment)
	}
	return ws.maskCost(segment, n)
}

func (m *matcher) compute(n node) (documents, error) {
	numDocs := m.words.numDocs(m.segment)
	if l, ok := n.(*leaf); ok && !l.isPhrase() {
		return m.ofTerm(l.terms[0])
	}
	words := m.hold()
	if err := m.markFilter(words, n); err != nil {
		return documents{}, err
	}
	count := int(ones(words))
	if !isFew(count, numDocs) {
		return documents{words: words, count: count}, nil
	}
	return listed(words, count, numDocs, m.docList(count)), nil
}

func (m *matcher) markFilter(words []uint64, n node) error {
	if s, ok := n.(*set); ok {
		return s.source.mark(m, words)
	}
	return m.mark(words, n)
}

// hash sets m.key to what identifies the documents of a node, and returns its hash.
func (m *matcher) hash(n node) uint64 {
	if s, ok := n.(*set); ok {
		m.key = append(m.key[:0], s.key...)
	} else {
		m.key = m.scratch.keys.appendNode(m.key[:0], m.words.terms, n)
	}
	return maphash.Bytes(setSeed, m.key)
}

// cached returns nil if the set was not used before, or there is no room. was: it had been kept.
func (m *matcher) cached(n node) (c *cachedSet, was bool, err error) {
	hash := m.hash(n)
	list := m.view().Derived.List(0)
	if c = cachedSets.Kept(list, hash); c != nil {
		if c.key != string(m.key) {
			return nil, false, nil
		}
		return c, true, nil
	}
	if !usedBefore(list, hash) {
		return nil, false, nil
	}
	key, mine := string(m.key), false
	c, err = cachedSets.GetIfRoom(list, hash, int64(m.words.numDocs(m.segment)/8+len(key)), func() (*cachedSet, int64, error) {
		mine = true
		return m.newCachedSet(key, n)
	})
	if err != nil && !mine { // the query that computed the set may have been interrupted
		return nil, false, nil
	}
	if c != nil && c.key != key {
		return nil, false, err
	}
	return c, false, err
}

func (m *matcher) newCachedSet(key string, n node) (c *cachedSet, sizeBytes int64, err error) {
	found, err := m.compute(n)
	if err != nil {
		return nil, 0, err
	}
	found.words, found.docs = slices.Clone(found.words), slices.Clone(found.docs)
	size := 8*len(found.words) + 4*len(found.docs)
	if m.view().Live != nil {
		size *= 2
	}
	return &cachedSet{key: key, documents: found}, int64(size + len(key)), nil
}

// kept returns the documents of a node of a filter if they are kept, else nil.
func (m *matcher) kept(n node) *cachedSet {
	c := cachedSets.Kept(m.view().Derived.List(0), m.hash(n))
	if c == nil || c.key != string(m.key) {
		return nil
	}
	return c
}

// isCached reports whether the documents of a node of a filter are kept.
func (m *matcher) isCached(n node) bool {
	return cachedSets.Keeps(m.view().Derived.List(0), m.hash(n))
}

// usedBefore reports whether something of a hash was used in a segment.
func usedBefore(list derived.List, hash uint64) bool {
	uses, err := usesOfSets.Get(list, 0, func() (*setUses, int64, error) { return new(setUses), 8 * 256, nil })
	return err == nil && uses[hash%uint64(len(uses))].Swap(hash) == hash
}
