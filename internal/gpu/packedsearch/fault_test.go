package packedsearch

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/querytest"
)

// After a failure of any driver call, the answer is right or an error, and all memory is freed.
func TestFaults(t *testing.T) {
	run := func(t *testing.T, d *cuda.Device) {
		rng := rand.New(rand.NewPCG(12, 12))
		s, err := d.NewStream()
		if err != nil {
			t.Fatal(err)
		}
		lists := []querytest.List{randomList(rng, 300, 1, 9), randomList(rng, 300, 2, 9)}
		c := collectionOn(&gputest.Session{TB: t, Device: d, Stream: s}, rng, 300, false, lists)
		// The test's own calls do not fail.
		faults := d.InjectedFaults()
		d.InjectFaults(nil)
		c.upload(onHost)
		d.InjectFaults(faults)
		q := c.query(false, 10, 1, c.Saturation.AvgLen, onHost, 0, 1)
		hits, err := c.runAnew(&q.gpu)
		d.InjectFaults(nil)
		if gputest.Survived(t, err) && !slices.Equal(hits, q.matches(t)[:10]) {
			t.Errorf("hits %v", hits)
		}
		if err := s.Close(); err != nil && d.Err() == nil {
			t.Error(err)
		}
	}
	gputest.EachFault(t, cuda.OutOfMemory, []string{"cuMemAlloc_v2", "cuMemHostAlloc", "cuModuleLoadDataEx", "cuLaunchKernel", "cuMemsetD8Async"}, run)
}

// With new kernels and a new runner.
func (c *collection) runAnew(q *Query) (hits []base.Hit, err error) {
	k, err := New(c.Device)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	r, err := k.NewRunner(Limits{Candidates: 10})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	hits, _, err = r.Run(c.Stream, c.segment, q, nil, nil)
	return hits, err
}

func TestRefusedLaunch(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	c := randomCollection(t, rng, 300, 4, false, 9, 0)
	q := c.query(false, 10, 1, c.Saturation.AvgLen, onHost, 0, 1)
	for nth := 1; nth <= 2; nth++ { // the copy of directories, the search
		gputest.Fail(t, c.Device, "cuLaunchKernel", nth, cuda.OutOfMemory)
		if _, _, err := c.runner.Run(c.Stream, c.segment, &q.gpu, nil, nil); !errors.Is(err, cuda.ErrOutOfMemory) {
			t.Errorf("launch %d: %v", nth, err)
		}
		c.check("after", q, q.matches(t))
		c.Device.InjectFaults(nil)
	}
}

// The copy of directories has ended when the error returns.
func TestRefusedSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 16))
	c := randomCollection(t, rng, 300, 4, false, 9, 0)
	q := c.query(false, 10, 1, c.Saturation.AvgLen, onHost, 0)
	list := &q.gpu.Lists[0]
	directory, err := cuda.AllocHost[uint32](c.Device, list.List.NumBlocks()*decode.EntryWords)
	c.Must(err)
	defer func() { c.Must(directory.Free()) }()
	for i := range directory.Data() {
		directory.Data()[i] = uint32(i)
	}
	list.Directory = directory.DevicePtr()
	want := slices.Clone(directory.Data())
	gputest.Fail(t, c.Device, "cuLaunchKernel", 2, cuda.OutOfMemory)
	if _, _, err := c.runner.Run(c.Stream, c.segment, &q.gpu, nil, nil); !errors.Is(err, cuda.ErrOutOfMemory) {
		t.Errorf("%v", err)
	}
	clear(directory.Data())
	if got := gputest.Download(c.Session, c.runner.directories.Slice(0, len(want))); !slices.Equal(got, want) {
		t.Errorf("copied %v, want %v", got, want)
	}
}
