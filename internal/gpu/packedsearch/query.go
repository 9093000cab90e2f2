package packedsearch

import (
	"errors"
	"fmt"
	"math"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/leg"
)

// MaxK is the maximum K of a query.
const MaxK = 1000

// MaxLists is limited by the launch parameters.
const MaxLists = 40

// ErrUnsuited means that the query has too many lists, hits or documents, or scores that can exceed
// 32 bits. The CPU can answer it.
var ErrUnsuited = imagesearch.ErrUnsuited

// ErrCodec means that this package cannot decode the list's codec.
var ErrCodec = errors.New("packedsearch: lists must be encoded with simdbp")

// Supported returns an error that wraps ErrCodec if the codec is not supported.
func Supported(c codec.Codec) error {
	if _, ok := c.(codec.SIMDBP); ok {
		return nil
	}
	if c == nil {
		return fmt.Errorf("no codec: %w", ErrCodec)
	}
	return fmt.Errorf("codec %s: %w", c.Name(), ErrCodec)
}

// List is a term of a query: a leg and its compressed list, whose memory must not change until
// the query has ended.
type List struct {
	// Leg has a List with at least one posting. Its Kth are used only for queries of any
	// list, if no document is deleted or filtered.
	leg.Leg
	// The device address of the list's blocks, with the bytes of the postings file, in device
	// memory or mapped page-locked host memory: a multiple of 16. The memory must be readable
	// up to a multiple of 16 behind the last block.
	Payload cuda.Ptr[uint32]
	// The address of the list's directory, decode.EntryWords words per block: a multiple of
	// 16. For a list of one block, it is the entry in its Meta (postings.List.Block), with
	// the offset 0.
	Directory cuda.Ptr[uint32]
	// DirectoryOnHost: a further launch copies Directory from host to device memory first. A
	// directory is searched by dependent loads and takes an eighth of a byte per posting: keep
	// it in device memory before anything else of a list.
	DirectoryOnHost bool

	// Document lengths in the list's field, in tokens, in device memory:
	// [NumDocs]uint32. Not read if the leg's Term is linear.
	Lengths cuda.Ptr[uint32]
}

// Candidates match all lists intersected before, by rising DocID of the segment, with the
// sums of their contributions in Scores, of the same length.
type Candidates struct {
	DocIDs, Scores []uint32
}

// Query is a flat query over one segment, which Start does not keep.
type Query struct {
	// Matches are in all lists; otherwise in any.
	Conjunctive bool
	// At most MaxK. 0: no hits; a Conjunctive query then returns candidates, if
	// Run gets memory for them.
	K     int
	Count bool
	// A score that at least K documents of the search reach, 0 if unknown. Lower
	// scores may be omitted.
	Threshold base.Score
	// 1 to MaxLists lists. For a Conjunctive query, rising DocFreq is fastest.
	Lists []List
	// Initial candidates of a Conjunctive query, which Start copies; nil: all documents.
	// Deleted documents, and those that the filter excludes, are removed.
	From *Candidates
	// Filter, if not zero, is a bitmap as the segment's Live of the documents that may match.
	Filter cuda.Buffer[uint32]
}

// Stats counts the work of a query.
type Stats struct {
	Blocks int64 // decoded blocks, with repetitions
	Bytes  int64 // read payload bytes of these blocks
	Ranges int64 // searched ranges of DocIDs, or groups of candidates
}

// check returns an upper bound of all scores, or an error that wraps base.ErrBadInput or
// ErrUnsuited.
func (q *Query) check(seg *imagesearch.Segment) (most base.Score, err error) {
	switch {
	case q.K < 0 || len(q.Lists) == 0 || seg.NumDocs <= 0:
		return 0, fmt.Errorf("k %d, %d lists, %d documents: %w", q.K, len(q.Lists), seg.NumDocs, base.ErrBadInput)
	case q.K > MaxK:
		return 0, fmt.Errorf("%d hits: %w", q.K, ErrUnsuited)
	case int64(seg.NumDocs) > imagesearch.MaxDocs:
		return 0, fmt.Errorf("%d documents: %w", seg.NumDocs, ErrUnsuited)
	case len(q.Lists) > MaxLists:
		return 0, fmt.Errorf("%d lists: %w", len(q.Lists), ErrUnsuited)
	case q.From != nil && !q.Conjunctive:
		return 0, fmt.Errorf("candidates of a query of any list: %w", base.ErrBadInput)
	case q.K == 0 && !q.Count && !q.Conjunctive:
		return 0, fmt.Errorf("neither hits nor a count of a query of any list: %w", base.ErrBadInput)
	case !seg.Live.IsZero() && seg.Live.Len() < (seg.NumDocs+31)/32:
		return 0, fmt.Errorf("bitmap of %d words for %d documents: %w", seg.Live.Len(), seg.NumDocs, base.ErrBadInput)
	case !q.Filter.IsZero() && q.Filter.Len() < (seg.NumDocs+31)/32:
		return 0, fmt.Errorf("filter of %d words for %d documents: %w", q.Filter.Len(), seg.NumDocs, base.ErrBadInput)
	}
	if most, err = q.checkFrom(seg); err != nil {
		return 0, err
	}
	for i := range q.Lists {
		l := &q.Lists[i]
		if err := l.check(seg); err != nil {
			return 0, fmt.Errorf("list %d: %w", i, err)
		}
		most += l.Scale.Upper(l.List.Max)
		if most > math.MaxUint32 {
			return 0, fmt.Errorf("scores of up to 2^32 or more: %w", ErrUnsuited)
		}
	}
	return most, nil
}

// checkFrom returns the greatest score of the initial candidates, or an error that wraps
// base.ErrBadInput unless they increase strictly below NumDocs.
func (q *Query) checkFrom(seg *imagesearch.Segment) (most base.Score, err error) {
	if q.From == nil {
		return 0, nil
	}
	docIDs, scores := q.From.DocIDs, q.From.Scores
	if len(docIDs) != len(scores) {
		return 0, fmt.Errorf("%d candidates with %d scores: %w", len(docIDs), len(scores), base.ErrBadInput)
	}
	last, greatest := int64(-1), uint32(0)
	for i, d := range docIDs {
		if int64(d) <= last {
			return 0, fmt.Errorf("candidate %d, %d, after %d: %w", i, d, last, base.ErrBadInput)
		}
		last, greatest = int64(d), max(greatest, scores[i])
	}
	if last >= int64(seg.NumDocs) {
		return 0, fmt.Errorf("candidate %d of %d documents: %w", last, seg.NumDocs, base.ErrBadInput)
	}
	return base.Score(greatest), nil
}

func (l *List) check(seg *imagesearch.Segment) error {
	switch {
	case l.List == nil || l.DocFreq() == 0 || int64(l.DocFreq()) > int64(seg.NumDocs):
		return fmt.Errorf("%d postings of %d documents: %w", l.DocFreq(), seg.NumDocs, base.ErrBadInput)
	case l.Payload == 0 || l.Directory == 0 || l.Payload%16 != 0 || l.Directory%16 != 0:
		return fmt.Errorf("payload at %#x, directory at %#x: %w", l.Payload, l.Directory, base.ErrBadInput)
	case l.Lengths == 0 && !l.Term.Linear:
		return fmt.Errorf("no lengths: %w", base.ErrBadInput)
	case l.List.Max == 0:
		return fmt.Errorf("no posting has a contribution: %w", base.ErrBadInput)
	}
	return nil
}

// threshold returns a score that at least K documents reach.
func (q *Query) threshold(seg *imagesearch.Segment) uint32 {
	theta := q.Threshold
	if !q.Conjunctive && seg.Live.IsZero() && q.Filter.IsZero() {
		for i := range q.Lists {
			theta = max(theta, q.Lists[i].KthScore(q.K))
		}
	}
	return uint32(min(theta, math.MaxUint32))
}
