package interchange

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/griffin-search/griffin/ciff"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/segment"
)

// Part is one segment of an index to export.
type Part struct {
	Segment *segment.Segment
	Live    *segment.Bitmap // documents that are not deleted; nil: all
}

// ExportOptions configure Export.
type ExportOptions struct {
	Description string
	// Progress, if not nil, is called from time to time with the number of posting lists
	// written and the total number.
	Progress func(done, total int64)
}

// Export writes the live documents of the parts, in order, as one CIFF file, numbered from 0
// without gaps. It has the lists of the default field, in byte order of their terms, except
// lists with only deleted documents. The same parts give the same bytes.
//
// The error wraps base.ErrCorrupt if a segment is damaged, base.ErrBadInput or ciff.ErrInvalid
// if CIFF cannot represent the index (2^31 documents, terms that are not UTF-8), ctx's error,
// or w's error. The output is then invalid.
func Export(ctx context.Context, w io.Writer, parts []Part, opts ExportOptions) (ciff.Header, error) {
	e := &exporter{ctx: ctx, opts: opts}
	for _, p := range parts {
		if err := e.addPart(p); err != nil {
			return ciff.Header{}, err
		}
	}
	if e.numDocs > math.MaxInt32 || e.numTokens > math.MaxInt64 {
		return ciff.Header{}, fmt.Errorf("%d documents of %d tokens are more than CIFF can hold: %w", e.numDocs, e.numTokens, base.ErrBadInput)
	}
	numLists := int64(0)
	if err := e.merge(true, func([]byte) error { numLists++; return nil }); err != nil {
		return ciff.Header{}, err
	}
	if numLists > math.MaxInt32 {
		return ciff.Header{}, fmt.Errorf("%d terms are more than CIFF can hold: %w", numLists, base.ErrBadInput)
	}
	h := ciff.Header{
		Version:          ciff.Version,
		NumPostingsLists: int32(numLists), TotalPostingsLists: int32(numLists),
		NumDocs: int32(e.numDocs), TotalDocs: int32(e.numDocs),
		TotalTermsInCollection: int64(e.numTokens),
		Description:            opts.Description,
	}
	if e.numDocs > 0 {
		h.AverageDocLength = float64(e.numTokens) / float64(e.numDocs)
	}
	return h, e.write(w, h)
}

type exporter struct {
	ctx       context.Context
	opts      ExportOptions
	parts     []exportPart
	numDocs   uint64 // live, of all parts
	numTokens uint64
	list      ciff.PostingsList // current list
}

type exportPart struct {
	Part
	source segment.Source
	// newID has the new number of each live document, -1 for the others; nil: it is first +
	// document.
	newID []int32
	first int32

	lists segment.ListIterator
	more  bool
}

func (e *exporter) addPart(p Part) error {
	source, err := p.Segment.Source(nil)
	if err != nil {
		return err
	}
	n := p.Segment.NumDocs()
	part := exportPart{Part: p, source: source, first: int32(min(e.numDocs, math.MaxInt32))}
	if p.Live != nil {
		if p.Live.Len() != n {
			return fmt.Errorf("live set over %d documents of a segment of %d: %w", p.Live.Len(), n, base.ErrBadInput)
		}
		part.newID = make([]int32, n)
	}
	lengths := source.Lengths(0)
	for doc := range n {
		if p.Live != nil && !p.Live.Has(doc) {
			part.newID[doc] = -1
			continue
		}
		if part.newID != nil {
			part.newID[doc] = int32(min(e.numDocs, math.MaxInt32))
		}
		if lengths[doc] > math.MaxInt32 {
			return fmt.Errorf("document %q has %d tokens, more than CIFF can hold: %w", source.ID(doc), lengths[doc], base.ErrBadInput)
		}
		e.numDocs++
		e.numTokens += uint64(lengths[doc])
	}
	e.parts = append(e.parts, part)
	return nil
}

// merge calls f for each term with live documents, in order. With countOnly it does not fill
// e.list.
func (e *exporter) merge(countOnly bool, f func(term []byte) error) (err error) {
	defer func() {
		for i := range e.parts {
			if it := e.parts[i].lists; it != nil {
				err = errors.Join(err, it.Close())
				e.parts[i].lists = nil
			}
		}
	}()
	for i := range e.parts {
		p := &e.parts[i]
		if p.lists, err = p.source.Lists(); err != nil {
			return err
		}
		if err := p.advance(); err != nil {
			return err
		}
	}
	var term []byte
	for e.smallest(&term) {
		if err := e.ctx.Err(); err != nil {
			return err
		}
		e.list.Postings = e.list.Postings[:0]
		live := false
		for i := range e.parts {
			p := &e.parts[i]
			if !p.more || !bytes.Equal(p.lists.Term(), term) {
				continue
			}
			switch {
			case countOnly && p.newID == nil:
				live = true
			case !countOnly || !live:
				if err := p.appendLive(&e.list); err != nil {
					return err
				}
			}
			if err := p.advance(); err != nil {
				return err
			}
		}
		if live || len(e.list.Postings) > 0 {
			if err := f(term); err != nil {
				return err
			}
		}
	}
	return nil
}

// smallest sets *term to the least current one, and returns false at the end.
func (e *exporter) smallest(term *[]byte) bool {
	var first []byte
	for i := range e.parts {
		if p := &e.parts[i]; p.more && (first == nil || bytes.Compare(p.lists.Term(), first) < 0) {
			first = p.lists.Term()
		}
	}
	*term = append((*term)[:0], first...)
	return first != nil
}

func (p *exportPart) advance() error {
	p.more = p.lists.Next() && p.lists.Field() == 0
	return p.lists.Err()
}

func (p *exportPart) appendLive(l *ciff.PostingsList) error {
	var b segment.PostingBlock
	for {
		if err := p.lists.ReadBlock(&b); err != nil {
			return err
		}
		if b.N == 0 {
			return nil
		}
		for i, doc := range b.DocIDs[:b.N] {
			id := p.first + int32(doc)
			if p.newID != nil {
				id = p.newID[doc]
			}
			if id < 0 {
				continue
			}
			if b.Freqs[i] > math.MaxInt32 {
				return fmt.Errorf("term %q: frequency %d is more than CIFF can hold: %w", p.lists.Term(), b.Freqs[i], base.ErrBadInput)
			}
			l.Postings = append(l.Postings, ciff.Posting{DocID: id, TF: int32(b.Freqs[i])})
		}
	}
}

func (e *exporter) write(w io.Writer, h ciff.Header) error {
	out, err := ciff.NewWriter(w, h)
	if err != nil {
		return err
	}
	const reportEvery = 1 << 12
	done := int64(0)
	err = e.merge(false, func(term []byte) error {
		e.list.Term = string(term)
		if done++; e.opts.Progress != nil && (done%reportEvery == 0 || done == int64(h.NumPostingsLists)) {
			e.opts.Progress(done, int64(h.NumPostingsLists))
		}
		return out.WriteList(&e.list)
	})
	if err != nil {
		return err
	}
	for i := range e.parts {
		if err := e.parts[i].writeDocs(out); err != nil {
			return err
		}
	}
	return out.Close()
}

func (p *exportPart) writeDocs(out *ciff.Writer) error {
	lengths := p.source.Lengths(0)
	for doc := range lengths {
		id := p.first + int32(doc)
		if p.newID != nil {
			id = p.newID[doc]
		}
		if id < 0 {
			continue
		}
		d := ciff.DocRecord{DocID: id, CollectionDocID: string(p.source.ID(doc)), DocLength: int32(lengths[doc])}
		if err := out.WriteDoc(&d); err != nil {
			return err
		}
	}
	return nil
}
