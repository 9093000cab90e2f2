package scoring

import (
	"fmt"
	"math"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/score"
)

// Words of a directory entry, a postings.BlockEntry.
const entryWords = 4

// Term is a score.Term for kernels.
type Term struct {
	Weight, C0, C1 float32
	Linear         uint32 // 0 or 1
}

// NewTerm converts t to the kernels' layout.
func NewTerm(t score.Term) Term {
	n := Term{Weight: t.Weight, C0: t.C0, C1: t.C1}
	if t.Linear {
		n.Linear = 1
	}
	return n
}

// Freqs locates the frequencies of a list.
type Freqs struct {
	plain, payload, directory cuda.Ptr[uint32]
	numPostings               uint32
	numPlaces                 uint32 // for NewList: candidates with postings; kernels do not read it
}

// PlainFreqs are in an array: posting i has freqs[i].
func PlainFreqs(freqs cuda.Buffer[uint32]) (Freqs, error) {
	if freqs.Len() == 0 || uint64(freqs.Len()) > 1<<32-1 {
		return Freqs{}, fmt.Errorf("%d frequencies: %w", freqs.Len(), ErrShape)
	}
	return Freqs{plain: freqs.Ptr(), numPostings: uint32(freqs.Len())}, nil
}

// PackedFreqs are packed by codec.SIMDBP: payload has the list's blocks as in
// the postings file; directory has 4 words per block, a postings.BlockEntry,
// 16-byte aligned. It also serves codecs that encode the DocIDs of a list as
// one sequence, if they pack frequencies in the same way and the list has
// several blocks. Lists of one block of those codecs have DocIDs before the
// frequencies, with other width bytes: decode their frequencies and use
// PlainFreqs.
func PackedFreqs(payload, directory cuda.Buffer[uint32], numPostings int) (Freqs, error) {
	blocks := (numPostings + codec.BlockLen - 1) / codec.BlockLen
	if numPostings < 1 || uint64(numPostings) > 1<<32-1 || directory.Len() < entryWords*blocks || directory.Ptr()%16 != 0 {
		return Freqs{}, fmt.Errorf("%d postings with a directory of %d words at %#x: %w", numPostings, directory.Len(), directory.Ptr(), ErrShape)
	}
	return Freqs{payload: payload.Ptr(), directory: directory.Ptr(), numPostings: uint32(numPostings)}, nil
}

// Source is one term of a query, in device memory.
type Source struct {
	Term  score.Term
	Freqs Freqs
	// Not needed for candidates.
	DocIDs cuda.Buffer[uint32]
	// Index of each candidate's posting, below the number of postings. Zero:
	// candidate i is posting i, as for the shortest list before any intersection.
	// Not used for accumulators.
	Postings cuda.Buffer[uint32]
	// Tokens of each document in the list's field, by DocID. Not needed if
	// Term.Linear is set.
	Lengths cuda.Buffer[uint32]
}

// List is a Source for kernels. For calls that take a buffer of lists, the
// caller copies them to the device.
type List struct {
	freqs                     Freqs
	docIDs, postings, lengths cuda.Ptr[uint32]
	term                      Term
}

// NewList converts a Source. The error wraps ErrShape if buffers do not fit
// together.
func NewList(s Source) (List, error) {
	n := int(s.Freqs.numPostings)
	switch {
	case n == 0:
		return List{}, fmt.Errorf("a list without frequencies: %w", ErrShape)
	case s.DocIDs.Len() != 0 && s.DocIDs.Len() < n:
		return List{}, fmt.Errorf("%d DocIDs of %d postings: %w", s.DocIDs.Len(), n, ErrShape)
	case s.Lengths.Len() == 0 && !s.Term.Linear:
		return List{}, fmt.Errorf("no lengths of documents: %w", ErrShape)
	}
	freqs := s.Freqs
	freqs.numPlaces = freqs.numPostings
	if !s.Postings.IsZero() {
		freqs.numPlaces = uint32(min(s.Postings.Len(), math.MaxUint32))
	}
	return List{
		freqs: freqs, docIDs: s.DocIDs.Ptr(), postings: s.Postings.Ptr(), lengths: s.Lengths.Ptr(),
		term: NewTerm(s.Term),
	}, nil
}

// NumPostings returns the number of postings of the list.
func (l *List) NumPostings() int { return int(l.freqs.numPostings) }
