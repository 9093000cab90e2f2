package ding09

import (
	"context"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/papers/scoring"
	"github.com/griffin-search/griffin/internal/traverse"
)

// deviceQuery is a query with its data on the device.
type deviceQuery struct {
	gpu    *gpu
	query  *engine.Query
	k      int // of each selection
	wide   bool
	stages []deviceStage
	sizes  sizes

	items     []*item           // in use by the query
	byKey     map[itemKey]*item // the same
	recursive []*item           // lists with exceptions, as deviceTerm.recursion counts them
	began     time.Time
	used      usage
}

type deviceStage struct {
	*stage
	segments []deviceSegment
}

type deviceSegment struct {
	view  *index.View
	terms []deviceTerm
	live  cuda.Buffer[uint32] // zero: all documents
	// globals are the global scores by DocID, and most their maximum; zero: none.
	globals cuda.Buffer[uint32]
	most    uint32
}

type deviceTerm struct {
	*traverse.Leg
	list, lengths *item
	recursion     int // -1: none
}

func (t *deviceTerm) numPostings() int { return t.list.list.NumPostings }

// scored returns the term for package scoring.
func (t *deviceTerm) scored(postings, docIDs cuda.Buffer[uint32]) (scoring.List, error) {
	freqs, err := t.list.freqs()
	if err != nil {
		return scoring.List{}, err
	}
	return scoring.NewList(scoring.Source{
		Term: t.Term, Freqs: freqs, DocIDs: docIDs, Postings: postings, Lengths: t.lengths.buffers[0],
	})
}

// bring copies missing lists and tables to the device. After an error, d.items are in use nevertheless.
func (d *deviceQuery) bring(ctx context.Context, stages []stage) error {
	d.byKey, d.began = map[itemKey]*item{}, time.Now()
	segments := d.query.Plan.Snapshot().Segments
	for i := range stages {
		s := deviceStage{stage: &stages[i], segments: make([]deviceSegment, len(segments))}
		for j := range segments {
			s.segments[j].view = &segments[j]
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := d.segment(&s.segments[j], &stages[i], j); err != nil {
				return fmt.Errorf("segment %s: query %s: %w", segments[j].Name, d.query.Plan.Query(), err)
			}
			d.measure(&s.segments[j], s.conjunctive)
		}
		d.stages = append(d.stages, s)
	}
	d.sizes.keys = len(stages) * len(segments) * d.k
	return nil
}

func (d *deviceQuery) segment(s *deviceSegment, st *stage, number int) error {
	terms := st.segments[number]
	if len(terms) == 0 {
		return nil
	}
	if live := s.view.Live; live != nil {
		it, err := d.item(itemKey{live, liveItem, 0}, func() (content, error) { return liveContent(live), nil })
		if err != nil {
			return err
		}
		s.live = it.buffers[0]
	}
	if st.globals != nil {
		scores := st.globals[number]
		it, err := d.item(itemKey{s.view.Segment, globalsItem, 0}, func() (content, error) {
			return content{parts: [][]uint32{scores.scores}}, nil
		})
		if err != nil {
			return err
		}
		s.globals, s.most = it.buffers[0], scores.most
	}
	for _, t := range terms {
		term, err := d.term(s.view, t)
		if err != nil {
			return err
		}
		s.terms = append(s.terms, term)
	}
	return nil
}

func (d *deviceQuery) term(view *index.View, t *traverse.Leg) (term deviceTerm, err error) {
	term = deviceTerm{Leg: t, recursion: -1}
	key := listKey(view, t)
	known := d.byKey[key] != nil
	before := d.used.transferred.bytes
	if term.list, err = d.item(key, func() (content, error) {
		l, err := d.gpu.code.list(t, view.NumDocs())
		if err != nil {
			return content{}, err
		}
		return listContent(l)
	}); err != nil {
		return term, err
	}
	if !known {
		if d.used.transferred.bytes == before {
			d.gpu.listHits.Add(1)
		} else {
			d.gpu.listMisses.Add(1)
		}
	}
	term.lengths, err = d.item(itemKey{view.Segment, lengthsItem, uint64(t.Field)}, func() (content, error) {
		return lengthsContent(t.Lengths[:view.NumDocs()]), nil
	})
	if err == nil && term.list.isRecursive() {
		term.recursion = d.recursion(term.list)
	}
	return term, err
}

func listKey(view *index.View, t *traverse.Leg) itemKey {
	return itemKey{view.Segment, listItem, uint64(t.ID())}
}

// recursion returns the index of a list with exceptions.
func (d *deviceQuery) recursion(it *item) int {
	for i := range d.recursive {
		if d.recursive[i] == it {
			return i
		}
	}
	d.recursive = append(d.recursive, it)
	return len(d.recursive) - 1
}

// item returns data on the device. onHost makes it on the host; it is called if the device lacks it.
func (d *deviceQuery) item(k itemKey, onHost func() (content, error)) (*item, error) {
	if it := d.byKey[k]; it != nil {
		return it, nil
	}
	it := d.gpu.cache.find(k)
	if it == nil {
		data, err := onHost()
		if err != nil {
			return nil, err
		}
		var moved transfer
		if it, moved, err = d.gpu.cache.bring(k, data); err != nil {
			return nil, err
		}
		d.used.transferred.took += moved.took
		d.used.transferred.bytes += moved.bytes
	}
	d.byKey[k] = it
	d.items = append(d.items, it)
	return it, nil
}

// measure updates the sizes for a segment.
func (d *deviceQuery) measure(s *deviceSegment, conjunctive bool) {
	if len(s.terms) == 0 {
		return
	}
	n := &d.sizes
	shortest := s.terms[0].numPostings()
	if conjunctive {
		n.shortest, n.scores = max(n.shortest, shortest), max(n.scores, shortest)
	} else {
		n.scores = max(n.scores, s.view.NumDocs())
	}
	var bounds []scoring.Bounded
	longestDocument := uint32(0)
	for i := range s.terms {
		t := &s.terms[i]
		n.longest = max(n.longest, t.numPostings())
		decoded := t.list.list.NumBlocks()
		if conjunctive && !d.gpu.whole {
			decoded = min(decoded, shortest)
		}
		n.decoded = max(n.decoded, decoded*codec.BlockLen)
		bounds = append(bounds, scoring.Bounded{Term: t.Term, MaxScore: t.MaxScore})
		longestDocument = max(longestDocument, t.lengths.longest)
	}
	// The global score adds to the bound of all sums.
	bounds = append(bounds, scoring.Bounded{Term: s.terms[0].Term, MaxScore: base.Score(s.most)})
	d.wide = d.wide || scoring.SumsOf(bounds, longestDocument) == scoring.Wide
}
