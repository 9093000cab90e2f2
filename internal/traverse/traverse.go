package traverse

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/leg"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/topk"
)

// Mode selects the matching documents.
type Mode uint8

// Or and And match documents with any, or all, of the terms.
const (
	Or Mode = iota
	And
)

// String returns "or" or "and".
func (m Mode) String() string {
	if m == And {
		return "and"
	}
	return "or"
}

// Leg is one term of a query in one segment.
type Leg struct {
	leg.Leg // with a List, which may be empty
	// Bounds replaces the directory's bounds, and disables the list's Kth, if the search's K1
	// or B differ from the index's (postings.List.FrontierBounds); else nil.
	Bounds []score.Bound
	// Lengths holds each document's tokens in the list's field: [Query.NumDocs]uint32.
	Lengths []uint32
	// MaxScore bounds the contribution of each posting.
	MaxScore base.Score
	// Derived is the handle for cached structures of List; without it, each run that needs them
	// computes them.
	Derived derived.List
}

// Query is a flat query over one segment.
type Query struct {
	// Legs are the terms, in any order; traversals do not modify them.
	Legs    []Leg
	NumDocs int
	// Live has bit d%64 of word d/64 set if document d is not deleted. nil: all are live.
	Live []uint64
	// NumLive is the number of Live documents if it is known, else 0. With few of them, svs tests the documents of
	// the shortest list first.
	NumLive int
	// Docs, if not nil, are the documents of Live in rising order, below NumDocs. The traversal look-up then needs
	// no Live.
	Docs []uint32
	// Base is added to DocIDs in hits. Segments that share a queue are run in increasing order
	// of Base.
	Base base.DocID
	// Threshold is a score that at least k documents reach, or 0: documents with lower scores
	// are excluded, not ties.
	Threshold base.Score
	// From and To, if To is not 0, restrict the run to the documents in [From, To), for traversals that Split: both are
	// multiples of RangeDocs, or To is NumDocs. queue may then hold hits of other ranges, if it is unordered
	// or they are of documents before From.
	From, To base.DocID
}

// RangeDocs is the unit of ranges of documents: a multiple of the number of documents that a
// traversal processes together.
const RangeDocs = maxWindow / 2

// end is the first document after the range.
func (q *Query) end() base.DocID {
	if q.To > 0 {
		return q.To
	}
	return base.DocID(q.NumDocs)
}

// Splits reports whether a traversal runs in ranges of documents without much work for each, as those that Choose
// returns mostly do: merged-scores has too few postings.
func Splits(t Traversal, legs []Leg) bool {
	switch t.(type) {
	case svs, exhaustiveDAAT:
		return true
	case blockMaxMaxScore:
		return !gathers(legs)
	case blockMaxPruning:
		return rangesStay(legs)
	case windowedTAAT:
		return windowsStay(legs) || !slices.ContainsFunc(legs, func(l Leg) bool { return l.Term.Linear })
	}
	return false
}

// IsShort reports whether a traversal that Choose returned has too few postings for helpers to pay.
func IsShort(t Traversal) bool {
	_, is := t.(mergedScores)
	return is
}

// ScoresAll reports whether a traversal that Choose returned scores every posting.
func ScoresAll(t Traversal) bool {
	_, is := t.(windowedTAAT)
	return is
}

// Stats counts the work of runs.
type Stats struct {
	BlocksDecoded   int64 // blocks whose DocIDs were decoded
	BlocksSkipped   int64 // blocks whose DocIDs were not decoded; not counted in a range of documents
	PostingsDecoded int64 // postings of the decoded blocks
	PostingsScored  int64 // contributions computed
	Candidates      int64 // documents with a complete score
}

// Traversal is an algorithm for queries of one mode.
type Traversal interface {
	// Name is its name in the registry.
	Name() string
	// Mode is the mode that it answers.
	Mode() Mode
	// Run adds the segment's matching live documents to queue, or at least its best k. queue
	// may hold hits of documents below q.Base. It adds to s.Stats and does not allocate once s
	// has served a query of the same size.
	//
	// If stop ends the work, or a list is corrupt, it returns stop.Err() or an error that wraps
	// base.ErrCorrupt and names the leg; the queue then holds some hits.
	Run(stop Interrupt, s *Scratch, q *Query, queue *topk.Queue) error
}

// Interrupt ends work early; every context.Context is one.
type Interrupt interface {
	// Err returns an error, which traversals return, once the work has to end. One goroutine
	// calls it, at most every ten microseconds.
	Err() error
}

// The first of a mode is its default.
var traversals = []Traversal{
	blockMaxMaxScore{},
	svs{},
	listMaxScore{},
	wand{},
	blockMaxWand{},
	variableBlockMaxWand{},
	blockMaxPruning{},
	merge{},
	svsBinary{},
	svsGallop{},
	interpolation{},
	linearRegression{},
	newHashSegmentation(16),
	newHashSegmentation(32),
	newHashSegmentation(64),
	newHashSegmentation(128),
	newHashSegmentation(256),
	blockMaxAnd{},
	lookUp{Or},
	lookUp{And},
	mergedScores{},
	exhaustiveDAAT{Or},
	exhaustiveDAAT{And},
	windowedTAAT{},
	exhaustiveTAAT{Or},
	exhaustiveTAAT{And},
}

// Default returns the default traversal of a mode.
func Default(mode Mode) Traversal {
	for _, t := range traversals {
		if t.Mode() == mode {
			return t
		}
	}
	return nil // unreachable: every mode has one
}

// Named returns the traversal of a mode and name, and whether it exists.
func Named(mode Mode, name string) (Traversal, bool) {
	for _, t := range traversals {
		if t.Mode() == mode && t.Name() == name {
			return t, true
		}
	}
	return nil, false
}

// Lookup is Named with an error that wraps base.ErrBadInput and lists the valid names.
func Lookup(mode Mode, name string) (Traversal, error) {
	if t, ok := Named(mode, name); ok {
		return t, nil
	}
	return nil, fmt.Errorf("traversal %q for mode %s (there are: %s): %w", name, mode, strings.Join(Names(mode), ", "), base.ErrBadInput)
}

// Names returns a mode's traversals, sorted.
func Names(mode Mode) []string {
	var names []string
	for _, t := range traversals {
		if t.Mode() == mode {
			names = append(names, t.Name())
		}
	}
	slices.Sort(names)
	return names
}

// check returns an error if the query is invalid. Afterwards, every cursor's DocIDs are
// below q.NumDocs and valid indexes of Lengths.
func (q *Query) check() error {
	if q.Live != nil && len(q.Live)*64 < q.NumDocs {
		return fmt.Errorf("live bits for %d of %d documents: %w", len(q.Live)*64, q.NumDocs, base.ErrCorrupt)
	}
	for i := range q.Legs {
		leg := &q.Legs[i]
		if leg.List.DocFreq == 0 {
			continue
		}
		if last := leg.List.LastDocID(); int64(last) >= int64(q.NumDocs) {
			return fmt.Errorf("leg %d: list ends at DocID %d of %d documents: %w", i, last, q.NumDocs, base.ErrCorrupt)
		}
		if len(leg.Lengths) < q.NumDocs {
			return fmt.Errorf("leg %d: lengths of %d documents of %d: %w", i, len(leg.Lengths), q.NumDocs, base.ErrCorrupt)
		}
	}
	return nil
}

// live reports whether document d is not deleted.
func (q *Query) live(d uint32) bool {
	return q.Live == nil || q.Live[d/64]>>(d%64)&1 == 1
}

// byDocFreq orders legs by increasing list length.
func byDocFreq(a, b *legState) int { return cmp.Compare(a.List.DocFreq, b.List.DocFreq) }
