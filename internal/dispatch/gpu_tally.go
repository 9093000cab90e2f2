package dispatch

import (
	"context"
	"math/bits"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/traverse"
	"github.com/griffin-search/griffin/internal/vfs"
)

// This file has counts of values over all matches of a query. A GPU takes about the same time for any number of
// matches, so that it pays if there are many.

// ValueCounts are the matches of a query and the values of fields in them.
type ValueCounts struct {
	Matches  int64
	Segments []SegmentCounts
}

// SegmentCounts are of a segment, by field in the order of CountValues.
type SegmentCounts struct {
	// Counts by ordinal of the segment's column; nil if the segment has none.
	Counts  [][]uint32
	Missing []int64 // matches without a value
}

// Reasons why the CPU counts although there is a GPU.
const (
	cpuCheaper  = "the CPU is predicted to count sooner"
	cpuNoPolicy = "the policy uses no GPU"
	cpuImpacts  = "impact-ordered lists have no columns"
	cpuColumns  = "a column is not suited to a GPU"
	cpuPlaced   = "a placement was asked for"
	cpuAllSmall = "the index is small"
	cpuTree     = "values are counted of flat lists of words, all required or all optional"
)

// CountValues counts the matches of a query, and how many of them have each value of fields, keywords, on the GPU;
// small segments on the CPU. If the CPU should do it, c is nil and refusal is the reason. The error is the context's, or wraps
// base.ErrCorrupt.
func CountValues(ctx context.Context, q *Query, sc *Scratch, fields []string) (c *ValueCounts, refusal string, err error) {
	t := tallying{query: q, sc: sc, fields: fields}
	if refusal = t.refusal(); refusal != "" {
		return nil, refusal, nil
	}
	refusal, err = t.all(ctx, (*pipeline.Ordinals).Counts, func(v *pipeline.View) bool { return v.HasTally(t.tally(0)) }, t.run)
	if refusal != "" || err != nil {
		return nil, refusal, err
	}
	return &t.counts, "", nil
}

type tallying struct {
	query   *Query
	sc      *Scratch
	stages  [2]pipeline.Query
	masks   *gpuMasks
	fields  []string
	columns []pipeline.Ordinals // by segment, then field
	counts  ValueCounts
}

// all runs the stages until one answers, which sets counts.Matches. suits is asked for each column, resides whether the
// GPU has all lists and columns.
func (t *tallying) all(ctx context.Context, suits func(*pipeline.Ordinals) bool, resides func(*pipeline.View) bool, run func(context.Context, *pipeline.View, int) (string, error)) (refusal string, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	if refusal, err = t.prepare(suits); refusal != "" || err != nil {
		return refusal, err
	}
	var gpu gpuState
	q := t.query
	g := q.searcher.dispatcher.gpu
	if err := gpu.attach(g, q); err != nil {
		return err.Error(), nil
	}
	defer gpu.detach(g)
	if !t.pays(gpu.view, resides) {
		return cpuCheaper, nil
	}
	for stage := 0; ; stage++ {
		refusal, err := run(ctx, gpu.view, stage)
		if refusal != "" || err != nil {
			return refusal, err
		}
		if !q.FallsBack(stage, int(min(t.counts.Matches, int64(q.K())))) {
			g.onGPU.Add(1)
			return "", nil
		}
	}
}

// refusal returns why the query cannot be counted on a GPU, "" if it may. Other than for hits, the scores and the
// number of hits do not matter.
func (t *tallying) refusal() string {
	if refusal := t.unsuited(); refusal != "" {
		return refusal
	}
	for i := range t.query.NumStages() {
		switch st := t.query.Stage(i); {
		case st.IsEmpty():
			return cpuNothing
		case !st.IsFlat():
			return cpuTree
		}
	}
	return ""
}

// unsuited is refusal without the words of the query.
func (t *tallying) unsuited() string {
	q := t.query
	d := q.searcher.dispatcher
	switch {
	case d == nil || d.gpu == nil || d.Engine() != nil:
		return cpuNoGPU
	case q.gpu.refusal == cpuAsked || q.gpu.refusal == cpuTraversal:
		return q.gpu.refusal
	case q.placement != nil:
		return cpuPlaced
	case q.policyOf(d).traits().noGPU:
		return cpuNoPolicy
	case q.Impacts() != nil:
		return cpuImpacts
	}
	return ""
}

// prepare derives the queries of the stages, unless those for hits can be used, and finds the columns.
func (t *tallying) prepare(suits func(*pipeline.Ordinals) bool) (refusal string, err error) {
	q := t.query
	g := q.searcher.dispatcher.gpu
	t.stages, t.masks = q.gpu.stages, &q.gpu.masks
	if q.gpu.refusal != "" || q.gpu.stages[0].Parts != nil || q.gpu.stages[1].Parts != nil {
		q.gpu.small = g.appendSmall(q.gpu.small[:0], q.Snapshot())
		for i := range q.NumStages() {
			t.stages[i] = t.legsOf(i)
		}
		t.masks = &gpuMasks{words: true}
		t.masks.prepare(q, &t.sc.Scratch)
	}
	return t.findColumns(q.gpu.small, suits)
}

// findColumns is for the segments that are not small.
func (t *tallying) findColumns(small []int, suits func(*pipeline.Ordinals) bool) (refusal string, err error) {
	segments := t.query.Snapshot().Segments
	if len(small) == len(segments) {
		return cpuAllSmall, nil
	}
	for i := range segments {
		set, err := segment.Columns(segments[i].Segment)
		if err != nil {
			return "", err
		}
		for _, field := range t.fields {
			var of pipeline.Ordinals
			if set != nil {
				of.Column, _ = set.Column(field)
			}
			if of.Column != nil {
				of.Name, of.Number = field, slices.Index(set.Names(), field)
			}
			if !slices.Contains(small, i) && !suits(&of) {
				return cpuColumns, nil
			}
			t.columns = append(t.columns, of)
		}
	}
	return "", nil
}

// legsOf returns a flat stage without bounds of its scores, which counts do not need.
func (t *tallying) legsOf(stage int) pipeline.Query {
	q := t.query
	st := q.Stage(stage)
	order := st.Order()
	n, segments := len(order), len(q.Snapshot().Segments)
	legs := make([]pipeline.Leg, n*segments)
	for i := range segments {
		for j, of := range order {
			legs[i*n+j].Leg = st.Legs(i)[of].Leg
		}
	}
	return pipeline.Query{Conjunctive: st.Kind() == traverse.And, K: 1, Legs: legs, NumTerms: n}
}

func (t *tallying) tally(stage int) *pipeline.Tally {
	return &pipeline.Tally{Query: &t.stages[stage], Columns: t.columns, NumColumns: len(t.fields)}
}

// Times of counting. On the CPU a posting is decoded and its bit set; then the column is decoded and the values of matches
// are counted. Measured on one Xeon core and an H200 (docs/benchmarks/gpu-typed.md), over 25.2 million documents: 3.46
// million matches of words took 2.4 ms, their values another 13.3 ms, the values of 35,000 matches 6 ms; a count on
// the GPU takes 30 µs more than its kernels.
const (
	cpuPostingTime  = 0.6  // ns
	cpuDocumentTime = 0.25 // of a field
	cpuValueTime    = 2.1
	gpuTallyTime    = 30 * time.Microsecond
	gpuUploadSpeed  = 10 // bytes/ns
	// tallyReuse is the number of counts among which the upload of a list or a column is shared.
	tallyReuse = 8
)

// pays predicts whether a GPU counts before the CPU.
func (t *tallying) pays(v *pipeline.View, resides func(*pipeline.View) bool) bool {
	q := t.query
	d := q.searcher.dispatcher
	if q.policyOf(d).traits().prefersGPU {
		return true
	}
	st := q.Stage(0)
	sum, least, numDocs := uint64(0), uint64(0), uint64(q.Snapshot().NumDocs)
	for i := range st.Order() {
		n := q.LegDocFreq(st, i)
		if sum += n; i == 0 || n < least {
			least = n
		}
	}
	matches := min(sum, numDocs)
	if st.Kind() == traverse.And {
		sum, matches = least*uint64(len(st.Order())), least
	}
	values := float64(cpuDocumentTime*float64(numDocs)) + float64(cpuValueTime*float64(matches))
	cpu := float64(cpuPostingTime*float64(sum)) + float64(values*float64(len(t.fields))) + float64(numDocs)/64
	gpu := gpuTallyTime + pipeline.TallyTime(int(numDocs), sum)*time.Duration(max(len(t.fields), 1)) + t.masks.time()
	if !resides(v) {
		gpu += time.Duration(float64(t.bytes())/gpuUploadSpeed) / tallyReuse
	}
	return time.Duration(cpu) > gpu
}

// bytes is about the size of all lists and columns.
func (t *tallying) bytes() (n int64) {
	legs := t.stages[0].Legs
	for i := range legs {
		if legs[i].DocFreq() > 0 {
			n += legs[i].SizeBytes()
		}
	}
	return n + t.columnBytes()
}

func (t *tallying) columnBytes() (n int64) {
	for i := range t.columns {
		if c := t.columns[i].Column; c != nil {
			n += int64(c.NumDocs()+c.NumValues()) * int64(bits.Len(uint(c.NumTerms()))/8+1)
		}
	}
	return n
}

func (t *tallying) makeMasks(ctx context.Context) error {
	if err := t.masks.make(ctx, t.query, &t.sc.Scratch); err != nil {
		return err
	}
	for i := range t.stages {
		t.stages[i].Filters = t.masks.filters[i]
	}
	return nil
}

// run counts a stage. An error of the GPU is a refusal.
func (t *tallying) run(ctx context.Context, v *pipeline.View, stage int) (refusal string, err error) {
	q := t.query
	if err := t.makeMasks(ctx); err != nil {
		return "", err
	}
	one := t.tally(stage)
	if err := v.Tally(ctx, one, nil); err != nil {
		return "", err
	}
	if one.Err != nil {
		return one.Err.Error(), nil //nolint:nilerr // the CPU counts then
	}
	t.take(one)
	for _, i := range q.gpu.small {
		if err := plan.StageMatches(ctx, &q.Plan, &t.sc.Scratch, stage, i, t.addSmall); err != nil {
			return "", err
		}
	}
	return "", nil
}

func (t *tallying) take(one *pipeline.Tally) {
	t.counts = ValueCounts{Segments: make([]SegmentCounts, len(one.Segments))}
	for i := range one.Segments {
		s := &one.Segments[i]
		t.counts.Matches += s.Matches
		t.counts.Segments[i] = SegmentCounts{s.Counts, s.Missing}
	}
}

// addSmall counts a segment that is on no device.
func (t *tallying) addSmall(segment int, words []uint64) error {
	matches := 0
	for _, w := range words {
		matches += bits.OnesCount64(w)
	}
	t.counts.Matches += int64(matches)
	s := &t.counts.Segments[segment]
	for i := range t.fields {
		c := t.columns[segment*len(t.fields)+i].Column
		if c == nil {
			s.Missing[i] += int64(matches)
			continue
		}
		missing, err := c.CountOrdinals(words, s.Counts[i])
		if err != nil {
			return err
		}
		s.Missing[i] += int64(missing)
	}
	return nil
}
