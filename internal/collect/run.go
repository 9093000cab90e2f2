package collect

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/mapping"
)

// Segment is a part of an index.
type Segment struct {
	NumDocs int
	// Base is a number of the index minus the number in the segment, in the order of writing.
	Base base.DocID
	// Ranks are the documents' numbers in the order of writing, from 0; nil: their DocIDs.
	Ranks []uint32
	// Column returns the column of a field; nil: no document has a value.
	Column func(field string) (*column.Column, error)
	// Derived keeps orders of documents by a field; nil: they are not kept.
	Derived *derived.Segment
}

// Scorer scores documents that match the query.
type Scorer interface {
	// Begin opens a segment. Segments may be opened again.
	Begin(segment int) error
	// Score returns the score of a document. Documents rise.
	Score(doc base.DocID) (base.Score, error)
}

// Options describe a ranking.
type Options struct {
	Keys []Key
	// K is the maximum number of hits.
	K int
	// After are the values of a hit: only documents after it are wanted; nil: all.
	After []Value
	// Collapse keeps the best document for each value of a field; nil: all documents.
	Collapse *mapping.Field
	// Scores sets Hit.Score; Scorer is needed then and if a key is Score.
	Scores bool
	Scorer Scorer
}

func (o *Options) sortsByScore() bool {
	return slices.ContainsFunc(o.Keys, func(k Key) bool { return k.By == Score })
}

// NeedsScores reports whether Scorer must be set.
func (o *Options) NeedsScores() bool { return o.Scores || o.sortsByScore() }

// Hit is a document with the values that determine its rank.
type Hit struct {
	Segment int
	Doc     base.DocID // of the segment
	Score   base.Score
	Values  []Value // by key
	// Group is its value of Options.Collapse.
	Group Value

	rank uint32
}

// Run returns the best documents of bitmaps, one a segment. Errors wrap base.ErrBadInput for fields that
// cannot be collapsed, base.ErrCorrupt, or are the context's.
func Run(ctx context.Context, segments []Segment, matches [][]uint64, o Options) ([]Hit, error) {
	if o.K > 0 && o.Collapse != nil {
		return newRun(ctx, o).collapse(segments, matches)
	}
	return rank(ctx, segments, o, func(s *segmentRun) error { return s.collectBest(matches[s.index]) })
}

// RunDocs is Run over few documents of each segment, which rise, without Options.Collapse. Its time does not depend
// on the number of documents of the segments.
func RunDocs(ctx context.Context, segments []Segment, docs [][]base.DocID, o Options) ([]Hit, error) {
	return rank(ctx, segments, o, func(s *segmentRun) error { return s.collectDocs(docs[s.index]) })
}

func newRun(ctx context.Context, o Options) *run {
	return &run{ctx: ctx, Options: o, needsScore: o.sortsByScore()}
}

func rank(ctx context.Context, segments []Segment, o Options, collect func(s *segmentRun) error) ([]Hit, error) {
	if o.K == 0 {
		return nil, ctx.Err()
	}
	r := newRun(ctx, o)
	for i := range segments {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.segment(&segments[i], i, collect); err != nil {
			return nil, err
		}
	}
	return r.best, r.score(r.best)
}

type run struct {
	Options
	ctx        context.Context
	needsScore bool
	best       []Hit // of former segments, in order
}

// score sets the scores of hits that were not ranked by them.
func (r *run) score(hits []Hit) error {
	if !r.Scores || r.needsScore {
		return nil
	}
	order := make([]int, len(hits))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(hits[a].Segment, hits[b].Segment), cmp.Compare(hits[a].Doc, hits[b].Doc))
	})
	segment := -1
	for _, i := range order {
		h := &hits[i]
		if h.Segment != segment {
			segment = h.Segment
			if err := r.Scorer.Begin(segment); err != nil {
				return err
			}
		}
		var err error
		if h.Score, err = r.Scorer.Score(h.Doc); err != nil {
			return err
		}
	}
	return nil
}

// compare orders hits by their values.
func (r *run) compare(a, b *Hit) int {
	for i := range r.Keys {
		if c := r.Keys[i].compare(a.Values[i], b.Values[i]); c != 0 {
			return c
		}
	}
	return 0
}

func (k *Key) compare(a, b Value) int {
	if a.None || b.None {
		return cmp.Compare(k.class(a.None), k.class(b.None))
	}
	c := 0
	if k.isTerms() {
		c = strings.Compare(a.Term, b.Term)
	} else {
		c = cmp.Compare(a.Number, b.Number)
	}
	if k.Desc {
		c = -c
	}
	return c
}

// class orders documents with and without a value.
func (k *Key) class(none bool) int8 {
	switch {
	case !none:
		return 0
	case k.Missing == First:
		return -1
	}
	return 1
}

// segment adds a segment's documents to the best.
func (r *run) segment(segment *Segment, i int, collect func(s *segmentRun) error) error {
	s, err := r.open(segment, i)
	if err != nil {
		return err
	}
	if err := collect(s); err != nil {
		return err
	}
	hits, err := s.hits(s.heap.sorted())
	if err != nil {
		return err
	}
	r.merge(hits)
	return nil
}

// merge merges the hits of a segment into the former hits, which come before equal ones.
func (r *run) merge(hits []Hit) {
	if len(r.best) == 0 {
		r.best = hits
		return
	}
	out := make([]Hit, 0, min(r.K, len(r.best)+len(hits)))
	for len(out) < r.K && len(r.best)+len(hits) > 0 {
		if len(hits) == 0 || len(r.best) > 0 && r.compare(&r.best[0], &hits[0]) <= 0 {
			out, r.best = append(out, r.best[0]), r.best[1:]
		} else {
			out, hits = append(out, hits[0]), hits[1:]
		}
	}
	r.best = out
}

// collectBest adds documents to the heap of the segment, the best ones at least.
func (s *segmentRun) collectBest(words []uint64) error {
	words = s.written(words)
	matched := countBits(words)
	o, err := s.order(matched)
	if err != nil {
		return err
	}
	if o != nil {
		if complete, err := s.collectOrdered(o, words, matched); complete || err != nil {
			return err
		}
		if err := s.restart(); err != nil {
			return err
		}
	}
	bound := s.bound()
	narrowed, err := s.narrowed(words, 0, bound)
	if err != nil {
		return err
	}
	if bound != nil {
		matched = countBits(narrowed)
	}
	return s.collectAll(narrowed, matched)
}

// collectDocs adds documents to the heap of the segment.
func (s *segmentRun) collectDocs(docs []base.DocID) error {
	row := make([]slot, len(s.run.Keys))
	for _, doc := range docs {
		score, keep, err := s.read(doc, row)
		if err != nil {
			return err
		}
		if keep {
			s.heap.add(row, entry{doc: doc, rank: s.rank(doc), score: score})
		}
	}
	return nil
}

// restart empties the heap, to collect from the first document on.
func (s *segmentRun) restart() error {
	s.heap.entries, s.heap.slots = s.heap.entries[:0], s.heap.slots[:0]
	if s.run.needsScore {
		return s.run.Scorer.Begin(s.index)
	}
	return nil
}

// collectAll adds documents to the heap of the segment, if possible only the likely ones.
func (s *segmentRun) collectAll(words []uint64, matched int) error {
	few, err := s.likely(words, matched)
	if err != nil {
		return err
	}
	if few != nil {
		if err := s.collect(few); err != nil || s.heap.full() {
			return err
		}
		if err := s.restart(); err != nil {
			return err
		}
	}
	return s.collect(words)
}

// After firstLook documents, a full heap narrows the remaining ones. This is repeated each time the number
// of documents has grown by lookFactor.
const (
	firstLook  = 4096
	lookFactor = 16
)

// collect adds documents to the heap of the segment.
func (s *segmentRun) collect(words []uint64) error {
	look, seen := firstLook, 0
	row := make([]slot, len(s.run.Keys))
	for i := 0; i < len(words); i++ {
		for w := words[i]; w != 0; w &= w - 1 {
			doc := base.DocID(i*64 + bits.TrailingZeros64(w))
			score, keep, err := s.read(doc, row)
			if err != nil {
				return err
			}
			if keep {
				s.heap.add(row, entry{doc: doc, rank: s.rank(doc), score: score})
			}
			seen++
		}
		if seen < look {
			continue
		}
		if err := s.run.ctx.Err(); err != nil {
			return err
		}
		look = lookFactor * seen
		if s.heap.full() {
			var err error
			if words, err = s.narrowed(words, i+1, s.heap.worst()); err != nil {
				return err
			}
		}
	}
	return nil
}
