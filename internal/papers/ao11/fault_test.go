package ao11

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/engine"
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

// Each driver call fails in turn: the engine does not open, or its answers are right. A call that is out of memory once is
// no fault.
func TestFaults(t *testing.T) {
	snapshot, texts := someQueries(t)
	for _, form := range sampletest.Some(t, sampletest.UnderRace(2, 1), []string{"search=hs16", "search=lr,range=local", "codec=parapfd", "codec=newpfd", "codec=seglrc"}) {
		retried := func(t *testing.T, d *cuda.Device) {
			e, err := openOn(d, "ao11:threshold=900,"+form)
			if !gputest.Survived(t, err) {
				return
			}
			enginetest.CompareAnswers(t, e, snapshot, and10, texts)
			if s := e.Stats(); s.OnGPU != int64(len(texts)) || s.OnCPU != 0 || s.Faults != 0 {
				t.Errorf("%+v of %d queries", s, len(texts))
			}
			checkIdle(t, e)
			gputest.Survived(t, e.Close())
		}
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
			gputest.EachFault(t, cuda.OutOfMemory, nil, retried)
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

// Without memory, a batch first takes memory from lists and workspaces that no batch uses, then runs on the CPU.
func TestOutOfMemory(t *testing.T) {
	snapshot, _ := someQueries(t)
	for _, form := range sampletest.Some(t, 2, []string{"search=hs16", "search=lr,range=local", "codec=newpfd", "codec=lrc"}) {
		t.Run(form, func(t *testing.T) {
			e := onGPU(t, "ao11:"+form)
			d := e.gpu.device
			search := func(text string) (change engine.Stats) {
				t.Helper()
				before := e.Stats()
				queries, want := planned(t, snapshot, and10, text)
				if err := e.Search(t.Context(), queries); err != nil {
					t.Fatal(err)
				}
				checkAnswers(t, queries, want)
				after := e.Stats()
				return engine.Stats{OnCPU: after.OnCPU - before.OnCPU, OnGPU: after.OnGPU - before.OnGPU, Faults: after.Faults - before.Faults, ListHits: after.ListHits - before.ListHits}
			}
			search("w0 w1")
			// A batch that runs.
			used, err := e.gpu.take(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			queries, _ := planned(t, snapshot, and10, "w1")
			var b batch
			if err := b.add(t.Context(), &e.form, queries[0]); err != nil {
				t.Fatal(err)
			}
			if _, err := e.gpu.hold(t.Context(), used, &b); err != nil {
				t.Fatal(err)
			}
			lists := len(b.lists) // one a segment

			faults := gputest.Faults(t, d)
			faults.Fail("cuMemAlloc_v2", 1, cuda.OutOfMemory)
			if s := search("w2 w3"); s != (engine.Stats{OnGPU: 1}) {
				t.Errorf("once: %+v", s)
			}
			if n := len(e.gpu.lists.byKey); n != 3*lists {
				t.Errorf("%d lists are left, want the %d that are in use and %d new ones", n, lists, 2*lists)
			}
			if s := search("w1"); s.ListHits != int64(lists) || s.OnGPU != 1 {
				t.Errorf("lists in use: %+v", s)
			}
			faults.Fail("cuMemAlloc_v2", 0, cuda.OutOfMemory)
			if s := search("w4 w5"); s != (engine.Stats{OnCPU: 1, Faults: 1}) {
				t.Errorf("always: %+v", s)
			}
			if n := len(e.gpu.lists.byKey); n != lists {
				t.Errorf("%d lists are left, want the %d that are in use", n, lists)
			}
			d.InjectFaults(nil)
			if s := search("w4 w5"); s != (engine.Stats{OnGPU: 1}) {
				t.Errorf("with memory again: %+v", s)
			}
			e.gpu.giveBack(used, true)
			checkIdle(t, e)
		})
	}
}

// An error of a list that only the copy to the device finds is its query's.
func TestErrorsAreNoFaults(t *testing.T) {
	snapshot, _ := someQueries(t)
	e := onGPU(t, "ao11:codec=lrc,threshold=1000000")
	queries, want := planned(t, snapshot, and10, "w0 w1", "w2 w3", "w1 w4")
	legs := queries[1].Plan.Stage(0).Legs(1)
	list, err := e.form.listOf(&legs[0], snapshot.Segments[1].NumDocs())
	if err != nil {
		t.Fatal(err)
	}
	kept := slices.Clone(list.Bytes())
	for i := range list.Bytes() {
		list.Bytes()[i] = 0xff
	}
	if err := e.Search(t.Context(), queries); err != nil {
		t.Fatal(err)
	}
	copy(list.Bytes(), kept)
	if err := queries[1].Err; !errors.Is(err, base.ErrCorrupt) || !strings.Contains(err.Error(), snapshot.Segments[1].Name) || !strings.Contains(err.Error(), "w2 w3") {
		t.Errorf("a damaged list: %v", err)
	}
	checkAnswers(t, queries[:1], want[:1])
	checkAnswers(t, queries[2:], want[2:])
	if s := e.Stats(); s.Faults != 0 || s.OnCPU != 0 || s.OnGPU != 2 {
		t.Errorf("%+v", s)
	}
	checkIdle(t, e)
}

func TestIsFault(t *testing.T) {
	for _, c := range []struct {
		err             error
		ofDevice, fault bool
	}{
		{nil, false, false},
		{base.ErrBadInput, false, false},
		{&queryError{0, base.ErrCorrupt}, false, false},
		{fmt.Errorf("copy: %w", &cuda.Error{Code: cuda.OutOfMemory}), true, true},
		{errors.Join(base.ErrCorrupt, &cuda.Error{Code: cuda.LaunchFailed}), true, true},
		{&cuda.Error{Code: cuda.Misuse}, true, false},
	} {
		if ofDevice(c.err) != c.ofDevice || isFault(c.err) != c.fault {
			t.Errorf("%v: of the device %v, a fault %v", c.err, ofDevice(c.err), isFault(c.err))
		}
	}
}
