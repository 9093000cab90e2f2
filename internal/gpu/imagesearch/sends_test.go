package imagesearch

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/querytest"
)

// The blocks of a single query send their hits, if there are few: ties, more hits in a block than it may send, none, and
// launches of other kinds between them, which use another state.
func TestSingleSends(t *testing.T) {
	const numDocs = 60_000
	rng := rand.New(rand.NewPCG(14, 14))
	lists := []querytest.List{{}, {}}
	for doc := range uint32(numDocs) { // all scores are equal, or differ in groups of documents
		if doc%3 != 0 {
			lists[0].DocIDs, lists[0].Freqs = append(lists[0].DocIDs, doc), append(lists[0].Freqs, 2)
		}
		if doc%2 == 0 {
			lists[1].DocIDs, lists[1].Freqs = append(lists[1].DocIDs, doc), append(lists[1].Freqs, 1+doc/20_000)
		}
	}
	for _, d := range []density{{0.3, false}, {0.05, true}, {0.01, false}, {0.0001, false}} {
		lists = append(lists, randomList(rng, numDocs, d, 9))
	}
	c := newCollection(t, rng, numDocs, true, lists)
	c.DeleteSome(rng, 0.1)
	c.toDevice()
	if c.kernels.residentOne < 4 {
		c.kernels.residentOne = 4
	}
	s, err := c.kernels.NewSingle(0)
	must(t, err)
	defer func() { must(t, s.Close()) }()
	sent := 0
	for i := range 60 {
		terms := pick(rng, 1+rng.IntN(3), len(lists))
		k := []int{1, 2, 10, sentHits, sentHits + 1, 300}[rng.IntN(6)]
		q := c.query(Mode(rng.IntN(2)), k, nil, c.Saturation.AvgLen, terms...)
		q.gpu.Count = rng.IntN(8) == 0
		counted := rng.IntN(4) == 0
		s.SetCounted(counted)
		s.SetStay(rng.IntN(2) == 0)
		must(t, s.Search(c.Stream, c.segment, &q.gpu))
		q.compare(t, fmt.Sprintf("query %d, mode %d, k %d, terms %v", i, q.gpu.Mode, k, terms), c, s.AppendHits(nil), s.Count())
		if s.sends {
			sent++
			if k > sentHits || counted || q.gpu.Count {
				t.Errorf("sent for k %d, counted %t", k, counted)
			}
			if s.Stats() != (Stats{}) {
				t.Errorf("work of another query: %+v", s.Stats())
			}
		} else if counted && q.gpu.Mode == Or && s.Stats().Ranges == 0 {
			t.Error("no work")
		}
	}
	if sent < 15 {
		t.Errorf("%d of 60 queries were sent by blocks", sent)
	}
}
