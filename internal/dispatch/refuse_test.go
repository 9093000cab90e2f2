package dispatch

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/resultcache"
	"github.com/griffin-search/griffin/internal/saat"
	"github.com/griffin-search/griffin/internal/sched"
)

// sleepingWork is a job of the GPU that takes a time.
type sleepingWork time.Duration

func (w sleepingWork) Run(context.Context, sched.Place) error {
	time.Sleep(time.Duration(w))
	return nil
}

func (w sleepingWork) RunBatch(ctx context.Context, all []sched.Work, outcomes []error) {
	for i := range all {
		outcomes[i] = w.Run(ctx, sched.GPU)
	}
}

// While the GPU is overloaded, queries are refused before they are planned: if it could run them, and if they are not in the
// result cache.
func TestRefuse(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 1))
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 200, 1, false))
	results := resultcache.New(1 << 20)
	known, unknown := frequentWords(rng, 2), frequentWords(rng, 3)
	sc, err := NewScratch("whitespace")
	if err != nil {
		t.Fatal(err)
	}
	searcher := func(d *Dispatcher) *Searcher {
		s := NewSearcher(snapshot, nil)
		s.Use(d)
		s.UseResults(results)
		return s
	}
	allowed := Options{Mode: plan.ModeOr, K: 10, Cached: true, Refusal: Refusal{Allowed: true}}
	q, err := searcher(nil).Prepare(sc, known, allowed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Run(t.Context(), sc, nil); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		const within, part = 10 * time.Millisecond, 20
		pool, err := sched.NewPool(sched.Options{CPUs: 2, Lanes: 1, MaxBatch: 1, Deadline: within, Feeding: feedingTime})
		if err != nil {
			t.Fatal(err)
		}
		d := &Dispatcher{gpu: new(GPU), pool: pool, policy: costPolicy{}}
		var group sync.WaitGroup
		defer group.Wait()
		group.Go(func() {
			j := sched.Job{Cost: [sched.NumPlaces]time.Duration{sched.Never, within - time.Millisecond}, Within: sched.Never}
			if err := pool.Do(t.Context(), &j, sleepingWork(within-time.Millisecond)); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		isOverload := func(err error) bool {
			var overload *sched.Overload
			if err != nil && !errors.As(err, &overload) {
				t.Fatal(err)
			}
			return err != nil
		}
		refused := func(d *Dispatcher, o Options) (n int) {
			for range part {
				if isOverload(d.Refuse(&o)) {
					n++
				}
			}
			return n
		}
		shed := func(n int) {
			for range n {
				j := sched.Job{Cost: [sched.NumPlaces]time.Duration{2 * time.Millisecond, 3 * time.Millisecond}, Batched: 2 * time.Millisecond, Patient: true}
				if !isOverload(pool.Do(t.Context(), &j, sleepingWork(0))) {
					t.Fatal("a job is not shed")
				}
			}
		}
		if n := refused(d, allowed); n > 0 {
			t.Errorf("%d are refused without an overload", n)
		}
		shed(part)
		time.Sleep(time.Millisecond)
		shed(1)
		if n := refused(d, allowed); n < part-2 || n == part { // some are planned
			t.Errorf("%d of %d are refused", n, part)
		}
		for name, change := range map[string]func(o *Options){
			"not allowed":  func(o *Options) { o.Refusal.Allowed = false },
			"CPU":          func(o *Options) { o.CPU = true },
			"policy":       func(o *Options) { o.Policy = PolicyGPU },
			"placement":    func(o *Options) { o.Placement = new(Placement) },
			"traversal":    func(o *Options) { o.Traversal = "wand" },
			"accumulators": func(o *Options) { o.Accumulators = "hash" },
			"budget":       func(o *Options) { o.Budget = saat.Budget{Postings: 1} },
			"k":            func(o *Options) { o.K = pipeline.MaxK + 1 },
			"nothing":      func(o *Options) { o.K = 0 },
		} {
			o := allowed
			if change(&o); refused(d, o) > 0 {
				t.Errorf("%s: refused", name)
			}
		}
		if refused(nil, allowed) > 0 || refused(new(Dispatcher), allowed) > 0 || refused(&Dispatcher{pool: pool}, allowed) > 0 {
			t.Error("refused without a GPU or without queues")
		}
		s, n := searcher(d), 0
		for range 2 {
			_, err := s.Prepare(sc, unknown, allowed)
			if isOverload(err) {
				n++
			}
			q, err := s.Prepare(sc, known, allowed)
			if err != nil || q.cached == nil {
				t.Fatalf("a query in the result cache: %v", err)
			}
		}
		if n == 0 {
			t.Error("a query that is not in the result cache is not refused")
		}
	})
}
