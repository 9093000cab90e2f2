package segment

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"github.com/griffin-search/griffin/internal/base"
)

// IDHash is a hash of an external id, for lookups in several segments.
type IDHash uint64

// HashID returns the hash of an id.
func HashID(id []byte) IDHash { return IDHash(xxh3.Hash(id)) }

// Lookup is Segment.Lookup for the id with this hash.
func (h IDHash) Lookup(s *Segment, id []byte) (doc base.DocID, found bool, err error) {
	doc, found, err = s.ids.lookup(id, h)
	if err != nil {
		return 0, false, fmt.Errorf("segment %s: %w", s.dir, err)
	}
	return doc, found, nil
}

// FindIDs sets found[i] if a document of a segment has ids[i], with hashes[i]; also if the segment cannot tell, because it is
// damaged: Lookup then has the error. To look for many ids in one segment is faster than for one in many: the filter and the
// table stay in the processor's cache.
func FindIDs(s *Segment, ids []string, hashes []IDHash, found []bool) {
	f := s.ids.filter(uint64(len(hashes)))
	for i, h := range hashes {
		if f != nil && !f.has(h) {
			continue
		}
		if _, ok, err := s.ids.lookup([]byte(ids[i]), h); ok || err != nil {
			found[i] = true
		}
	}
}

// idFilter tells for most ids that no document has them, with one access to memory where the table takes
// several. A word of 64 bits has 4 bits for each of about 5 ids (F. Putze, P. Sanders, J. Singler,
// "Cache-, Hash- and Space-Efficient Bloom Filters", WEA 2007, with blocks of a word): about 1 % of other
// ids pass. It takes 1.5 bytes an id.
type idFilter []uint64

func newIDFilter(n uint64) idFilter { return make(idFilter, n*3/16+1) }

// place returns the word of a hash and its bits there. The table is sorted by the high bits, so that neighbours
// in it have neighbouring words.
func (f idFilter) place(h IDHash) (word uint64, mask uint64) {
	word, _ = bits.Mul64(uint64(h), uint64(len(f)))
	mixed := uint64(h) * 0x9E3779B97F4A7C15
	return word, 1<<(mixed>>58) | 1<<(mixed>>52&63) | 1<<(mixed>>46&63) | 1<<(mixed>>40&63)
}

func (f idFilter) add(h IDHash) {
	word, mask := f.place(h)
	f[word] |= mask
}

func (f idFilter) has(h IDHash) bool {
	word, mask := f.place(h)
	return f[word]&mask == mask
}

// idFilterOnce makes the filter of a table when enough ids have been looked up to pay for it.
type idFilterOnce struct {
	lookups atomic.Uint64
	made    atomic.Pointer[idFilter]
	mu      sync.Mutex
}

// idsPerLookup is how many ids are added to a filter in the time of about a lookup without one.
const idsPerLookup = 64

// filter returns the filter of the table for a number of lookups, or nil: it is not made yet.
func (t *idTable) filter(lookups uint64) idFilter {
	if f := t.once.made.Load(); f != nil {
		return *f
	}
	if t.once.lookups.Add(lookups) <= t.n/idsPerLookup || !t.once.mu.TryLock() {
		return nil
	}
	defer t.once.mu.Unlock()
	if f := t.once.made.Load(); f != nil {
		return *f
	}
	f, err := t.makeFilter(func() {})
	if err != nil { // damaged: a lookup finds out by itself whether its part is
		t.once.lookups.Store(0)
		return nil
	}
	return f
}

// makeFilter makes the filter, with once.mu held. It calls pass after each passIDs ids.
func (t *idTable) makeFilter(pass func()) (idFilter, error) {
	const passIDs = 4096
	table, err := t.file.Range(t.hashes, hashEntry*t.n)
	if err != nil {
		return nil, err
	}
	f := newIDFilter(t.n)
	for n := 1; len(table) >= hashEntry; n++ {
		f.add(IDHash(binary.LittleEndian.Uint64(table)))
		table = table[hashEntry:]
		if n%passIDs == 0 {
			pass()
		}
	}
	t.once.made.Store(&f)
	return f, nil
}
