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
	cpuParameters = "k1 and b are not the index's"
	cpuK          = "k exceeds the GPU limit"
	cpuWide       = "its scores could be too high for a GPU"
	cpuNothing    = "there is nothing to look for"
	cpuComputed   = "its impact-ordered lists are computed for it"
	cpuWords      = "more words, or required ones, than the GPU limit beside optional ones"
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
	q.gpu.stages, q.gpu.common = [2]pipeline.Query{}, [2]bool{}
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
	if q.gpu.refusal != "" {
		q.gpu.common = [2]bool{}
		return
	}
	q.gpu.masks.prepare(q, sc)
}

// gpuRefusal returns why no query with such options runs on a GPU, "" if one may.
func (q *Query) gpuRefusal(opts *Options) string {
	switch {
	case opts.K == 0 && !opts.Count:
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
	words, whyNot := st.Words()
	switch {
	case st.IsEmpty():
		return cpuNothing
	case st.NumCommon() > 0:
		return gpuCommon(q, stage)
	case whyNot != "":
		return whyNot
	case len(words) > 0:
		return gpuWords(q, stage, words)
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

// gpuWords is gpuStage of a stage whose words have parts.
func gpuWords(q *Query, stage int, words []plan.Word) string {
	st := q.Stage(stage)
	n, segments := len(words), len(q.Snapshot().Segments)
	legs := q.gpu.takeLegs(stage, n*segments)
	g := &q.gpu.stages[stage]
	*g = pipeline.Query{
		Conjunctive: st.IsFlat() && st.Kind() == traverse.And, K: plan.SelectK(&q.Plan), Count: q.Counts(), Legs: legs, NumTerms: n, Parts: q.gpu.parts[stage][:0],
	}
	positive, clauses := 0, 0
	for i := range words {
		w := &words[i]
		switch {
		case w.Excluded:
			g.Parts = append(g.Parts, pipeline.Excluded)
			continue
		case w.Clause > pipeline.MaxClauses:
			return cpuWords
		}
		positive++
		clauses = max(clauses, w.Clause)
		g.Parts = append(g.Parts, pipeline.Part(w.Clause))
	}
	q.gpu.parts[stage] = g.Parts
	if clauses > 0 && positive > pipeline.MaxClauseTerms {
		return cpuWords
	}
	for i := range segments {
		var sum base.Score
		for j := range words {
			var leg traverse.Leg
			if err := plan.WordLeg(&q.Plan, &leg, i, &words[j]); err != nil {
				return err.Error()
			}
			legs[i*n+j].Leg = leg.Leg
			if !words[j].Excluded {
				sum += leg.MaxScore
			}
		}
		if sum > maxNarrowScore {
			return cpuWide
		}
	}
	return ""
}

func (q *Query) gpuImpacts(x *plan.ImpactQuery) string {
	n := len(x.Terms)
	if n == 0 {
		return cpuNothing
	}
	if x.Index.IsComputed() {
		return cpuComputed
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
