package segment

import (
	"bytes"
	"context"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/turns"
)

// Postings of consecutive lists of a field; a list may continue in the next batch.
type batch struct {
	parts         []listPart
	terms         []byte // of the lists that begin here, concatenated
	docIDs, freqs []uint32
	positions     []byte
}

type listPart struct {
	termLen     int // > 0: the list begins here
	numPostings int
	posBytes    int
	last        bool // the list ends here
}

func (b *batch) reset() {
	b.parts, b.terms = b.parts[:0], b.terms[:0]
	b.docIDs, b.freqs, b.positions = b.docIDs[:0], b.freqs[:0], b.positions[:0]
}

// Sizes amortise the hand-over and fit the processor's cache.
const (
	batchPostings  = 16 << 10
	batchPositions = 1 << 20
	batchLists     = 4 << 10
	// A piece ends after the list that reaches piecePostings or pieceLists, independent of
	// threads, sources and batches.
	piecePostings = 256 << 10
	pieceLists    = 32 << 10
)

func (b *batch) full() bool {
	return len(b.docIDs) >= batchPostings || len(b.positions) >= batchPositions || len(b.parts) >= batchLists
}

// Maps one source's documents to new numbers.
type docMap struct {
	base uint32
	// table has new numbers, or dropped. nil: base + document.
	table []uint32
	n     int
}

const dropped = ^uint32(0)

// newDocMaps numbers the kept documents of all sources in order and returns their
// number.
func newDocMaps(sources []Source) (maps []docMap, numDocs int, err error) {
	for i, s := range sources {
		n, d := s.NumDocs(), s.Dropped()
		m := docMap{base: uint32(numDocs), n: n}
		if d != nil && d.Len() != n {
			return nil, 0, fmt.Errorf("source %d: dropped set over %d documents of %d: %w", i, d.Len(), n, base.ErrBadInput)
		}
		if numDocs += n - d.Count(); int64(numDocs) > base.MaxDocs {
			return nil, 0, fmt.Errorf("more than %d documents: %w", base.MaxDocs, base.ErrBadInput)
		}
		if d.Count() > 0 {
			m.table = make([]uint32, n)
			next := m.base
			for doc := range m.table {
				if d.Has(doc) {
					m.table[doc] = dropped
				} else {
					m.table[doc] = next
					next++
				}
			}
		}
		maps = append(maps, m)
	}
	return maps, numDocs, nil
}

func (m *docMap) kept(f func(doc int) error) error {
	for doc := range m.n {
		if m.table != nil && m.table[doc] == dropped {
			continue
		}
		if err := f(doc); err != nil {
			return err
		}
	}
	return nil
}

type mergeInput struct {
	ListIterator
	index int
	docs  *docMap
	// The field, then the first 6 bytes of the term; equal keys need a full comparison.
	key uint64
}

func (in *mergeInput) next() (bool, error) {
	if !in.Next() {
		return false, in.Err()
	}
	term := in.Term()
	if len(term) == 0 || len(term) > maxTermLen {
		return false, fmt.Errorf("term of %d bytes, want 1 to %d: %w", len(term), maxTermLen, base.ErrBadInput)
	}
	in.key = uint64(in.Field()) << 48
	for i, b := range term[:min(6, len(term))] {
		in.key |= uint64(b) << (40 - 8*i)
	}
	return true, nil
}

func compareTerms(a, b *mergeInput) int {
	if a.key != b.key {
		if a.key < b.key {
			return -1
		}
		return 1
	}
	return bytes.Compare(a.Term(), b.Term())
}

func (in *mergeInput) before(o *mergeInput) bool {
	c := compareTerms(in, o)
	return c < 0 || c == 0 && in.index < o.index
}

// Lists of all sources, term by term, are emitted in batches.
type merger struct {
	heap        []*mergeInput // a binary heap by (term, index)
	positionsOf func(field base.FieldID) bool
	positions   bool // of the lists in batch
	numFields   int
	block       PostingBlock
	// emit takes a batch and returns an empty one. Its lists are of one field; the last may
	// continue. end marks the end of a piece.
	emit  func(b *batch, field base.FieldID, end bool) (*batch, error)
	turns *turns.Turns
	batch *batch
	field base.FieldID // of the lists in batch
	term  []byte       // of the current list
	part  listPart     // of the current list, in batch
	// Counts of the current piece.
	piecePostings, pieceLists int
}

func (m *merger) run(ctx context.Context, sources []Source, maps []docMap) (err error) {
	inputs := make([]*mergeInput, 0, len(sources))
	defer func() {
		for _, in := range inputs {
			if e := in.Close(); err == nil {
				err = e
			}
		}
	}()
	for i, s := range sources {
		lists, err := s.Lists()
		if err != nil {
			return err
		}
		in := &mergeInput{ListIterator: lists, index: i, docs: &maps[i]}
		inputs = append(inputs, in)
		if err := m.push(in); err != nil {
			return err
		}
	}
	for n := 0; len(m.heap) > 0; n++ {
		if n%16 == 0 {
			m.turns.Pass()
		}
		if n%1024 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if err := m.mergeList(); err != nil {
			return err
		}
	}
	return m.endPiece()
}

func (m *merger) push(in *mergeInput) error {
	ok, err := in.next()
	if err != nil || !ok {
		return err
	}
	m.heap = append(m.heap, in)
	for i := len(m.heap) - 1; i > 0; {
		parent := (i - 1) / 2
		if !m.heap[i].before(m.heap[parent]) {
			break
		}
		m.heap[i], m.heap[parent] = m.heap[parent], m.heap[i]
		i = parent
	}
	return nil
}

func (m *merger) advance() error {
	top := m.heap[0]
	key, term := top.key, m.term
	ok, err := top.next()
	if err != nil {
		return err
	}
	if ok && (top.key < key || top.key == key && bytes.Compare(top.Term(), term) <= 0) {
		return fmt.Errorf("source %d: field %d: term %q after %q: not in order: %w", top.index, top.Field(), top.Term(), term, base.ErrBadInput)
	}
	if !ok {
		last := len(m.heap) - 1
		m.heap[0] = m.heap[last]
		m.heap = m.heap[:last]
	}
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(m.heap) {
			return nil
		}
		if child+1 < len(m.heap) && m.heap[child+1].before(m.heap[child]) {
			child++
		}
		if !m.heap[child].before(m.heap[i]) {
			return nil
		}
		m.heap[i], m.heap[child] = m.heap[child], m.heap[i]
		i = child
	}
}

// mergeList merges the lists of the smallest term, in the order of the sources.
func (m *merger) mergeList() error {
	top := m.heap[0]
	field, key := top.Field(), top.key
	if int(field) >= m.numFields {
		return fmt.Errorf("source %d: field %d of %d: %w", top.index, field, m.numFields, base.ErrBadInput)
	}
	if field != m.field {
		if err := m.endPiece(); err != nil {
			return err
		}
	}
	m.field, m.positions = field, m.positionsOf(field)
	m.term = append(m.term[:0], top.Term()...)
	m.batch.terms = append(m.batch.terms, m.term...)
	m.part = listPart{termLen: len(m.term)}
	for len(m.heap) > 0 {
		in := m.heap[0]
		if in.key != key || !bytes.Equal(in.Term(), m.term) {
			break
		}
		if err := m.copyPostings(in); err != nil {
			return fmt.Errorf("source %d: field %d: term %q: %w", in.index, field, m.term, err)
		}
		if err := m.advance(); err != nil {
			return err
		}
	}
	m.part.last = true
	m.batch.parts = append(m.batch.parts, m.part)
	m.pieceLists++
	if m.piecePostings >= piecePostings || m.pieceLists >= pieceLists {
		return m.endPiece()
	}
	if m.batch.full() {
		return m.flush(false)
	}
	return nil
}

func (m *merger) endPiece() error {
	if m.pieceLists == 0 {
		return nil
	}
	m.piecePostings, m.pieceLists = 0, 0
	return m.flush(true)
}

// flush hands over the batch; end means that the piece ends.
func (m *merger) flush(end bool) (err error) {
	m.batch, err = m.emit(m.batch, m.field, end)
	return err
}

func (m *merger) copyPostings(in *mergeInput) error {
	b := &m.block
	for {
		if err := in.ReadBlock(b); err != nil {
			return err
		}
		if b.N == 0 {
			return nil
		}
		if b.N < 0 || b.N > len(b.DocIDs) {
			return fmt.Errorf("block of %d postings: %w", b.N, base.ErrBadInput)
		}
		// postings.Writer checks the DocIDs before the last.
		if last := b.DocIDs[b.N-1]; int64(last) >= int64(in.docs.n) {
			return fmt.Errorf("DocID %d of %d: %w", last, in.docs.n, base.ErrBadInput)
		}
		if m.batch.full() {
			m.batch.parts = append(m.batch.parts, m.part)
			m.part = listPart{}
			if err := m.flush(false); err != nil {
				return err
			}
		}
		before := len(m.batch.docIDs)
		posBefore := len(m.batch.positions)
		if err := m.appendBlock(in.docs, b); err != nil {
			return err
		}
		m.part.numPostings += len(m.batch.docIDs) - before
		m.piecePostings += len(m.batch.docIDs) - before
		m.part.posBytes += len(m.batch.positions) - posBefore
	}
}

func (m *merger) appendBlock(docs *docMap, b *PostingBlock) error {
	out := m.batch
	if docs.table != nil {
		return m.appendKept(docs, b)
	}
	start := len(out.docIDs)
	out.docIDs = append(out.docIDs, b.DocIDs[:b.N]...)
	if docs.base != 0 {
		moved := out.docIDs[start:]
		for i := range moved {
			moved[i] += docs.base
		}
	}
	out.freqs = append(out.freqs, b.Freqs[:b.N]...)
	if m.positions {
		out.positions = append(out.positions, b.Positions...)
	}
	return nil
}

func (m *merger) appendKept(docs *docMap, b *PostingBlock) error {
	out, positions := m.batch, b.Positions
	for i, doc := range b.DocIDs[:b.N] {
		size := 0
		if m.positions {
			var ok bool
			if size, ok = postings.VbytesLen(positions, uint64(b.Freqs[i])); !ok {
				return fmt.Errorf("document %d: positions end early: %w", doc, base.ErrBadInput)
			}
		}
		if int(doc) >= len(docs.table) {
			return fmt.Errorf("DocID %d of %d: %w", doc, len(docs.table), base.ErrBadInput)
		}
		if moved := docs.table[doc]; moved != dropped {
			out.docIDs = append(out.docIDs, moved)
			out.freqs = append(out.freqs, b.Freqs[i])
			out.positions = append(out.positions, positions[:size]...)
		}
		positions = positions[size:]
	}
	if len(positions) > 0 && m.positions {
		return fmt.Errorf("%d bytes of positions too many: %w", len(positions), base.ErrBadInput)
	}
	return nil
}
