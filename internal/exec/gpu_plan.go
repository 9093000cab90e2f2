package exec

import (
	"math"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/traverse"
)

// Why a plan runs on the CPU though there is a GPU. Traces say so.
const (
	cpuAsked      = "the CPU was asked for"
	cpuTraversal  = "a traversal was asked for by name"
	cpuTree       = "the query is no flat list of words: it has a phrase or nested groups"
	cpuExclusion  = "the query excludes words"
	cpuParameters = "k1 and b are not the index's"
	cpuK          = "so many hits are wanted"
	cpuWide       = "its scores could pass 32 bits"
	cpuNothing    = "there is nothing to look for"
	cpuBudget     = "it has a budget, or accumulators by name"
)

// gpuTraversal is the name of what runs on a GPU.
const gpuTraversal = "gpu"

// maxGPUScore bounds the sum of the MaxScores of a query on a GPU: bounds of
// scores, which may be a little more, are summed in 32 bits there.
const maxGPUScore = math.MaxUint32 / 2

// prepareGPU finds out whether the plan can run on a GPU and, if so, makes the
// queries of its stages.
func (p *Plan) prepareGPU(opts Options) {
	d := p.searcher.dispatcher
	if !d.active() {
		return
	}
	p.gpuLegs.reset()
	p.onCPU = p.gpuRefusal(opts)
	for i := range p.stages {
		p.arrange(&p.stages[i])
	}
	for i := 0; i < len(p.stages) && p.onCPU == ""; i++ {
		if st := &p.stages[i]; p.mode == ModeSaat {
			p.onCPU = p.gpuImpacts(st)
		} else {
			p.onCPU = p.gpuStage(st)
		}
	}
}

// gpuRefusal returns why no query with such options runs on a GPU, "" if one may.
func (p *Plan) gpuRefusal(opts Options) string {
	switch {
	case p.k == 0:
		return cpuNothing
	case opts.CPU:
		return cpuAsked
	case p.searcher.dispatcher.gpu == nil:
		return cpuNoGPU
	case opts.Traversal != "":
		return cpuTraversal
	case p.searcher.ownBounds && p.mode != ModeSaat:
		return cpuParameters
	case p.k > pipeline.MaxK:
		return cpuK
	case opts.Accumulators != "" || opts.Budget.Postings > 0 || opts.Budget.Time > 0:
		return cpuBudget
	}
	return ""
}

// arrange puts the leaves of a flat stage in the order of the lengths of their lists.
func (p *Plan) arrange(st *stage) {
	st.order = st.order[:0]
	if !st.flat || p.mode == ModeSaat {
		return
	}
	st.order = p.memory.numbers.take(len(st.leaves))
	for i := range st.order {
		st.order[i] = i
		for j := i; j > 0 && p.leafDocFreq(st, st.order[j]) < p.leafDocFreq(st, st.order[j-1]); j-- {
			st.order[j], st.order[j-1] = st.order[j-1], st.order[j]
		}
	}
}

// leafDocFreq is the length of a leaf's list, over all segments.
func (p *Plan) leafDocFreq(st *stage, leafIndex int) uint64 {
	return p.docFreqs[st.leaves[leafIndex].(*leaf).terms[0]]
}

// gpuStage makes the stage's query for a GPU, or returns why it has none.
func (p *Plan) gpuStage(st *stage) string {
	switch {
	case !st.flat && (st.root == nil || matchesNothing(st.root)):
		return cpuNothing
	case !st.flat:
		return cpuTree
	case len(st.excluded) > 0:
		return cpuExclusion
	}
	n, segments := len(st.leaves), len(p.searcher.snapshot.Segments)
	legs := p.gpuLegs.take(n * segments)
	for i := range segments {
		var sum base.Score
		for j, of := range st.order {
			from := &st.segmentLegs(i)[of]
			sum += from.MaxScore
			p.gpuLeg(&legs[i*n+j], from, p.terms[st.leaves[of].(*leaf).terms[0]].field)
		}
		if sum > maxGPUScore {
			return cpuWide
		}
	}
	st.gpu = pipeline.Query{
		Conjunctive: st.kind == traverse.And, K: p.k, Count: p.counts, Legs: legs, NumTerms: n,
	}
	return ""
}

func (p *Plan) gpuLeg(leg *pipeline.Leg, from *traverse.Leg, field base.FieldID) {
	leg.List, leg.Impacts, leg.DocFreq = from.List, nil, from.List.DocFreq
	leg.ID, leg.Field = from.List.FrontierOffset, field
	leg.Term, leg.Scale = from.Term, from.Scale
}

// gpuImpacts makes the query over impact-ordered lists.
func (p *Plan) gpuImpacts(st *stage) string {
	q := &p.saat.query
	n := len(q.Terms)
	if n == 0 {
		return cpuNothing
	}
	// A product of 24 bits or more would be rounded in float32.
	const maxProduct = 1 << 23
	legs := p.gpuLegs.take(n)
	sum := uint64(0)
	for i := range q.Terms {
		t := &q.Terms[i]
		product := uint64(t.Weight) * uint64(t.List.Max)
		if sum += product; product >= maxProduct || sum > maxGPUScore {
			return cpuWide
		}
		term := score.Term{Weight: float32(t.Weight), Linear: true}
		leg := &legs[i]
		leg.List, leg.Impacts, leg.DocFreq = nil, &t.List, t.List.DocFreq
		leg.ID, leg.Field = t.List.ID(), 0
		leg.Term, leg.Scale = term, score.NewScale(term, 0, 0)
	}
	st.gpu = pipeline.Query{K: p.k, Count: p.counts, Legs: legs, NumTerms: n}
	return ""
}

// gpuScratch is the memory of a run on a GPU.
type gpuScratch struct {
	queries []*pipeline.Query
	results []pipeline.Result
	plans   []int // of each query
	share   gpuShare
}

// fill makes the answer of the result of a stage.
func (p *Plan) fill(a *Answer, st *stage, r *pipeline.Result) {
	a.Hits, a.Mode, a.Traversal, a.Matches = r.Hits, st.mode, gpuTraversal, r.Matches
	if p.mode != ModeSaat {
		return
	}
	a.Mode = ModeSaat
	shift := base.ScoreFractionBits - p.saat.unitBits
	for i := range a.Hits {
		a.Hits[i].Score <<= shift
	}
}

// gpuLists describes the lists that a stage's query reads, over all segments.
func (p *Plan) gpuLists(st *stage) []ListTrace {
	lists := make([]ListTrace, st.gpu.NumTerms)
	for j := range lists {
		if p.mode == ModeSaat {
			lists[j].Term = string(p.terms[p.saat.terms[j]].bytes)
		} else {
			l := st.leaves[st.order[j]].(*leaf)
			lists[j].Field, lists[j].Term = p.searcher.fields[l.field], string(p.terms[l.terms[0]].bytes)
		}
		for i := j; i < len(st.gpu.Legs); i += st.gpu.NumTerms {
			leg := &st.gpu.Legs[i]
			lists[j].DocFreq += leg.DocFreq
			lists[j].Blocks += blocksOf(leg.List, leg.Impacts)
		}
	}
	return lists
}

func blocksOf(l interface{ NumBlocks() int }, x *impact.List) int {
	if x != nil {
		return x.NumSegments()
	}
	return l.NumBlocks()
}
