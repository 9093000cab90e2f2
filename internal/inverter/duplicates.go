package inverter

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/segment"
)

// A document of one of several partial indexes, in document order.
type docRef uint64

func makeRef(partial int, doc uint32) docRef { return docRef(partial)<<32 | docRef(doc) }

func (r docRef) partial() int { return int(r >> 32) }
func (r docRef) doc() uint32  { return uint32(r) }

type superseded struct{ earlier, later docRef }

// dropDuplicates drops documents with a later one's id and returns them in order. It merges the
// sorted hashes of all partial indexes, which needs little memory, and compares ids.
func dropDuplicates(partials []*partial) ([]superseded, error) {
	m, err := newHashMerge(partials)
	if err != nil {
		return nil, err
	}
	var found []superseded
	var same []docRef // documents with the same hash, in order
	var sameHash uint64
	for {
		hash, ref, ok, err := m.next()
		if err != nil {
			return nil, err
		}
		if (!ok || hash != sameHash) && len(same) > 1 {
			if found, err = appendSuperseded(found, partials, same); err != nil {
				return nil, err
			}
		}
		if !ok {
			break
		}
		if hash != sameHash {
			same, sameHash = same[:0], hash
		}
		same = append(same, ref)
	}
	base.Sort(found, func(a, b superseded) int { return cmp.Compare(a.earlier, b.earlier) })
	for _, s := range found {
		partials[s.earlier.partial()].drop(int(s.earlier.doc()))
	}
	return found, nil
}

func appendSuperseded(found []superseded, partials []*partial, same []docRef) ([]superseded, error) {
	ids := make([]string, len(same))
	last := map[string]docRef{}
	for i, ref := range same {
		id, err := partials[ref.partial()].readID(ref.doc())
		if err != nil {
			return nil, err
		}
		ids[i], last[id] = id, ref
	}
	for i, ref := range same {
		if later := last[ids[i]]; later != ref {
			found = append(found, superseded{ref, later})
		}
	}
	return found, nil
}

func (r *partial) drop(doc int) {
	if r.dropped == nil {
		r.dropped = segment.NewBitmap(r.numDocs)
	}
	r.dropped.Set(doc)
}

// Id hashes of all partial indexes by (hash, document).
type hashMerge struct {
	partials []*partial
	heap     []hashCursor // a binary heap, the least first
}

type hashCursor struct {
	hash uint64
	ref  docRef
	from *stream
}

func (c hashCursor) before(o hashCursor) bool {
	return c.hash < o.hash || c.hash == o.hash && c.ref < o.ref
}

func newHashMerge(partials []*partial) (*hashMerge, error) {
	m := &hashMerge{partials: partials}
	for i, r := range partials {
		c := hashCursor{ref: makeRef(i, 0), from: new(stream)}
		c.from.open(&r.hashes, r.streamBuf)
		ok, err := c.advance()
		if err != nil {
			return nil, err
		}
		if ok {
			m.heap = append(m.heap, c)
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	return m, nil
}

func (c *hashCursor) advance() (ok bool, err error) {
	if err := c.from.fill(idHashBytes); err != nil || len(c.from.window) == 0 {
		return false, err
	}
	b, err := c.from.take(idHashBytes)
	if err != nil {
		return false, err
	}
	c.hash = binary.LittleEndian.Uint64(b)
	c.ref = makeRef(c.ref.partial(), binary.LittleEndian.Uint32(b[8:]))
	return true, nil
}

func (m *hashMerge) next() (hash uint64, ref docRef, ok bool, err error) {
	if len(m.heap) == 0 {
		return 0, 0, false, nil
	}
	top := &m.heap[0]
	hash, ref = top.hash, top.ref
	more, err := top.advance()
	if err != nil {
		return 0, 0, false, err
	}
	if !more {
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
	}
	m.down(0)
	return hash, ref, true, nil
}

func (m *hashMerge) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2; child++ {
			if child < len(m.heap) && m.heap[child].before(m.heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		m.heap[i], m.heap[least] = m.heap[least], m.heap[i]
		i = least
	}
}

// refs must be in order.
func locations(partials []*partial, refs []docRef) (found map[docRef]corpus.Location, err error) {
	found = make(map[docRef]corpus.Location, len(refs))
	var reader locationReader
	current, next := -1, uint32(0) // next is the document of the next reader.next
	for _, ref := range refs {
		if ref.partial() != current {
			current, next = ref.partial(), 0
			data, err := partials[current].locations.load()
			if err != nil {
				return nil, err
			}
			reader = locationReader{bytes: data}
		}
		var at corpus.Location
		for ; next <= ref.doc(); next++ {
			if at, err = reader.next(); err != nil {
				return nil, err
			}
		}
		found[ref] = at
	}
	return found, nil
}

func reportDuplicates(partials []*partial, found []superseded, report func(id string, earlier, later corpus.Location)) error {
	var refs []docRef
	for _, s := range found {
		refs = append(refs, s.earlier, s.later)
	}
	slices.Sort(refs)
	at, err := locations(partials, slices.Compact(refs))
	if err != nil {
		return err
	}
	for _, s := range found {
		id, err := partials[s.earlier.partial()].readID(s.earlier.doc())
		if err != nil {
			return err
		}
		report(id, at[s.earlier], at[s.later])
	}
	return nil
}
