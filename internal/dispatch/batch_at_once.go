package dispatch

import (
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
)

// Some queries of a part are only for CPUs. The goroutine that has planned one answers and completes it at once, while its plan
// is in the caches. The GPU waits until all queries are planned. So if many queries before this one are for the GPU, helpers
// answer it beside the GPU instead. If the queries for the GPU are the last ones of a part, all others are answered before it begins.

// atOnce has the counts of a part's queries while they are planned.
type atOnce struct {
	allowed  bool
	kept     atomic.Int64 // planned and not answered
	forGPU   atomic.Int64 // of them, the ones that wait for the GPU
	answered atomic.Int64
	begun    atomic.Bool // one is answered
}

// A query for CPUs is answered at once if at most one in perGPUQuery of those before it waits for the GPU.
const perGPUQuery = 8

func (a *atOnce) begin(d *Dispatcher) {
	a.allowed = d.engine == nil
	a.kept.Store(0)
	a.forGPU.Store(0)
	a.answered.Store(0)
	a.begun.Store(false)
}

// answersAtOnce reports whether query i is to be answered at once.
func (p *batchPart) answersAtOnce(q *Query, i int) bool {
	switch {
	case !p.atOnce.allowed || q.cached != nil:
		return false
	case p.mayUseGPU(q):
		if !q.gpu.hasCommon() {
			p.atOnce.forGPU.Add(1)
		}
		return false
	}
	return p.atOnce.forGPU.Load()*perGPUQuery <= int64(i)
}

// mayUseGPU reports whether the GPU may answer a query or find the candidates of a stage.
func (p *batchPart) mayUseGPU(q *Query) bool {
	if q.gpu.refusal != "" || q.policyOf(p.d).traits().noGPU {
		return false
	}
	if !q.gpu.hasCommon() {
		return true
	}
	it := batchItem{query: q}
	for stage := range q.NumStages() {
		if q.gpu.common[stage] && it.pays(p.d, stage) {
			return true
		}
	}
	return false
}

// answerAtOnce answers and completes query i.
func (p *batchPart) answerAtOnce(w BatchWorker, i int, q *Query, a *plan.Answer) error {
	if !p.atOnce.begun.Swap(true) {
		p.moreWorkers()
	}
	got, err := q.RunCPU(p.ctx, &w.Scratch().Scratch, a.Hits[:0], nil)
	if err != nil {
		return err
	}
	*a = got
	p.atOnce.answered.Add(1)
	return w.Complete(p.from+i, q, a)
}

// moreWorkers starts a goroutine for each CPU that has none, because answers take longer than plans.
func (p *batchPart) moreWorkers() {
	workers := p.turns.workers.Swap(int64(cap(p.slots)))
	p.turns.longest.Store(maxTurn)
	for range min(int64(cap(p.slots)), p.turns.n-p.turns.next.Load()+workers) - workers {
		p.group.Go(p.work)
	}
}

func (p *batchPart) countAtOnce() {
	n := p.atOnce.answered.Load()
	if n == 0 {
		return
	}
	p.d.steps[sched.CPU].Add(n)
	p.d.gpu.onCPU.Add(n)
}
