package impact

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
)

// Verify reads the whole file: every checksum, then every list, and what must
// hold of them: terms and DocIDs in order, impacts within a list falling, each
// term found, the counts of the description. The error wraps base.ErrCorrupt and
// says where. progress, if not nil, is called with bytes as they are done, twice
// the size of the file in all.
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

// verifier is a call of Verify.
type verifier struct {
	*Index
	last                  []byte // term
	numTerms, numPostings uint64
	forms                 [numForms]FormStats
	segments              []Segment
	docIDs                []base.DocID
	seen                  []uint64 // bits of the list's documents
}

func (v *verifier) verifyList(it *ListIterator) (err error) {
	if v.numTerms > 0 && bytes.Compare(it.Term(), v.last) <= 0 {
		return fmt.Errorf("not after %q: %w", v.last, base.ErrCorrupt)
	}
	v.last = append(v.last[:0], it.Term()...)
	v.numTerms++
	l := it.List()
	v.numPostings += uint64(l.DocFreq)
	var found List
	if ok, err := v.Find(it.Term(), &found); err != nil {
		return err
	} else if !ok || found.DocFreq != l.DocFreq {
		return fmt.Errorf("the table does not lead to the list: %w", base.ErrCorrupt)
	}
	if v.segments, err = l.AppendSegments(v.segments[:0]); err != nil {
		return err
	}
	if l.Max != v.segments[0].Impact {
		return fmt.Errorf("highest impact %d, the list says %d: %w", v.segments[0].Impact, l.Max, base.ErrCorrupt)
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
		f := &v.forms[s.Form]
		f.Segments++
		f.Postings += uint64(s.Count)
		f.Bytes += uint64(len(s.Bytes))
	}
	return nil
}

// verifyCounts compares what was found with the description and the table.
func (v *verifier) verifyCounts() error {
	m := &v.meta
	if v.numTerms != m.NumTerms || v.numPostings != m.NumPostings {
		return fmt.Errorf("%d terms, %d postings, the description says %d and %d: %w",
			v.numTerms, v.numPostings, m.NumTerms, m.NumPostings, base.ErrCorrupt)
	}
	for form, want := range m.forms() {
		if v.forms[form] != *want {
			return fmt.Errorf("%s: %+v, the description says %+v: %w", Form(form), v.forms[form], *want, base.ErrCorrupt)
		}
	}
	table, err := v.file.Range(v.table, m.TableBytes)
	if err != nil {
		return err
	}
	used := uint64(0)
	for i := 0; i < len(table); i += slotBytes {
		if binary.LittleEndian.Uint64(table[i:]) != 0 {
			used++
		}
	}
	if used != m.NumTerms {
		return fmt.Errorf("table of %d lists for %d terms: %w", used, m.NumTerms, base.ErrCorrupt)
	}
	return nil
}
