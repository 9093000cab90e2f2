package interchange

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/griffin-search/griffin/ciff"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/segment"
)

// Source is a CIFF file as an input of segment.Write, all in the default field.
type Source struct {
	open    func() (io.ReadCloser, error)
	header  ciff.Header
	lengths []uint32
	ids     []byte // concatenated
	idEnds  []uint64
	// In order of the terms, if the file is unsorted.
	order []listPlace
}

var _ segment.Source = (*Source)(nil)

type listPlace struct {
	term   string
	offset int64
}

var errUnsorted = fmt.Errorf("its terms are not in order, so it needs random access, "+
	"which this input does not support: use a plain, uncompressed file: %w", base.ErrBadInput)

// NewSource reads and checks a whole CIFF file, and reads it again for the posting lists: open
// returns the file from its start each time. If terms are not in byte order, open must return
// an io.ReaderAt, and the terms are held in memory.
//
// The error wraps ciff.ErrInvalid if the file is invalid, base.ErrBadInput if it is valid but
// cannot be imported.
func NewSource(open func() (io.ReadCloser, error)) (s *Source, err error) {
	s = &Source{open: open}
	sorted := true
	err = s.readThrough(func(f io.Reader, r *ciff.Reader) error {
		s.header = r.Header()
		if sorted, err = checkLists(r); err != nil {
			return err
		}
		if _, ok := f.(io.ReaderAt); !ok && !sorted {
			return errUnsorted
		}
		return s.readDocs(r)
	})
	if err == nil && !sorted {
		err = s.readThrough(func(_ io.Reader, r *ciff.Reader) error { return s.sort(r) })
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (s *Source) readThrough(read func(io.Reader, *ciff.Reader) error) (err error) {
	f, err := s.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r, err := ciff.NewReader(f)
	if err != nil {
		return err
	}
	return read(f, r)
}

func checkLists(r *ciff.Reader) (sorted bool, err error) {
	var l ciff.PostingsList
	sorted = true
	last := ""
	for i := 0; ; i++ {
		if err := r.NextList(&l); errors.Is(err, io.EOF) {
			return sorted, nil
		} else if err != nil {
			return false, err
		}
		switch {
		case l.Term == "":
			return false, fmt.Errorf("posting list %d has the empty term: %w", i, base.ErrBadInput)
		case l.Term == last:
			return false, errTwice(l.Term)
		case l.Term < last:
			sorted = false
		}
		last = l.Term
	}
}

func errTwice(term string) error {
	return fmt.Errorf("two posting lists have the term %.80q: %w", term, base.ErrBadInput)
}

func (s *Source) sort(r *ciff.Reader) error {
	var l ciff.PostingsList
	for {
		offset := r.Offset()
		if err := r.NextList(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		s.order = append(s.order, listPlace{l.Term, offset})
	}
	base.Sort(s.order, func(a, b listPlace) int { return cmp.Compare(a.term, b.term) })
	for i := range s.order[1:] {
		if s.order[i].term == s.order[i+1].term {
			return errTwice(s.order[i].term)
		}
	}
	return nil
}

func (s *Source) readDocs(r *ciff.Reader) error {
	var d ciff.DocRecord
	for {
		if err := r.NextDoc(&d); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		s.lengths = append(s.lengths, uint32(d.DocLength))
		s.ids = append(s.ids, d.CollectionDocID...)
		s.idEnds = append(s.idEnds, uint64(len(s.ids)))
	}
}

// Header returns the header of the file.
func (s *Source) Header() ciff.Header { return s.header }

// NumDocs implements segment.Source.
func (s *Source) NumDocs() int { return len(s.lengths) }

// Dropped implements segment.Source: no document is dropped.
func (s *Source) Dropped() *segment.Bitmap { return nil }

// Lengths implements segment.Source. Fields other than the default one are empty.
func (s *Source) Lengths(field base.FieldID) []uint32 {
	if field != 0 {
		return make([]uint32, len(s.lengths))
	}
	return s.lengths
}

// ID implements segment.Source.
func (s *Source) ID(doc int) []byte {
	start := uint64(0)
	if doc > 0 {
		start = s.idEnds[doc-1]
	}
	return s.ids[start:s.idEnds[doc]]
}

// Order is the identity.
func (s *Source) Order() ([]uint32, error) { return nil, nil }

// Stored implements segment.Source: there are no stored documents.
func (s *Source) Stored() (*segment.StoredReader, error) { return nil, nil }

// Lists implements segment.Source.
func (s *Source) Lists() (segment.ListIterator, error) {
	f, err := s.open()
	if err != nil {
		return nil, err
	}
	r, err := ciff.NewReader(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	it := &lists{source: s, file: f, reader: r}
	if s.order != nil {
		at, ok := f.(io.ReaderAt)
		if !ok {
			return nil, errors.Join(errUnsorted, f.Close())
		}
		it.at = at
	}
	return it, nil
}

type lists struct {
	source *Source
	file   io.Closer
	reader *ciff.Reader
	at     io.ReaderAt // nil: the lists are sorted
	next   int         // in source.order
	list   ciff.PostingsList
	term   []byte
	read   int // postings of list already returned by ReadBlock
	err    error
}

var _ segment.ListIterator = (*lists)(nil)

func (it *lists) Next() bool {
	if it.err != nil {
		return false
	}
	var err error
	switch {
	case it.at == nil:
		err = it.reader.NextList(&it.list)
	case it.next == len(it.source.order):
		err = io.EOF
	default:
		err = it.reader.ReadListAt(it.at, it.source.order[it.next].offset, &it.list)
		it.next++
	}
	if err != nil {
		if !errors.Is(err, io.EOF) {
			it.err = err
		}
		return false
	}
	it.term = append(it.term[:0], it.list.Term...)
	it.read = 0
	return true
}

func (it *lists) Field() base.FieldID { return 0 }

func (it *lists) Term() []byte { return it.term }

func (it *lists) DocFreq() int { return len(it.list.Postings) }

func (it *lists) Err() error { return it.err }

func (it *lists) Close() error { return it.file.Close() }

func (it *lists) ReadBlock(b *segment.PostingBlock) error {
	b.Positions = nil
	b.N = min(len(it.list.Postings)-it.read, len(b.DocIDs))
	for i, p := range it.list.Postings[it.read : it.read+b.N] {
		b.DocIDs[i], b.Freqs[i] = uint32(p.DocID), uint32(p.TF)
	}
	it.read += b.N
	return nil
}
