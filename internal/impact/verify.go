package impact

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/griffin-search/griffin/internal/base"
)

// Verify reads a whole file: checksums, then every list. Terms and DocIDs must increase,
// impacts decrease, segments be a Writer's encoding byte for byte, terms be in their slots, and
// counts be right. The error wraps base.ErrCorrupt and has the location. It takes at least 24
// bytes of memory per term, plus one list. progress, if not nil, gets bytes that add up to
// twice the file size.
func (x *Index) Verify(ctx context.Context, progress func(bytes int64)) error {
	if err := x.file.Verify(ctx, progress); err != nil {
		return err
	}
	v := verifier{Index: x}
	it := x.Lists()
	for it.Next() {
		if v.numTerms%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := v.verifyList(it); err != nil {
			return fmt.Errorf("%s: term %q: %w", x.file.Name(), it.Term(), err)
		}
		if progress != nil {
			progress(int64(it.next - it.at))
		}
	}
	if it.Err() != nil {
		return it.Err()
	}
	if err := v.verifyCounts(); err != nil {
		return fmt.Errorf("%s: %w", x.file.Name(), err)
	}
	if progress != nil {
		progress(x.file.SizeBytes() - int64(x.meta.ListBytes))
	}
	return nil
}

type verifier struct {
	*Index
	last                  []byte // previous term
	numTerms, numPostings uint64
	forms                 [numForms]FormStats
	segments              []Segment
	docIDs                []base.DocID
	seen                  []uint64 // bitmap of the list's documents
	places                []place
	plain                 []uint32 // DocIDs of a segment
	buf                   []byte
}

func (v *verifier) verifyList(it *ListIterator) (err error) {
	if v.numTerms > 0 && bytes.Compare(it.Term(), v.last) <= 0 {
		return fmt.Errorf("not after %q: %w", v.last, base.ErrCorrupt)
	}
	v.last = append(v.last[:0], it.Term()...)
	v.numTerms++
	l := it.List()
	v.numPostings += uint64(l.DocFreq)
	v.places = append(v.places, place{hash: xxh3.Hash(it.Term()), offset: it.at})
	if v.segments, err = l.AppendSegments(v.segments[:0]); err != nil {
		return err
	}
	if l.Max != v.segments[0].Impact {
		return fmt.Errorf("highest impact %d, but the list has %d: %w", v.segments[0].Impact, l.Max, base.ErrCorrupt)
	}
	if v.seen == nil {
		v.seen = make([]uint64, (v.meta.NumDocs+63)/64)
	}
	defer func() {
		for _, d := range v.docIDs {
			v.seen[d/64] = 0
		}
	}()
	v.docIDs = v.docIDs[:0]
	for i := range v.segments {
		s := &v.segments[i]
		from := len(v.docIDs)
		if v.docIDs, err = v.AppendDocIDs(v.docIDs, s); err != nil {
			v.docIDs = v.docIDs[:from]
			return err
		}
		for _, d := range v.docIDs[from:] {
			if v.seen[d/64]>>(d%64)&1 == 1 {
				return fmt.Errorf("impact %d: DocID %d has another impact too: %w", s.Impact, d, base.ErrCorrupt)
			}
			v.seen[d/64] |= 1 << (d % 64)
		}
		if err := v.encoding(s, v.docIDs[from:]); err != nil {
			return err
		}
		f := &v.forms[s.Form]
		f.Segments++
		f.Postings += uint64(s.Count)
		f.Bytes += uint64(len(s.Bytes))
	}
	return nil
}

// A segment must be the Writer's encoding, without hidden bits.
func (v *verifier) encoding(s *Segment, docIDs []base.DocID) error {
	if s.Form == Raw { // it has only one encoding
		return nil
	}
	v.plain = v.plain[:0]
	for _, d := range docIDs {
		v.plain = append(v.plain, uint32(d))
	}
	if s.Form == Bitmap {
		v.buf = appendBitmap(v.buf[:0], v.plain)
	} else {
		v.buf = appendBlocks(v.buf[:0], v.codec, v.plain)
	}
	if !bytes.Equal(v.buf, s.Bytes) {
		return fmt.Errorf("impact %d: not the encoding of its %d DocIDs: %w", s.Impact, s.Count, base.ErrCorrupt)
	}
	return nil
}

func (v *verifier) verifyCounts() error {
	m := &v.meta
	if v.numTerms != m.NumTerms || v.numPostings != m.NumPostings {
		return fmt.Errorf("%d terms, %d postings, but the description has %d and %d: %w",
			v.numTerms, v.numPostings, m.NumTerms, m.NumPostings, base.ErrCorrupt)
	}
	for form, want := range m.forms() {
		if v.forms[form] != *want {
			return fmt.Errorf("%s: %+v, but the description has %+v: %w", Form(form), v.forms[form], *want, base.ErrCorrupt)
		}
	}
	written, err := v.file.Range(v.table, m.TableBytes)
	if err != nil {
		return err
	}
	slots := table(v.places)
	if len(written) != slotBytes*len(slots) {
		return fmt.Errorf("table of %d bytes for %d terms: %w", len(written), m.NumTerms, base.ErrCorrupt)
	}
	for i, want := range slots {
		if got := binary.LittleEndian.Uint64(written[slotBytes*i:]); got != want {
			return fmt.Errorf("slot %d of the table of terms is %#x, not %#x: %w", i, got, want, base.ErrCorrupt)
		}
	}
	return nil
}
