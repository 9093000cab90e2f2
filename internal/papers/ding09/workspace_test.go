package ding09

import (
	"errors"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/papers/selection"
)

// A query whose workspace does not fit leaves no larger one to others, and the slack is given up first.
func TestWorkspaceOutOfMemory(t *testing.T) {
	d := gputest.Open(t)
	var w workspace
	defer func() {
		if err := w.free(); err != nil {
			t.Error(err)
		}
	}()
	grow := func(shortest, longest int) error {
		return w.growMatching(d, sizes{shortest: shortest, longest: longest})
	}
	check := func(err error, shortest, longest, candidates int) {
		t.Helper()
		if err != nil || w.shortest != shortest || w.longest != longest || w.candidatesCapacity != candidates {
			t.Errorf("%v: for %d and %d postings, %d candidates, want %d, %d, %d", err, w.shortest, w.longest, w.candidatesCapacity, shortest, longest, candidates)
		}
	}
	check(grow(1000, 2000), 1250, 2500, 1250)
	gputest.Fail(t, d, "cuMemAlloc_v2", 0, cuda.OutOfMemory)
	if err := grow(1<<20, 1<<22); !errors.Is(err, cuda.ErrOutOfMemory) {
		t.Errorf("without memory: %v", err)
	}
	d.InjectFaults(nil)
	check(grow(1000, 1000), 1250, 1250, 1250)
	gputest.Fail(t, d, "cuMemAlloc_v2", 1, cuda.OutOfMemory)
	check(grow(2000, 3000), 2000, 3000, 2000)
	w.freeMatching()
	w.freeCandidates()
	check(grow(2000, 3000), 2500, 3750, 2500)
	w.freeCandidates()
	gputest.Fail(t, d, "cuMemAlloc_v2", 1, cuda.OutOfMemory)
	check(grow(2000, 3000), 2500, 3750, 2000)

	s, err := selection.New(d)
	if err != nil {
		t.Fatal(err)
	}
	gputest.Fail(t, d, "cuMemAlloc_v2", 1, cuda.OutOfMemory)
	if err := w.growScratch(s, 1000); err != nil || w.scratchRoom != 1000 {
		t.Errorf("%v: scratch for %d scores", err, w.scratchRoom)
	}
	if err := errors.Join(w.growScratch(s, 1001), s.Close()); err != nil || w.scratchRoom != slack(1001) {
		t.Errorf("%v: scratch for %d scores", err, w.scratchRoom)
	}
}
