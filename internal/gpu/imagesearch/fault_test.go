package imagesearch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// If a later launch of a query fails, the earlier ones have ended when the error returns.
func TestRefusedLaunch(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 16))
	c := randomCollection(t, rng, 3000, 4, false, 9)
	c.toDevice()
	b, err := c.kernels.NewBatch(limits)
	must(t, err)
	defer func() { must(t, b.Close()) }()
	s, err := c.kernels.NewSingle(0)
	must(t, err)
	defer func() { must(t, s.Close()) }()
	q := c.query(Or, 10, nil, c.Saturation.AvgLen, 1)
	q.gpu.Count = true
	more := c.query(Or, 10, nil, c.Saturation.AvgLen, 0, 1, 2, 3) // larger than q
	count := c.query(Or, 0, nil, c.Saturation.AvgLen, 0, 1)
	count.gpu.Count = true
	for nth := 1; nth <= 2; nth++ { // hits, then their number
		t.Run(fmt.Sprintf("single/%d", nth), func(t *testing.T) {
			gputest.Fail(t, c.Device, "cuLaunchKernel", nth, cuda.OutOfMemory)
			if err := s.Search(c.Stream, c.segment, &q.gpu); !errors.Is(err, cuda.ErrOutOfMemory) {
				t.Errorf("%v", err)
			}
			must(t, s.Search(c.Stream, c.segment, &count.gpu))
			count.compare(t, "single", c, s.AppendHits(nil), s.Count())
			must(t, s.Search(c.Stream, c.segment, &q.gpu))
			q.compare(t, "single", c, s.AppendHits(nil), s.Count())
		})
		t.Run(fmt.Sprintf("batch/%d", nth), func(t *testing.T) {
			gputest.Fail(t, c.Device, "cuLaunchKernel", nth, cuda.OutOfMemory)
			b.Reset(c.segment)
			_, err := b.Add(&q.gpu)
			must(t, err)
			if err := b.Launch(c.Stream); !errors.Is(err, cuda.ErrOutOfMemory) {
				t.Errorf("%v", err)
			}
			runBatch(t, "batch", c, b, []testQuery{more, count})
			runBatch(t, "batch", c, b, []testQuery{q, count})
		})
	}
}
