package collection

import (
	"strconv"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/segment"
)

type source struct {
	terms    []string // in byte order
	docFreqs []uint32 // by term
	lengths  []uint32 // by DocID
	chunks   []chunk
	prefix   string // of ids
	id       []byte
}

var _ segment.Source = (*source)(nil)

func (s *source) NumDocs() int { return len(s.lengths) }

// Nothing is dropped.
func (s *source) Dropped() *segment.Bitmap { return nil }

func (s *source) Lengths(field base.FieldID) []uint32 {
	if field != 0 {
		return nil
	}
	return s.lengths
}

// The collection's name and the DocID.
func (s *source) ID(doc int) []byte {
	s.id = append(append(s.id[:0], s.prefix...), '-')
	s.id = strconv.AppendInt(s.id, int64(doc), 10)
	return s.id
}

func (s *source) Order() ([]uint32, error) { return nil, nil }

// Nothing is stored.
func (s *source) Stored() (*segment.StoredReader, error) { return nil, nil }

func (s *source) Lists() (segment.ListIterator, error) {
	return &lists{source: s, term: -1}, nil
}

type lists struct {
	source *source
	term   int
	chunk  int    // current chunk
	run    []byte // rest of its run
	next   uint32 // DocID for a gap of 0
}

var _ segment.ListIterator = (*lists)(nil)

func (l *lists) Next() bool {
	for l.term++; l.term < len(l.source.terms); l.term++ {
		if l.source.docFreqs[l.term] > 0 {
			l.open(0)
			return true
		}
	}
	return false
}

func (l *lists) open(chunk int) {
	l.chunk, l.run, l.next = chunk, nil, uint32(chunk*chunkDocs)
	if chunk < len(l.source.chunks) {
		l.run = l.source.chunks[chunk].run(l.term)
	}
}

func (l *lists) Field() base.FieldID { return 0 }

func (l *lists) Term() []byte { return []byte(l.source.terms[l.term]) }

func (l *lists) DocFreq() int { return int(l.source.docFreqs[l.term]) }

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

func (l *lists) Err() error { return nil }

func (l *lists) Close() error { return nil }
