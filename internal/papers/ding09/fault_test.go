package ding09

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/query"
)

func rng() *rand.Rand { return rand.New(rand.NewPCG(2009, 4)) }

func frequent(t testing.TB) *index.Snapshot {
	t.Helper()
	return indextest.Snapshot(t, plantest.FrequentIndex(t, codec.Default, 600))
}

// Each driver call fails in turn: the answers are the same, from either processor.
func TestFaults(t *testing.T) {
	snapshot := frequent(t)
	run := func(on processors) func(t *testing.T, d *cuda.Device) {
		return func(t *testing.T, d *cuda.Device) {
			o := defaults(on)
			e, err := newEngine(d, &o)
			if !gputest.Survived(t, err) {
				return
			}
			for _, mode := range []plan.Mode{plan.ModeAndOr, plan.ModeOr} {
				q := prepare(t, snapshot, &query.Words{Text: "w0 w1 w3", Boost: 1}, plan.Options{Mode: mode, K: 5, Count: true})
				search(t, e, &q)
			}
			if s := e.Stats(); s.OnCPU+s.OnGPU != 2 || s.Faults > 1 {
				t.Errorf("%+v", s)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	gputest.EachFault(t, cuda.OutOfMemory, []string{"cuMemAlloc_v2", "cuMemAllocAsync", "cuMemHostAlloc"}, run(onGPU))
	gputest.EachFault(t, cuda.LaunchFailed, []string{"cuLaunchKernel", "cuStreamSynchronize"}, run(onGPU))
	gputest.EachFault(t, cuda.LaunchFailed, []string{"cuLaunchKernel"}, run(onBoth))
}

// After the device was lost, the CPU answers.
func TestLostDevice(t *testing.T) {
	snapshot := frequent(t)
	for _, on := range []processors{onGPU, onBoth} {
		shared := gputest.Open(t)
		d, err := shared.Library().Open(shared.Info().Ordinal)
		if err != nil {
			t.Fatal(err)
		}
		e := openEngine(t, d, defaults(on))
		e.device = d
		gputest.Fail(t, d, "cuLaunchKernel", 20, cuda.LaunchFailed)
		for i := range 6 {
			q := prepare(t, snapshot, &query.Words{Text: "w0 w1 w2", Boost: 1}, plan.Options{Mode: plan.ModeAnd, K: 5})
			if i == 5 {
				q.Trace = &plan.Trace{}
			}
			search(t, e, &q)
		}
		if s := e.Stats(); s.Faults != 1 || s.OnCPU == 0 || s.OnCPU+s.OnGPU != 6 {
			t.Errorf("%v: %+v", on, s)
		}
		if !e.gpu.lost() {
			t.Error("the device works")
		}
	}
}

// ending is a context that ends after some looks at it.
type ending struct {
	context.Context
	looks atomic.Int64
}

func (e *ending) Err() error {
	if e.looks.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// A query ends with its context at any step.
func TestContextEnds(t *testing.T) {
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng(), 300, 2, true))
	for _, on := range []processors{onCPU, onGPU, onBoth} {
		e := openEngine(t, gputest.Open(t), defaults(on))
		ended := 0
		for looks := int64(0); ; looks++ {
			q := prepare(t, snapshot, &query.Words{Text: "w0 w1 w2", Boost: 1}, plan.Options{Mode: plan.ModeAndOr, K: 290})
			ctx := &ending{Context: t.Context()}
			ctx.looks.Store(looks)
			err := e.Search(ctx, []*engine.Query{q.Query})
			if err == nil {
				q.check(t)
				break
			}
			if ended++; !errors.Is(err, context.Canceled) {
				t.Fatalf("%v, %d looks: %v", on, looks, err)
			}
		}
		if ended < 3 {
			t.Errorf("%v: %d steps", on, ended)
		}
		q := prepare(t, snapshot, &query.Words{Text: "w0 w1 w2", Boost: 1}, plan.Options{Mode: plan.ModeAndOr, K: 290})
		search(t, e, &q)
	}
}
