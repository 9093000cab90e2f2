package imagesearch

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/leg"
)

// MaxK is the maximum K of a query. Devices with little shared memory have a lower one (ErrUnsuited).
const MaxK = 10_000

// MaxTerms is the maximum number of terms of a query.
const MaxTerms = 512

// Mode selects the documents that match.
type Mode uint8

// Matching documents contain any (Or) or all (And) of the terms.
const (
	Or Mode = iota
	And
)

// Segment is a segment in device memory.
type Segment struct {
	NumDocs int
	// Added to the DocIDs of hits.
	Base base.DocID
	// A bitmap, [ceil(NumDocs/32)]uint32: bit d%32 of word d/32 is set if document d is not
	// deleted. Zero: all are live.
	Live cuda.Buffer[uint32]
}

// Term is a term of a query in a segment.
type Term struct {
	// Leg has the weight of the term. Its Scale converts the bounds of the image's Shape
	// into scores. Its List may be nil; only its Kth are used, and only if no document is
	// deleted or filtered.
	leg.Leg
	Image Image
	// Document lengths in the list's field, in tokens: [NumDocs]uint32. Not read if the
	// leg's Term is linear.
	Lengths cuda.Buffer[uint32]
}

// Query is a flat query over one segment, which Add does not keep.
type Query struct {
	Mode Mode
	// At most MaxK. 0: documents are not scored.
	K     int
	Count bool
	// At most MaxTerms, in any order, without terms that the segment does not have; an And
	// query with such a term has no matches.
	Terms []Term
	// Parts narrow the documents.
	Parts
	// Filter, if not zero, is a bitmap as Segment.Live of the documents that may match, of
	// FilterWords words.
	Filter cuda.Buffer[uint32]
	// A score that at least K documents of the search reach, 0 if unknown. Lower
	// scores are omitted.
	Threshold base.Score
}

// Parts of a query, if there are any, are for queries that are not wide.
type Parts struct {
	// Required has bit i set if a document must have term i of an Or query of up to 32 terms, and Clauses, at most
	// MaxClauses, are sets of such bits: a document must have a term of each.
	Required uint32
	Clauses  []uint32
	// Excluded are terms whose documents do not match. Of them only the images are used.
	Excluded []Term
}

// Limits of a query with Required or Clauses: MaxPartTerms of its terms, and MaxClauses of Clauses.
const (
	MaxPartTerms = 32
	MaxClauses   = 30
)

func (p *Parts) some() bool { return p.narrowsTerms() || len(p.Excluded) > 0 }

func (p *Parts) narrowsTerms() bool { return p.Required != 0 || len(p.Clauses) > 0 }

// asParts reports whether kernels for Parts answer the query. They also answer queries with a filter on packed lists, which
// have no kernels of their own.
func (q *Query) asParts() bool {
	packs := func(t Term) bool { return t.Image.kind == packed }
	return q.some() || !q.Filter.IsZero() && slices.ContainsFunc(q.Terms, packs)
}

// slots is the number of termParams: as Parts, these are partWords and the excluded terms, too.
func (q *Query) slots() int {
	if !q.asParts() {
		return len(q.Terms)
	}
	return 1 + len(q.Terms) + len(q.Excluded)
}

// FilterWords is the length of a filter: whole quads of 128 documents, which kernels read. The bits
// behind the last document are not used.
func FilterWords(numDocs int) int { return (numDocs + 127) / 128 * 4 }

// Errors of Add, after which the batch is unchanged.
var (
	// ErrFull: the batch has no room for the query; another batch has.
	ErrFull = errors.New("batch is full")
	// ErrUnsuited: the query has too many terms or hits, or its scores can exceed MaxScore.
	// The CPU can answer it.
	ErrUnsuited = errors.New("query is not suited to the GPU's kernels")
)

// MaxDocs is the maximum number of documents of a segment. It leaves room for kernels to
// count some superblocks, or a posting per thread, past the end.
const MaxDocs = 1<<32 - 1<<16

// MaxScore is the maximum score in a segment: a hit's 64-bit key holds its DocID and its
// score (key.cuh).
func MaxScore(numDocs int) base.Score {
	return 1<<(64-bits.Len(uint(numDocs))) - 1
}

// check's error wraps base.ErrBadInput or ErrUnsuited.
func (q *Query) check(seg *Segment) (w width, err error) {
	switch {
	case q.K < 0 || len(q.Terms) == 0:
		return w, fmt.Errorf("k %d, %d terms: %w", q.K, len(q.Terms), base.ErrBadInput)
	case q.K > MaxK:
		return w, fmt.Errorf("%d hits: %w", q.K, ErrUnsuited)
	case q.slots() > MaxTerms:
		return w, fmt.Errorf("%d terms: %w", len(q.Terms)+len(q.Excluded), ErrUnsuited)
	}
	if err := q.checkParts(); err != nil {
		return w, err
	}
	if err := q.checkSegment(seg); err != nil {
		return w, err
	}
	sum := uint64(0)
	for i := range q.Terms {
		t := &q.Terms[i]
		if !t.Term.Linear && t.Lengths.Len() < seg.NumDocs {
			return w, fmt.Errorf("term %d: %d lengths of %d documents: %w", i, t.Lengths.Len(), seg.NumDocs, base.ErrBadInput)
		}
		if t.Term.Linear != t.Image.shape.Saturation.Linear {
			return w, fmt.Errorf("term %d: weights and frequencies mixed up: %w", i, base.ErrBadInput)
		}
		sum += t.most(0)
	}
	switch {
	case sum <= math.MaxUint32:
		return width{}, nil
	case q.some():
		return w, fmt.Errorf("scores of up to %d or more, with parts: %w", sum, ErrUnsuited)
	}
	return q.width(seg)
}

// checkParts' error wraps base.ErrBadInput or ErrUnsuited.
func (q *Query) checkParts() error {
	if !q.narrowsTerms() {
		return nil
	}
	if len(q.Terms) > MaxPartTerms || len(q.Clauses) > MaxClauses {
		return fmt.Errorf("%d terms and %d clauses: %w", len(q.Terms), len(q.Clauses), ErrUnsuited)
	}
	all := q.Required
	for _, c := range q.Clauses {
		if all |= c; c == 0 {
			return fmt.Errorf("an empty clause: %w", base.ErrBadInput)
		}
	}
	if q.Mode == And || uint64(all)>>len(q.Terms) != 0 {
		return fmt.Errorf("required terms %b of %d, mode %d: %w", all, len(q.Terms), q.Mode, base.ErrBadInput)
	}
	return nil
}

// checkSegment's error wraps base.ErrBadInput or ErrUnsuited.
func (q *Query) checkSegment(seg *Segment) error {
	switch {
	case q.Mode > And:
		return fmt.Errorf("mode %d: %w", q.Mode, base.ErrBadInput)
	case int64(seg.NumDocs) > MaxDocs:
		return fmt.Errorf("%d documents: %w", seg.NumDocs, ErrUnsuited)
	case !seg.Live.IsZero() && seg.Live.Len() < (seg.NumDocs+31)/32:
		return fmt.Errorf("bitmap of %d words for %d documents: %w", seg.Live.Len(), seg.NumDocs, base.ErrBadInput)
	case !q.Filter.IsZero() && (q.Filter.Len() < FilterWords(seg.NumDocs) || q.Filter.Ptr()%16 != 0):
		return fmt.Errorf("filter of %d words for %d documents: %w", q.Filter.Len(), seg.NumDocs, base.ErrBadInput)
	}
	for _, terms := range [...][]Term{q.Terms, q.Excluded} {
		for i := range terms {
			m := &terms[i].Image
			if m.shape.NumDocs != seg.NumDocs || m.data == 0 {
				return fmt.Errorf("term %d: image of a segment of %d documents, not %d: %w", i, m.shape.NumDocs, seg.NumDocs, base.ErrBadInput)
			}
		}
	}
	return nil
}

// width is the representation of a query's scores. Zero: narrow; bounds and scores are below
// 2^32. Otherwise wide (key.cuh).
type width struct {
	keyShift uint // bits of a key that hold the DocID
	shift    uint // bounds are in units of 2^shift
}

func (w width) wide() bool { return w.keyShift > 0 }

// width returns the minimum shift for bounds below 2^32.
func (q *Query) width(seg *Segment) (w width, err error) {
	w.keyShift = uint(bits.Len(uint(seg.NumDocs)))
	sum := uint64(0)
	for i := range q.Terms {
		t := &q.Terms[i]
		most := uint64(t.Scale.Upper(t.Image.shape.Max))
		if sum += most; most > math.MaxUint32 || base.Score(sum) > MaxScore(seg.NumDocs) {
			return width{}, fmt.Errorf("scores of up to %d or more: %w", sum, ErrUnsuited)
		}
	}
	for most := uint64(math.MaxUint64); most > math.MaxUint32; {
		w.shift++
		most = 0
		for i := range q.Terms {
			most += q.Terms[i].most(w.shift)
		}
	}
	return w, nil
}

// most is the maximum that the term adds to the bound of a range, in units of 2^shift: 255
// steps; twice that for a sparse list, because a range counts twice if a group of 32 postings
// ends inside it.
func (t *Term) most(shift uint) uint64 {
	most := t.step(shift) * math.MaxUint8
	if t.Image.kind == sparse {
		most *= 2
	}
	return most
}

// step is an upper bound of a step of the image's 8-bit contributions, in units of 2^shift: a
// posting of s steps has a Score of at most s*step<<shift.
//
// The saturation b of a posting is at most s/255 of the unit, and its contribution at most
// up*b + 1 (score.Scale), where Upper(unit) > up*unit. So s*Upper(unit)/255 is too small by at
// most 1.
func (t *Term) step(shift uint) uint64 {
	step := (uint64(t.Scale.Upper(t.Image.unit))+math.MaxUint8-1)/math.MaxUint8 + 1
	return (step + 1<<shift - 1) >> shift
}

// threshold returns a score that at least q.K live documents reach, in units of 2^shift,
// rounded down.
func (q *Query) threshold(seg *Segment, shift uint) uint32 {
	theta := q.Threshold
	if q.Mode != And && seg.Live.IsZero() && q.Filter.IsZero() && !q.some() {
		for i := range q.Terms {
			theta = max(theta, q.Terms[i].KthScore(q.K))
		}
	}
	return narrow(theta, shift)
}

// narrow rounds down.
func narrow(theta base.Score, shift uint) uint32 { return uint32(min(theta>>shift, math.MaxUint32)) }
