package collection

import (
	"strconv"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/segment"
)

// source is a generated collection, to be written as a segment.
type source struct {
	terms    []string // in the order of their bytes
	docFreqs []uint32 // by term
	lengths  []uint32 // by DocID
	chunks   []chunk
	prefix   string // of ids
	id       []byte
}

var _ segment.Source = (*source)(nil)

// NumDocs implements segment.Source.
func (s *source) NumDocs() int { return len(s.lengths) }

// Dropped implements segment.Source: none is.
func (s *source) Dropped() *segment.Bitmap { return nil }

// Lengths implements segment.Source.
func (s *source) Lengths(field base.FieldID) []uint32 {
	if field != 0 {
		return nil
	}
	return s.lengths
}

// ID implements segment.Source: the name of the collection and the DocID.
func (s *source) ID(doc int) []byte {
	s.id = append(append(s.id[:0], s.prefix...), '-')
	s.id = strconv.AppendInt(s.id, int64(doc), 10)
	return s.id
}

// Stored implements segment.Source: there are none.
func (s *source) Stored() (*segment.StoredReader, error) { return nil, nil }

// Lists implements segment.Source.
func (s *source) Lists() (segment.ListIterator, error) {
	return &lists{source: s, term: -1}, nil
}

// lists iterates over the lists of a source that are not empty.
type lists struct {
	source *source
	term   int
	chunk  int    // at work
	run    []byte // what is left of it
	next   uint32 // DocID that a gap of 0 means
}

var _ segment.ListIterator = (*lists)(nil)

// Next implements segment.ListIterator.
func (l *lists) Next() bool {
	for l.term++; l.term < len(l.source.terms); l.term++ {
		if l.source.docFreqs[l.term] > 0 {
			l.open(0)
			return true
		}
	}
	return false
}

// open moves to the run of the term in a chunk.
func (l *lists) open(chunk int) {
	l.chunk, l.run, l.next = chunk, nil, uint32(chunk*chunkDocs)
	if chunk < len(l.source.chunks) {
		l.run = l.source.chunks[chunk].run(l.term)
	}
}

// Field implements segment.ListIterator.
func (l *lists) Field() base.FieldID { return 0 }

// Term implements segment.ListIterator.
func (l *lists) Term() []byte { return []byte(l.source.terms[l.term]) }

// DocFreq implements segment.ListIterator.
func (l *lists) DocFreq() int { return int(l.source.docFreqs[l.term]) }

// ReadBlock implements segment.ListIterator.
func (l *lists) ReadBlock(b *segment.PostingBlock) error {
	b.N, b.Positions = 0, nil
	for b.N < len(b.DocIDs) {
		for len(l.run) == 0 {
			if l.chunk >= len(l.source.chunks) {
				return nil
			}
			l.open(l.chunk + 1)
		}
		gap, freq, size := readPosting(l.run)
		l.run = l.run[size:]
		d := l.next + gap
		b.DocIDs[b.N], b.Freqs[b.N] = d, uint32(freq)
		l.next = d + 1
		b.N++
	}
	return nil
}

// Err implements segment.ListIterator.
func (l *lists) Err() error { return nil }

// Close implements segment.ListIterator.
func (l *lists) Close() error { return nil }
