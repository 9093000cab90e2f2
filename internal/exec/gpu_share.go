package exec

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/invariant"
)

// gpuShare lets CPUs that are idle answer queries of a batch beside a GPU. The GPU takes
// queries from one end of an order, the CPUs from the other, so that both end at about
// the same time whatever each can do. It implements pipeline.Others.
type gpuShare struct {
	ctx     context.Context //nolint:containedctx // of the batch, which ends before RunBatch does
	gpu     *GPU
	plans   []*Plan
	answers []Answer
	owners  []atomic.Uint32 // by plan
	numbers []int           // plan of each query that the GPU was asked

	workers invariant.Group
	mu      sync.Mutex // guards what follows
	left    []int      // plans for the CPUs only, the costliest last
	order   []int      // queries; those from the end on are the CPUs'
	err     error
}

// Owners of a plan.
const (
	nobody uint32 = iota
	gpuOwns
	cpuOwns
)

// idleCPUs is how many CPUs answer queries of batches at the same time: all but those
// that keep the GPU at work.
func idleCPUs() int {
	n := runtime.GOMAXPROCS(0)
	return max(n-1-n/8, 1)
}

// reset begins a batch.
func (s *gpuShare) reset(ctx context.Context, g *GPU, plans []*Plan, answers []Answer) {
	s.ctx, s.gpu, s.plans, s.answers, s.err = ctx, g, plans, answers, nil
	s.left, s.order = s.left[:0], s.order[:0]
	if len(s.owners) < len(plans) {
		s.owners = make([]atomic.Uint32, len(plans))
	}
	for i := range s.owners {
		s.owners[i].Store(nobody)
	}
}

// stage says which plans the queries are of that the GPU is asked next.
func (s *gpuShare) stage(plans []int) {
	s.numbers = plans
	for _, i := range plans {
		s.owners[i].Store(nobody)
	}
}

// Begin has the CPUs begin.
func (s *gpuShare) Begin(order, left []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gpu.idle == 0 || len(s.order) > 0 || len(s.left) > 0 {
		return // there are none, or another device came first
	}
	s.order = append(s.order, order...)
	for _, q := range left {
		s.left = append(s.left, s.numbers[q])
	}
	s.start(len(order) + len(left))
}

// rest has the CPUs answer all that is not answered yet.
func (s *gpuShare) rest() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.answers {
		if s.answers[i].Traversal != gpuTraversal && !s.answered(i) {
			s.owners[i].Store(nobody)
			s.left = append(s.left, i)
		}
	}
	s.start(len(s.left))
}

// start starts workers for n plans.
func (s *gpuShare) start(n int) {
	for range min(n, cap(s.gpu.slots)) {
		s.workers.Go(s.work)
	}
}

// Take gives the GPU a query.
func (s *gpuShare) Take(query int) bool {
	owner := &s.owners[s.numbers[query]]
	return owner.CompareAndSwap(nobody, gpuOwns) || owner.Load() == gpuOwns
}

// answered reports whether a CPU has answered a plan, or is to.
func (s *gpuShare) answered(plan int) bool { return s.owners[plan].Load() == cpuOwns }

// take returns the next plan for a CPU, -1 if there is none.
func (s *gpuShare) take() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return -1
	}
	for {
		var plan int
		switch {
		case len(s.left) > 0:
			plan = s.left[len(s.left)-1]
			s.left = s.left[:len(s.left)-1]
		case len(s.order) > 0:
			plan = s.numbers[s.order[len(s.order)-1]]
			s.order = s.order[:len(s.order)-1]
		default:
			return -1
		}
		if s.owners[plan].CompareAndSwap(nobody, cpuOwns) {
			return plan
		}
	}
}

// work answers plans until there is none.
func (s *gpuShare) work() {
	sc, _ := s.gpu.scratches.Get().(*Scratch)
	if sc == nil {
		sc = new(Scratch) // it plans nothing, and so needs no analyzer
	}
	for s.answer(sc) {
	}
	s.gpu.scratches.Put(sc) // not deferred: what a panic leaves behind must not serve another
}

// answer answers the next plan; more: there may be another.
func (s *gpuShare) answer(sc *Scratch) (more bool) {
	s.gpu.slots <- struct{}{}
	defer func() { <-s.gpu.slots }()
	i := s.take()
	if i < 0 {
		return false
	}
	a, err := s.plans[i].runCPU(s.ctx, sc, s.answers[i].Hits, nil)
	if err != nil {
		s.fail(err)
		return false
	}
	s.answers[i] = a
	return true
}

// errAbandoned ends the share of a batch that panicked.
var errAbandoned = errors.New("the batch is given up")

// abandon ends the CPUs' part of a batch whose answers nobody waits for any more.
func (s *gpuShare) abandon() {
	s.fail(errAbandoned)
	_ = s.wait()
}

// fail ends the batch with an error.
func (s *gpuShare) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

// wait waits for the CPUs.
func (s *gpuShare) wait() error {
	s.workers.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left, s.order = s.left[:0], s.order[:0]
	return s.err
}
