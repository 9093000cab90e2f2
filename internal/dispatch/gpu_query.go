package dispatch

import (
	"errors"
	"math"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/leg"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/traverse"
)

// Reasons, for traces, why a query runs on the CPU although there is a GPU.
const (
	cpuAsked      = "the CPU was asked for"
	cpuTraversal  = "a traversal was asked for by name"
	cpuTree       = "the query is no flat list of words: it has a phrase, a pattern or nested groups"
	cpuParameters = "k1 and b are not the index's"
	cpuK          = "k exceeds the GPU limit"
	cpuWide       = "its scores could be too high for a GPU"
	cpuNothing    = "there is nothing to look for"
	cpuBudget     = "it has a budget, or accumulators by name"
)

// TraversalGPU is the Answer.Traversal of queries that a GPU answers.
const TraversalGPU = "gpu"

// maxNarrowScore is the greatest sum of MaxScores of a query that is not wide: the GPU sums its
// bounds, which may be slightly larger than scores, in 32 bits.
const maxNarrowScore = math.MaxUint32 / 2

// prepareGPU derives the queries of the stages, or notes why there are none.
func (q *Query) prepareGPU(sc *plan.Scratch, opts *Options) {
	q.SortTerms()
	q.gpu.stages = [2]pipeline.Query{}
	q.gpu.masks.reset()
	q.gpu.refusal = q.gpuRefusal(opts)
	q.gpu.small = q.gpu.small[:0]
	if q.gpu.refusal == "" && q.Impacts() == nil {
		q.gpu.small = q.searcher.dispatcher.gpu.appendSmall(q.gpu.small, q.Snapshot())
	}
	for i := 0; i < q.NumStages() && q.gpu.refusal == ""; i++ {
		if x := q.Impacts(); x != nil {
			q.gpu.refusal = q.gpuImpacts(x)
		} else {
			q.gpu.refusal = q.gpuStage(i)
		}
	}
	if q.gpu.refusal == "" {
		q.gpu.masks.prepare(q, sc)
	}
}

// gpuRefusal returns why no query with such options runs on a GPU, "" if one may.
func (q *Query) gpuRefusal(opts *Options) string {
	switch {
	case opts.K == 0:
		return cpuNothing
	case opts.CPU:
		return cpuAsked
	case q.searcher.dispatcher.gpu == nil:
		return cpuNoGPU
	case opts.Traversal != "":
		return cpuTraversal
	case q.Planner().OwnBounds() && opts.Mode != plan.ModeSaat:
		return cpuParameters
	case plan.SelectK(&q.Plan) > pipeline.MaxK:
		return cpuK
	case opts.Accumulators != "" || opts.Budget.Postings > 0 || opts.Budget.Time > 0:
		return cpuBudget
	}
	return ""
}

func (g *gpuPlan) takeLegs(stage, n int) []pipeline.Leg {
	if cap(g.legs[stage]) < n {
		g.legs[stage] = make([]pipeline.Leg, n)
	}
	return g.legs[stage][:n]
}

// gpuStage returns why a stage cannot run on a GPU, "" if it can.
func (q *Query) gpuStage(stage int) string {
	st := q.Stage(stage)
	switch {
	case st.IsEmpty():
		return cpuNothing
	case !st.IsFlat():
		return cpuTree
	}
	order := st.Order()
	n, segments := len(order), len(q.Snapshot().Segments)
	legs := q.gpu.takeLegs(stage, n*segments)
	wide := false
	for i := range segments {
		var sum base.Score
		for j, of := range order {
			from := &st.Legs(i)[of]
			sum += from.MaxScore
			legs[i*n+j].Leg = from.Leg
		}
		if sum > pipeline.MaxScore(q.Snapshot().Segments[i].NumDocs()) {
			q.gpu.stages[stage].Wide = true
			return cpuWide
		}
		wide = wide || sum > maxNarrowScore
	}
	q.gpu.stages[stage] = pipeline.Query{
		Conjunctive: st.Kind() == traverse.And, K: plan.SelectK(&q.Plan), Count: q.Counts(), Legs: legs, NumTerms: n, Wide: wide,
	}
	return ""
}

func (q *Query) gpuImpacts(x *plan.ImpactQuery) string {
	n := len(x.Terms)
	if n == 0 {
		return cpuNothing
	}
	// float32 would round a product of 24 bits or more.
	const maxProduct = 1 << 23
	legs := q.gpu.takeLegs(0, n)
	sum := uint64(0)
	for i := range x.Terms {
		t := &x.Terms[i]
		product := uint64(t.Weight) * uint64(t.List.Max)
		if sum += product; product >= maxProduct || sum > maxNarrowScore {
			return cpuWide
		}
		term := score.Term{Weight: float32(t.Weight), Linear: true}
		legs[i].Leg = leg.Leg{Impacts: &t.List, Term: term, Scale: score.NewScale(term, 0, 0)}
	}
	q.gpu.stages[0] = pipeline.Query{K: plan.SelectK(&q.Plan), Count: q.Counts(), Legs: legs, NumTerms: n}
	return ""
}

// errTies: the best hits in the order of writing cannot be chosen among those that the GPU returned
// in the order of DocIDs.
var errTies = errors.New("too many documents have the score of the last hit")

// settleTies breaks the ties of a result and reports whether it could.
func settleTies(q *Query, r *pipeline.Result) (ok bool) {
	r.Hits, ok = plan.Settle(&q.Plan, r.Hits)
	return ok
}

// fillFromGPU takes the hits without the scores of filters (plan.AddFilterScores).
func (q *Query) fillFromGPU(a *plan.Answer, stage int, r *pipeline.Result) {
	a.Hits, a.Mode, a.Traversal, a.Matches, a.By = r.Hits, q.modeOf(stage), TraversalGPU, r.Matches, sched.GPU
	if x := q.Impacts(); x != nil {
		x.Scale(a.Hits)
	}
}

func (q *Query) modeOf(stage int) plan.Mode {
	if q.Impacts() != nil {
		return plan.ModeSaat
	}
	return q.Stage(stage).Mode()
}
