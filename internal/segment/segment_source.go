package segment

import (
	"context"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
)

type segmentSource struct {
	s       *Segment
	dropped *Bitmap
}

var (
	_ Source    = (*segmentSource)(nil)
	_ Versioned = (*segmentSource)(nil)
	_ Columned  = (*segmentSource)(nil)
)

// Source returns the segment without dropped documents (nil: none). It verifies ids and
// lengths, whose readers cannot report errors.
func (s *Segment) Source(dropped *Bitmap) (Source, error) {
	if dropped != nil && dropped.Len() != s.meta.NumDocs {
		return nil, fmt.Errorf("segment %s: dropped set over %d documents of %d: %w", s.dir, dropped.Len(), s.meta.NumDocs, base.ErrBadInput)
	}
	if err := s.ids.file.Verify(context.Background(), nil); err != nil {
		return nil, fmt.Errorf("segment %s: %w", s.dir, err)
	}
	if s.versions != nil {
		if err := s.versions.Verify(context.Background(), nil); err != nil {
			return nil, fmt.Errorf("segment %s: %w", s.dir, err)
		}
	}
	for f := range s.lengths {
		if err := s.CheckLengths(base.FieldID(f)); err != nil {
			return nil, err
		}
	}
	return &segmentSource{s: s, dropped: dropped}, nil
}

func (r *segmentSource) NumDocs() int     { return r.s.meta.NumDocs }
func (r *segmentSource) Dropped() *Bitmap { return r.dropped }

func (r *segmentSource) Lengths(field base.FieldID) []uint32 {
	if int(field) >= len(r.s.lengths) {
		return nil
	}
	return r.s.lengths[field].exact()
}

func (r *segmentSource) ID(doc int) []byte {
	id, _ := r.s.ids.id(uint64(doc)) // nil on an error: only in a malicious file, all checksums are valid
	return id
}

func (r *segmentSource) Order() ([]uint32, error) {
	if err := r.s.checkOrder(); err != nil {
		return nil, err
	}
	numbers, _, err := r.s.Written()
	return numbers, err
}

func (r *segmentSource) Stored() (*StoredReader, error) { return r.s.stored, nil }

func (r *segmentSource) Lists() (ListIterator, error) {
	return &segmentLists{s: r.s, terms: r.s.Terms(0, nil)}, nil
}

type segmentLists struct {
	s     *Segment
	field base.FieldID
	terms *TermIterator
	list  postings.List
	block int // next block
	err   error
}

var _ ListIterator = (*segmentLists)(nil)

func (it *segmentLists) Next() bool {
	for it.err == nil {
		if it.terms.Next() {
			it.open()
			return it.err == nil
		}
		if it.err = it.terms.Err(); it.err != nil || int(it.field)+1 >= len(it.s.meta.Fields) {
			return false
		}
		it.field++
		it.terms = it.s.Terms(it.field, nil)
	}
	return false
}

func (it *segmentLists) open() {
	m, err := it.terms.Meta()
	if err == nil {
		err = it.s.openList(it.field, &m, Positions, &it.list)
	}
	if err != nil {
		it.err = it.s.listError(it.field, it.terms.Term(), err)
	}
	it.block = 0
}

func (it *segmentLists) Field() base.FieldID { return it.field }
func (it *segmentLists) Term() []byte        { return it.terms.Term() }
func (it *segmentLists) DocFreq() int        { return int(it.list.DocFreq) }
func (it *segmentLists) Err() error          { return it.err }
func (it *segmentLists) Close() error        { return nil }

func (it *segmentLists) ReadBlock(b *PostingBlock) error {
	b.N, b.Positions = 0, nil
	if it.block >= it.list.NumBlocks() {
		return nil
	}
	size, err := it.list.DecodeDocIDs(it.block, &b.DocIDs)
	if err == nil {
		err = it.list.DecodeFreqs(it.block, size, &b.Freqs)
	}
	n := it.list.BlockSize(it.block)
	if err == nil && it.list.HasPositions() {
		b.Positions, err = it.blockPositions(b, n)
	}
	if err != nil {
		it.err = it.s.listError(it.field, it.terms.Term(), err)
		return it.err
	}
	b.N = n
	it.block++
	return nil
}

// Without trailing padding.
func (it *segmentLists) blockPositions(b *PostingBlock, n int) ([]byte, error) {
	src, err := it.list.PositionBytes(it.block)
	if err != nil {
		return nil, err
	}
	numPositions := uint64(0)
	for _, f := range b.Freqs[:n] {
		numPositions += uint64(f)
	}
	size, ok := postings.VbytesLen(src, numPositions)
	if !ok {
		return nil, fmt.Errorf("block %d: positions end early: %w", it.block, base.ErrCorrupt)
	}
	return src[:size], nil
}
