package collection

import (
	"context"
	"fmt"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/postings"
)

// forward is the source by documents, restricted to a vocabulary: document d has
// terms[starts[d]:starts[d+1]], with freqs. A term occurs once for each word that becomes it.
type forward struct {
	starts   []uint32 // [numDocs+1]
	terms    []uint32
	freqs    []uint8  // at most 255
	lengths  []uint32 // [numDocs] tokens of the whole document
	numTerms int
}

func (f *forward) numDocs() int { return len(f.lengths) }

func (f *forward) docFreqs() []uint32 {
	df := make([]uint32, f.numTerms)
	for _, t := range f.terms {
		df[t]++
	}
	return df
}

// The limit of starts.
const maxSourcePostings = 1<<32 - 1

// newForward reads the lists twice: to count, and to fill.
func newForward(ctx context.Context, source *index.Snapshot, v *vocabulary, progress func(done, total int64)) (*forward, error) {
	n := source.NumDocs
	f := &forward{starts: make([]uint32, n+1), numTerms: len(v.terms)}
	for i := range source.Segments {
		s := &source.Segments[i]
		if err := s.CheckLengths(0); err != nil {
			return nil, err
		}
		f.lengths = append(f.lengths, s.Lengths(0)...)
	}
	total := int64(0)
	steps := 2 * int64(len(v.words))
	count := func(_ uint32, docIDs, _ []uint32) {
		for _, d := range docIDs {
			f.starts[d+1]++
		}
		total += int64(len(docIDs))
	}
	if err := eachPosting(ctx, source, v.words, count, func(word int) { progress(int64(word), steps) }); err != nil {
		return nil, err
	}
	if total > maxSourcePostings {
		return nil, fmt.Errorf("the source has %d postings, the maximum is %d: %w", total, int64(maxSourcePostings), base.ErrBadInput)
	}
	for d := range n {
		f.starts[d+1] += f.starts[d]
	}
	f.terms = make([]uint32, total)
	f.freqs = make([]uint8, total)
	next := append([]uint32(nil), f.starts[:n]...)
	fill := func(t uint32, docIDs, freqs []uint32) {
		for i, d := range docIDs {
			at := next[d]
			f.terms[at], f.freqs[at] = t, uint8(min(freqs[i], 255))
			next[d] = at + 1
		}
	}
	err := eachPosting(ctx, source, v.words, fill, func(word int) { progress(int64(len(v.words)+word), steps) })
	return f, err
}

// eachPosting calls do with every block of every word, in order, for each of its terms. DocIDs
// are index-wide.
func eachPosting(ctx context.Context, source *index.Snapshot, words []word, do func(term uint32, docIDs, freqs []uint32), progress func(word int)) error {
	var docIDs, freqs [codec.BlockLen]uint32
	var l postings.List
	for w := range words {
		if w%256 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			progress(w)
		}
		for i := range source.Segments {
			s := &source.Segments[i]
			found, err := s.Find(0, []byte(words[w].text), &l)
			if err != nil {
				return err
			}
			if !found {
				continue
			}
			for b := range l.NumBlocks() {
				size, err := l.DecodeDocIDs(b, &docIDs)
				if err == nil {
					err = l.DecodeFreqs(b, size, &freqs)
				}
				if err != nil {
					return fmt.Errorf("term %q: %w", words[w].text, err)
				}
				n := l.BlockSize(b)
				for j := range docIDs[:n] {
					docIDs[j] += uint32(s.Base)
				}
				for _, term := range words[w].terms {
					do(term, docIDs[:n], freqs[:n])
				}
			}
		}
	}
	return nil
}
