package ding09

import (
	"errors"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/papers/scoring"
	"github.com/griffin-search/griffin/internal/papers/selection"
)

// ranker has the sums of a query and selects the best: narrow sums with a heap of degree 512 (§8.2),
// wide ones, which the heap has no keys for, by bucket select.
type ranker[S scoring.Sum, K selection.Key | selection.WideKey] struct {
	// sums of the candidates before and after an intersection; the first also of all documents.
	sums [2]cuda.Buffer[S]
	keys cuda.Buffer[K] // k of each selection
	back cuda.HostBuffer[K]

	choose func(k *kernels, s *cuda.Stream, source selection.Source[S], n int, out cuda.Buffer[K], scratch *selection.Scratch) error
	count  func(k *kernels, s *cuda.Stream, source selection.Source[S], count cuda.Buffer[uint32]) error
	hits   func(dst []base.Hit, keys []K) []base.Hit
	// first returns global scores as sums before the first term, or the zero Buffer.
	first      func(globals cuda.Buffer[uint32]) cuda.Buffer[S]
	addGlobals func(k *kernels) *cuda.Kernel
	// For accumulators: documents with lower sums have no posting.
	leastScore, leastPostings uint32
}

type (
	narrowRanker = ranker[uint32, selection.Key]
	wideRanker   = ranker[uint64, selection.WideKey]
)

func newNarrowRanker() *narrowRanker {
	return &narrowRanker{
		choose: func(k *kernels, s *cuda.Stream, source selection.Source[uint32], n int, out cuda.Buffer[selection.Key], scratch *selection.Scratch) error {
			return k.selector.Select(s, selection.Heap, source, n, out, scratch)
		},
		count: func(k *kernels, s *cuda.Stream, source selection.Source[uint32], count cuda.Buffer[uint32]) error {
			return k.selector.Count(s, source, count)
		},
		hits: selection.AppendHits, leastScore: 1,
		first:      func(globals cuda.Buffer[uint32]) cuda.Buffer[uint32] { return globals },
		addGlobals: func(k *kernels) *cuda.Kernel { return k.addGlobals },
	}
}

func newWideRanker() *wideRanker {
	return &wideRanker{
		choose: func(k *kernels, s *cuda.Stream, source selection.Source[uint64], n int, out cuda.Buffer[selection.WideKey], scratch *selection.Scratch) error {
			return k.selector.Wide(s, source, n, out, scratch)
		},
		count: func(k *kernels, s *cuda.Stream, source selection.Source[uint64], count cuda.Buffer[uint32]) error {
			return k.selector.CountWide(s, source, count)
		},
		hits: selection.AppendWideHits, leastPostings: 1,
		first:      func(cuda.Buffer[uint32]) (none cuda.Buffer[uint64]) { return none },
		addGlobals: func(k *kernels) *cuda.Kernel { return k.addGlobalsWide },
	}
}

// clearLen is a multiple of the accumulators that kernels clear together.
const clearLen = 4

func (r *ranker[S, K]) grow(d *cuda.Device, n sizes) error {
	scores := (n.scores + clearLen - 1) / clearLen * clearLen
	return errors.Join(
		cuda.Grow(d, &r.sums[0], scores, cuda.Alloc[S]),
		cuda.Grow(d, &r.sums[1], n.shortest, cuda.Alloc[S]),
		cuda.Grow(d, &r.keys, n.keys, cuda.Alloc[K]),
		cuda.Grow(d, &r.back, n.keys, cuda.AllocHost[K]),
	)
}

func (r *ranker[S, K]) free() error {
	err := errors.Join(r.sums[0].Free(), r.sums[1].Free(), r.keys.Free(), freeHost(r.back))
	r.sums, r.keys, r.back = [2]cuda.Buffer[S]{}, cuda.Buffer[K]{}, cuda.HostBuffer[K]{}
	return err
}
