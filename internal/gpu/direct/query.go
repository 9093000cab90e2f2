package direct

import (
	"errors"
	"fmt"
	"math"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/fastpath"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
)

// MaxK is the greatest K of a query.
const MaxK = fastpath.MaxK

// MaxLists is the greatest number of lists of a query: they travel with the launch.
const MaxLists = 40

// ErrUnsuited says that the kernels cannot answer the query (too many lists, hits or
// documents, or scores that may pass 32 bits): the CPU can.
var ErrUnsuited = fastpath.ErrUnsuited

// ErrCodec says that a list's codec is not one that this package decodes.
var ErrCodec = errors.New("direct: lists must be encoded with simdbp")

// Supported returns nil if lists of the codec can be searched where they lie, and else
// an error that wraps ErrCodec.
func Supported(c codec.Codec) error {
	if _, ok := c.(codec.SIMDBP); ok {
		return nil
	}
	if c == nil {
		return fmt.Errorf("no codec: %w", ErrCodec)
	}
	return fmt.Errorf("codec %s: %w", c.Name(), ErrCodec)
}

// List is one term of a query: a compressed list of a segment, with what scores it. The
// memory is the caller's, and stays as it is until the query has ended.
type List struct {
	// Payload is the address for the device of the list's blocks as they lie in the
	// postings file, in device memory or mapped page-locked host memory: a multiple
	// of 16. What is behind the last block up to a multiple of 16 can be read, too.
	Payload cuda.Ptr[uint32]
	// Directory is the address of the list's directory, decode.EntryWords words for
	// each block, a multiple of 16; of a list of one block, the entry that its Meta
	// has (postings.List.Block), with the offset 0.
	Directory cuda.Ptr[uint32]
	// DirectoryOnHost says that Directory is in host memory: it is copied to device
	// memory before the search, by one more launch. Directories are searched by loads
	// that wait for each other, and are worth the device memory, an eighth of a byte
	// a posting, before anything else of a list is.
	DirectoryOnHost bool
	// NumBlocks and DocFreq are the list's, at least 1.
	NumBlocks, DocFreq uint32

	// Lengths holds the tokens of each document in the field of the list, in device
	// memory: [NumDocs]uint32. Not read if Score is linear.
	Lengths cuda.Ptr[uint32]
	Score   score.Term
	// Scale turns the list's bounds, Max, Kth and those of the directory, into scores
	// of Score.
	Scale score.Scale
	Max   score.Bound
	// Kth are the list's (postings.Meta), 0 where they are not known or were made for
	// another Saturation. Used only for queries of any list, if nothing is deleted.
	Kth [len(postings.Kth)]score.Bound
}

// Candidates are documents that match so far, by rising DocID of the segment, with the
// sums of their contributions so far. DocIDs and Scores are of the same length.
type Candidates struct {
	DocIDs, Scores []uint32
}

// Query is a flat query over one segment. Start does not keep it.
type Query struct {
	// Conjunctive says that documents must be in all lists; else in any.
	Conjunctive bool
	// K is how many hits are wanted, at most MaxK. 0: none; a Conjunctive query then
	// gives candidates, to a Run that is given room for them.
	K int
	// Count asks for the number of documents that match.
	Count bool
	// Threshold is a score that at least K documents of the search are known to reach,
	// 0 if none is: documents that score less may be left out of the hits.
	Threshold base.Score
	// Lists are at least one and at most MaxLists; of a Conjunctive query by rising
	// DocFreq, which is the least work.
	Lists []List
	// From, of a Conjunctive query, are the candidates to begin with; nil: all
	// documents. They are copied by Start. Those that are deleted drop out.
	From *Candidates
}

// Stats counts the work of a query.
type Stats struct {
	Blocks int64 // blocks that were decoded, some more than once
	Bytes  int64 // that were read of payloads for them
	Ranges int64 // of DocIDs, or groups of candidates, that were worth a look
}

// check returns what is wrong with a query, or keeps it off the GPU, and else a score
// that no document exceeds.
func (q *Query) check(seg *fastpath.Segment) (most base.Score, err error) {
	switch {
	case q.K < 0 || len(q.Lists) == 0 || seg.NumDocs <= 0:
		return 0, fmt.Errorf("k %d, %d lists, %d documents: %w", q.K, len(q.Lists), seg.NumDocs, base.ErrBadInput)
	case q.K > MaxK:
		return 0, fmt.Errorf("%d hits: %w", q.K, ErrUnsuited)
	case int64(seg.NumDocs) > fastpath.MaxDocs:
		return 0, fmt.Errorf("%d documents: %w", seg.NumDocs, ErrUnsuited)
	case len(q.Lists) > MaxLists:
		return 0, fmt.Errorf("%d lists: %w", len(q.Lists), ErrUnsuited)
	case q.From != nil && !q.Conjunctive:
		return 0, fmt.Errorf("candidates of a query of any list: %w", base.ErrBadInput)
	case q.K == 0 && !q.Count && !q.Conjunctive:
		return 0, fmt.Errorf("neither hits nor a count of a query of any list: %w", base.ErrBadInput)
	case !seg.Live.IsZero() && seg.Live.Len() < (seg.NumDocs+31)/32:
		return 0, fmt.Errorf("bitmap of %d words for %d documents: %w", seg.Live.Len(), seg.NumDocs, base.ErrBadInput)
	}
	if most, err = q.checkFrom(seg); err != nil {
		return 0, err
	}
	for i := range q.Lists {
		l := &q.Lists[i]
		if err := l.check(seg); err != nil {
			return 0, fmt.Errorf("list %d: %w", i, err)
		}
		most += l.Scale.Upper(l.Max)
		if most > math.MaxUint32 {
			return 0, fmt.Errorf("scores of up to 2^32 or more: %w", ErrUnsuited)
		}
	}
	return most, nil
}

// checkFrom returns the greatest score of the candidates that a query begins with.
func (q *Query) checkFrom(seg *fastpath.Segment) (most base.Score, err error) {
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

func (l *List) check(seg *fastpath.Segment) error {
	switch {
	case l.DocFreq == 0 || int64(l.DocFreq) > int64(seg.NumDocs) || l.NumBlocks != (l.DocFreq+codec.BlockLen-1)/codec.BlockLen:
		return fmt.Errorf("%d postings in %d blocks of %d documents: %w", l.DocFreq, l.NumBlocks, seg.NumDocs, base.ErrBadInput)
	case l.Payload == 0 || l.Directory == 0 || l.Payload%16 != 0 || l.Directory%16 != 0:
		return fmt.Errorf("payload at %#x, directory at %#x: %w", l.Payload, l.Directory, base.ErrBadInput)
	case l.Lengths == 0 && !l.Score.Linear:
		return fmt.Errorf("no lengths: %w", base.ErrBadInput)
	case l.Max == 0:
		return fmt.Errorf("no posting has a contribution: %w", base.ErrBadInput)
	}
	return nil
}

// threshold is a score that at least K documents reach.
func (q *Query) threshold(seg *fastpath.Segment) uint32 {
	theta := q.Threshold
	if !q.Conjunctive && seg.Live.IsZero() {
		for i := range q.Lists {
			theta = max(theta, q.Lists[i].kthScore(q.K))
		}
	}
	return uint32(min(theta, math.MaxUint32))
}

// kthScore is a score that k documents reach by this list alone, or 0.
func (l *List) kthScore(k int) base.Score {
	for i, n := range postings.Kth {
		if n >= k && l.Kth[i] > 0 {
			return l.Scale.Lower(l.Kth[i])
		}
	}
	return 0
}
