package saat

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/saat"
)

func init() {
	engine.Register(engine.Info{
		Name:    "saat",
		Paper:   "Trotman, Crane. Micro and macro optimization of SaaT search. Software: Practice and Experience, 2018",
		Summary: "score at a time on CPUs: impact-ordered lists, an accumulator for each document",
		Algorithms: []string{
			"lists with 8-bit impacts in segments of equal impact, coded with QMX (§3); build them with griffin impacts --bitmap-bits -1",
			"segments of all terms from the highest to the lowest impact (§2)",
			"16-bit accumulators in pages with dirty flags, in memory allocated by the query or beforehand (§5); 32 bits for scores above 65,535",
			"the top k in a heap, by Algorithm 1 or 2 (§6)",
			"a thread for each query (§7)",
		},
		Modes: []string{"saat", "or"},
		Options: []engine.Option{
			{Name: "accumulators", Default: "paged-array", Values: "dynamic, array, paged or paged-array", Help: "memory of the accumulators (§5)"},
			{Name: "heap", Default: "2", Values: "1 or 2", Help: "algorithm that updates the heap (§6)"},
			{Name: "inline", Default: "yes", Values: "yes or no", Help: "the common case of an update is inlined into the loop over postings (§6)"},
			{Name: "rho", Default: "all", Values: "all or a number", Help: "a query ends before the segment that would exceed this number of postings (anytime ranking, [5] of the paper)"},
		},
		Open: open,
	})
}

// Engine answers queries over impact-ordered lists.
type Engine struct {
	variant  string
	budget   saat.Budget
	answered atomic.Int64
}

func open(o engine.Options, r engine.Resources) (engine.Engine, error) {
	if err := r.RefuseGPU(""); err != nil {
		return nil, err
	}
	names := []string{"dynamic", "array", "paged", "paged-array"}
	v := saat.Variant{}
	if i := o.Choice("accumulators", names...); i >= 0 {
		v.Accumulators = names[i]
	}
	v.Heap = o.Int("heap", 1, 2)
	v.Outlined = o.Choice("inline", "yes", "no") == 1
	e := &Engine{}
	if rho := o.Text("rho"); rho != "all" {
		n, err := strconv.ParseInt(rho, 10, 64)
		if err != nil || n < 1 {
			o.Fail("rho", "all or a number of postings, at least 1")
		}
		e.budget.Postings = n
	}
	if err := o.Err(); err != nil {
		return nil, err
	}
	e.variant = v.String()
	return e, nil
}

// Adapt plans every query as a bag of words over impact-ordered lists.
func (e *Engine) Adapt(o *plan.Options) error {
	if o.Mode == plan.ModeAnd || o.Mode == plan.ModeAndOr {
		return fmt.Errorf("engine saat answers bags of words, in mode saat or or, not mode %v: %w", o.Mode, base.ErrBadInput)
	}
	o.Mode = plan.ModeSaat
	if o.Accumulators == "" {
		o.Accumulators = e.variant
	}
	if o.Budget == (saat.Budget{}) {
		o.Budget = e.budget
	}
	return nil
}

// BatchSize is 1: a query runs on one thread.
func (e *Engine) BatchSize() int { return 1 }

// Search answers the queries one after another.
func (e *Engine) Search(ctx context.Context, queries []*engine.Query) error {
	for _, q := range queries {
		q.Answer, q.Err = q.Plan.RunCPU(ctx, q.Scratch, q.Answer.Hits, q.Trace)
		if err := ctx.Err(); err != nil {
			return err
		}
		q.Settled = true
		if q.Err == nil {
			e.answered.Add(1)
		}
	}
	return nil
}

// Stats returns the counts.
func (e *Engine) Stats() engine.Stats { return engine.Stats{OnCPU: e.answered.Load()} }

// Close releases nothing.
func (e *Engine) Close() error { return nil }
