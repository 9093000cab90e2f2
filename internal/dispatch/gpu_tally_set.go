package dispatch

import (
	"context"
	"math/bits"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/vfs"
)

// CountMatches counts on the GPU how many documents of bitmaps, live ones by segment, have each value of fields, keywords: for
// matches that the CPU has found. They must not change meanwhile. Otherwise it is as CountValues.
func CountMatches(ctx context.Context, q *Query, fields []string, matches [][]uint64) (c *ValueCounts, refusal string, err error) {
	t := tallying{query: q, fields: fields}
	if refusal = t.unsuited(); refusal != "" {
		return nil, refusal, nil
	}
	refusal, err = t.countMatches(ctx, matches)
	if refusal != "" || err != nil {
		return nil, refusal, err
	}
	return &t.counts, "", nil
}

func (t *tallying) countMatches(ctx context.Context, matches [][]uint64) (refusal string, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	q := t.query
	g := q.searcher.dispatcher.gpu
	small := g.appendSmall(nil, q.Snapshot())
	if refusal, err = t.findColumns(small, (*pipeline.Ordinals).Counts); refusal != "" || err != nil {
		return refusal, err
	}
	on := pipeline.Query{Conjunctive: true, K: 1, Filters: make([]pipeline.Filter, len(matches))}
	uploaded, counted := 0, 0
	for i, words := range matches {
		n := ones(words)
		counted += n
		if view := &q.Snapshot().Segments[i]; n < view.Live.Count() || view.Live == nil && n < view.NumDocs() {
			on.Filters[i] = pipeline.Filter{ID: plan.NewMaskID(), Words: words, NumDocs: n, Once: true}
			uploaded += 8 * len(words)
		}
	}
	if counted == 0 {
		return cpuNothing, nil
	}
	one := &pipeline.Tally{Query: &on, Columns: t.columns, NumColumns: len(t.fields)}
	var gpu gpuState
	if err := gpu.attach(g, q); err != nil {
		return err.Error(), nil
	}
	defer gpu.detach(g)
	if !t.countsSooner(gpu.view, one, counted, uploaded) {
		return cpuCheaper, nil
	}
	if err := gpu.view.Tally(ctx, one, nil); err != nil {
		return "", err
	}
	if one.Err != nil {
		return one.Err.Error(), nil
	}
	t.take(one)
	for _, i := range small {
		if err := t.addSmall(i, matches[i]); err != nil {
			return "", err
		}
	}
	g.onGPU.Add(1)
	return "", nil
}

// countsSooner predicts whether a GPU counts matches before the CPU, with bitmaps of some bytes.
func (t *tallying) countsSooner(v *pipeline.View, one *pipeline.Tally, matches, uploaded int) bool {
	q := t.query
	if q.policyOf(q.searcher.dispatcher).traits().prefersGPU {
		return true
	}
	if !v.HasTally(one) {
		uploaded += int(t.columnBytes()) / tallyReuse
	}
	gpu := gpuTallyTime + pipeline.TallyTime(q.Snapshot().NumDocs, 0)*time.Duration(len(t.fields)) + time.Duration(uploaded/gpuUploadSpeed)
	return time.Duration(cpuValueTime*float64(matches)*float64(len(t.fields))) > gpu
}

func ones(words []uint64) (n int) {
	for _, w := range words {
		n += bits.OnesCount64(w)
	}
	return n
}
