package scoring

import (
	"fmt"
	"math"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/score"
)

// entryWords is the number of words of a directory entry, a postings.BlockEntry.
const entryWords = 4

// Term is a score.Term as kernels read it.
type Term struct {
	Weight, C0, C1 float32
	Linear         uint32 // 0 or 1
}

// NewTerm returns t as kernels read it.
func NewTerm(t score.Term) Term {
	n := Term{Weight: t.Weight, C0: t.C0, C1: t.C1}
	if t.Linear {
		n.Linear = 1
	}
	return n
}

// Freqs says where the frequencies of a list are.
type Freqs struct {
	plain, payload, directory cuda.Ptr[uint32]
	numPostings               uint32
	numPlaces                 uint32 // of a List: candidates that it has postings for; kernels do not read it
}

// PlainFreqs are frequencies in an array: that of posting i is freqs[i].
func PlainFreqs(freqs cuda.Buffer[uint32]) (Freqs, error) {
	if freqs.Len() == 0 || uint64(freqs.Len()) > 1<<32-1 {
		return Freqs{}, fmt.Errorf("%d frequencies: %w", freqs.Len(), ErrShape)
	}
	return Freqs{plain: freqs.Ptr(), numPostings: uint32(freqs.Len())}, nil
}

// PackedFreqs are frequencies as codec.SIMDBP has packed them, in a list as package
// decode takes it: payload is the list's blocks as they lie in the postings file, and
// directory has 4 words a block, a postings.BlockEntry, at an address that is a multiple
// of 16. It serves codecs that encode the DocIDs of a list as a whole as well, if they
// pack its frequencies so and the list has several blocks: there a block is its
// frequencies. Lists of one block of those codecs have their DocIDs before them, in
// widths that mean something else: their frequencies are decoded, for PlainFreqs.
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
	// DocIDs are those of the list's postings. Not needed for candidates.
	DocIDs cuda.Buffer[uint32]
	// Postings has the number of the posting of each candidate, below the number of the
	// list's. Where it is the zero Buffer, candidate i is posting i, as with the shortest
	// list before any intersection. Not used for accumulators.
	Postings cuda.Buffer[uint32]
	// Lengths holds the tokens of each document in the field of the list, by DocID. Not
	// needed if Term.Linear is set.
	Lengths cuda.Buffer[uint32]
}

// List is a Source as kernels read it. Lists of a query are copied to the device where
// a call takes a buffer of them.
type List struct {
	freqs                     Freqs
	docIDs, postings, lengths cuda.Ptr[uint32]
	term                      Term
}

// NewList returns a Source as kernels read it. The error wraps ErrShape if buffers do
// not fit together.
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

// NumPostings is the number of postings of the list.
func (l *List) NumPostings() int { return int(l.freqs.numPostings) }
