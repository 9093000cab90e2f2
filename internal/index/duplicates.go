package index

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/segment"
)

// docRef is a document of one of several runs. As a number, refs are in corpus order.
type docRef uint64

func makeRef(run int, doc uint32) docRef { return docRef(run)<<32 | docRef(doc) }

func (r docRef) run() int    { return int(r >> 32) }
func (r docRef) doc() uint32 { return uint32(r) }

// superseded is a document and the last one with the same id.
type superseded struct{ earlier, later docRef }

// dropDuplicates drops, in all runs, each document that a later one has the id
// of, and returns these in corpus order. Equal hashes are found by merging the
// runs' sorted hashes, which takes little memory, and verified by the ids.
func dropDuplicates(runs []*run) ([]superseded, error) {
	m, err := newHashMerge(runs)
	if err != nil {
		return nil, err
	}
	var found []superseded
	var group []docRef // documents with one hash, in corpus order
	var groupHash uint64
	for {
		hash, ref, ok, err := m.next()
		if err != nil {
			return nil, err
		}
		if (!ok || hash != groupHash) && len(group) > 1 {
			if found, err = appendSuperseded(found, runs, group); err != nil {
				return nil, err
			}
		}
		if !ok {
			break
		}
		if hash != groupHash {
			group, groupHash = group[:0], hash
		}
		group = append(group, ref)
	}
	slices.SortFunc(found, func(a, b superseded) int { return cmp.Compare(a.earlier, b.earlier) })
	for _, s := range found {
		runs[s.earlier.run()].drop(int(s.earlier.doc()))
	}
	return found, nil
}

// appendSuperseded compares the ids of a group with equal hashes.
func appendSuperseded(found []superseded, runs []*run, group []docRef) ([]superseded, error) {
	ids := make([]string, len(group))
	last := map[string]docRef{}
	for i, ref := range group {
		id, err := runs[ref.run()].readID(ref.doc())
		if err != nil {
			return nil, err
		}
		ids[i], last[id] = id, ref
	}
	for i, ref := range group {
		if later := last[ids[i]]; later != ref {
			found = append(found, superseded{ref, later})
		}
	}
	return found, nil
}

// drop leaves a document out of the result.
func (r *run) drop(doc int) {
	if r.dropped == nil {
		r.dropped = segment.NewBitmap(r.numDocs)
	}
	r.dropped.Set(doc)
}

// hashMerge steps through the id hashes of all runs in order of (hash, document).
type hashMerge struct {
	runs []*run
	heap []hashCursor // a binary heap, the least first
}

type hashCursor struct {
	hash uint64
	ref  docRef
	from *stream
}

func (c hashCursor) before(o hashCursor) bool {
	return c.hash < o.hash || c.hash == o.hash && c.ref < o.ref
}

func newHashMerge(runs []*run) (*hashMerge, error) {
	m := &hashMerge{runs: runs}
	for i, r := range runs {
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
	c.ref = makeRef(c.ref.run(), binary.LittleEndian.Uint32(b[8:]))
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

// down moves element i of the heap to where it belongs below.
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

// places returns where the given documents of runs, which must be in corpus
// order, were read.
func places(runs []*run, refs []docRef) (found map[docRef]corpus.Location, err error) {
	found = make(map[docRef]corpus.Location, len(refs))
	var reader placeReader
	run, next := -1, uint32(0) // next is the document that reader gives next
	for _, ref := range refs {
		if ref.run() != run {
			run, next = ref.run(), 0
			data, err := runs[run].places.load()
			if err != nil {
				return nil, err
			}
			reader = placeReader{bytes: data}
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

// reportDuplicates calls report for each superseded document, in corpus order.
func reportDuplicates(runs []*run, found []superseded, report func(id string, earlier, later corpus.Location)) error {
	var refs []docRef
	for _, s := range found {
		refs = append(refs, s.earlier, s.later)
	}
	slices.Sort(refs)
	at, err := places(runs, slices.Compact(refs))
	if err != nil {
		return err
	}
	for _, s := range found {
		id, err := runs[s.earlier.run()].readID(s.earlier.doc())
		if err != nil {
			return err
		}
		report(id, at[s.earlier], at[s.later])
	}
	return nil
}
