package ao11

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/papers/enginetest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
)

var and10 = plan.Options{Mode: plan.ModeAnd, K: 10, Count: true}

// someQueries returns a small index of two segments with deleted documents, and queries.
func someQueries(t *testing.T) (*index.Snapshot, []string) {
	rng := rand.New(rand.NewPCG(9, 4))
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 600, 2, true))
	var texts []string
	for i := range 12 {
		texts = append(texts, plantest.RandomWords(rng, 1+i%4))
	}
	return snapshot, texts
}

// Each driver call fails in turn: the engine does not open, or its answers are right.
func TestFaults(t *testing.T) {
	snapshot, texts := someQueries(t)
	for _, form := range sampletest.Some(t, sampletest.UnderRace(2, 1), []string{"search=hs16", "search=lr,range=local", "codec=parapfd", "codec=newpfd", "codec=seglrc"}) {
		run := func(t *testing.T, d *cuda.Device) {
			e, err := openOn(d, "ao11:threshold=900,"+form)
			if !gputest.Survived(t, err) {
				return
			}
			enginetest.CompareAnswers(t, e, snapshot, and10, texts)
			if s := e.Stats(); s.OnCPU+s.OnGPU != int64(len(texts)) || s.OnCPU < s.Faults || d.Err() != nil && s.Faults == 0 {
				t.Errorf("%+v of %d queries", s, len(texts))
			}
			gputest.Survived(t, e.Close())
		}
		t.Run(form, func(t *testing.T) {
			gputest.EachFault(t, cuda.OutOfMemory, nil, run)
			gputest.EachFault(t, cuda.LaunchFailed, []string{"cuLaunchKernel", "cuEventSynchronize"}, run)
		})
	}
}

// After the loss of the device, the CPU answers.
func TestLostDevice(t *testing.T) {
	snapshot, texts := someQueries(t)
	d := gputest.Open(t)
	e, err := openOn(d, "ao11:threshold=1")
	if err != nil {
		t.Fatal(err)
	}
	enginetest.CompareAnswers(t, e, snapshot, and10, texts)
	before := e.Stats()
	gputest.Fail(t, d, "cuLaunchKernel", 1, cuda.LaunchFailed)
	enginetest.CompareAnswers(t, e, snapshot, and10, texts)
	lost := e.Stats() // a batch of another goroutine may have been launched before the loss
	if d.Err() == nil || before.Faults != 0 || lost.Faults == 0 || lost.Faults > lost.OnCPU-before.OnCPU {
		t.Errorf("device %v, %+v, then %+v", d.Err(), before, lost)
	}
	enginetest.CompareAnswers(t, e, snapshot, and10, texts)
	if after := e.Stats(); after.OnGPU != lost.OnGPU || after.Faults != lost.Faults || after.OnCPU != lost.OnCPU+int64(len(texts)) {
		t.Errorf("after the loss: %+v, then %+v", lost, after)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func TestOpenWithoutKernels(t *testing.T) {
	d := gputest.Open(t)
	gputest.Fail(t, d, "cuModuleLoadDataEx", 1, cuda.OutOfMemory)
	if _, err := openOn(d, "ao11"); !errors.Is(err, cuda.ErrOutOfMemory) {
		t.Errorf("an engine without kernels: %v", err)
	}
}
