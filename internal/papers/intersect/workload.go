package intersect

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// RandomList returns about n <= numDocs ascending DocIDs below numDocs with
// uniformly distributed gaps, the same for the same seed; fewer if the DocIDs
// end first.
func RandomList(seed uint64, n int, numDocs uint32) []uint32 {
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	out := make([]uint32, 0, n)
	// Gaps from 1 to spread-1 have the mean gap.
	spread := max(2, 2*uint64(numDocs)/uint64(max(1, n)))
	at := rng.Uint64N(spread)
	for len(out) < n && at < uint64(numDocs) {
		out = append(out, uint32(at))
		at += 1 + rng.Uint64N(spread-1)
	}
	return out
}

// Time returns the mean device time of the work that put enqueues. It captures
// the work rounds times as one graph, so that no launch waits for the host, and
// measures the graph's second run, with warm caches.
func Time(s *cuda.Stream, rounds int, put func() error) (mean time.Duration, err error) {
	if err := s.BeginCapture(); err != nil {
		return 0, err
	}
	var failed error
	for i := 0; i < rounds && failed == nil; i++ {
		failed = put()
	}
	graph, err := s.EndCapture()
	if err != nil {
		return 0, errors.Join(failed, err)
	}
	defer func() { err = errors.Join(err, graph.Close()) }()
	if failed != nil {
		return 0, failed
	}
	run, err := graph.Instantiate()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	from, err := s.Device().NewEvent(true)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := s.Device().NewEvent(true)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	for _, step := range []func() error{
		func() error { return run.Launch(s) }, s.Synchronize,
		func() error { return s.Record(from) }, func() error { return run.Launch(s) }, func() error { return s.Record(to) },
		to.Synchronize,
	} {
		if err := step(); err != nil {
			return 0, err
		}
	}
	took, err := to.Elapsed(from)
	return took / time.Duration(rounds), err
}
