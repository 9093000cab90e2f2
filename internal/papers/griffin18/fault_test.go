package griffin18

import (
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
)

// Every driver call may fail: the CPU answers.
func TestFaults(t *testing.T) {
	sampletest.SkipRace(t)
	merged, searched := frequent(t), skewed(t)
	for _, code := range []cuda.Code{cuda.OutOfMemory, cuda.LaunchFailed} {
		gputest.EachFault(t, code, nil, func(t *testing.T, d *cuda.Device) {
			for _, o := range []options{
				{on: onGPU, crossing: 30, ranking: rankBucket},
				{ratio: 30, crossing: 128, cpuCrossing: 30},
			} {
				e, err := newEngine(o, d)
				if !gputest.Survived(t, err) {
					return
				}
				answers(t, e, prepare(t, merged, "w0 w1 w3", and))
				answers(t, e, prepare(t, searched, "all rare medium", and))
				if got := e.Stats(); got.Faults > 1 && d.Err() == nil || got.OnCPU+got.OnGPU != 2 {
					t.Errorf("%+v", got)
				}
				gputest.Survived(t, e.Close())
			}
		})
	}
}

// After the loss of the device, all queries run on the CPU.
func TestLostDevice(t *testing.T) {
	d := gputest.OpenEmulated(t, gputest.Config{Devices: 1, MemoryBytes: 256 << 20})[0]
	e, err := newEngine(options{ratio: 128, crossing: 128, cpuCrossing: 128}, d)
	if err != nil {
		t.Fatal(err)
	}
	s := frequent(t)
	gputest.Lose(t, 3, cuda.LaunchFailed)
	for range 3 {
		answers(t, e, prepare(t, s, "w0 w1 w3", and))
	}
	if got := e.Stats(); got.OnCPU != 3 || got.Faults != 1 {
		t.Errorf("%+v", got)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// An error in the second segment leaves the hits of the first.
func TestLaterSegmentFails(t *testing.T) {
	s := twoSegments(t)
	for nth := 1; nth < 40; nth += 3 {
		d := gputest.Open(t)
		e := openOn(t, options{on: onGPU, crossing: 128}, d)
		answers(t, e, prepare(t, s, "w0 w1", and))
		gputest.Fail(t, d, "cuMemcpyHtoDAsync_v2", nth, cuda.OutOfMemory)
		answers(t, e, prepare(t, s, "w0 w1", and))
		d.InjectFaults(nil)
	}
}

func twoSegments(t *testing.T) *index.Snapshot {
	rng := rand.New(rand.NewPCG(18, 2))
	return indextest.Snapshot(t, plantest.RandomIndex(t, rng, 600, 2, true /* deletes */))
}
