package imagesearch

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/querytest"
)

// Queries with filters at random and of adjacent documents equal the CPU's, alone and in batches. A filter that few documents
// pass at random lowers the threshold, but at most doubles the ranges that are scored.
func TestFilters(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 1))
	const numDocs, numQueries = 40_000, 24
	var lists []querytest.List
	for _, share := range []float64{0.3, 0.1, 0.03, 0.01, 0.003, 0.001} {
		for _, clustered := range []bool{false, false, true} {
			lists = append(lists, randomList(rng, numDocs, density{share, clustered}, 30))
		}
	}
	c := newCollection(t, rng, numDocs, false, lists)
	c.toDevice()
	batch, err := c.kernels.NewBatch(Limits{Queries: numQueries, Terms: 8 * numQueries, Hits: 10 * numQueries})
	must(t, err)
	single, err := c.kernels.NewSingle(0)
	must(t, err)
	defer func() { must(t, single.Close()); must(t, batch.Close()) }()
	queries := make([]testQuery, numQueries)
	scored := func(name string, pass func(doc int) bool) (ranges int) {
		bitmap := make([]uint64, (numDocs+63)/64)
		for d := range numDocs {
			if pass(d) {
				bitmap[d/64] |= 1 << (d % 64)
			}
		}
		rng := rand.New(rand.NewPCG(62, 1)) // the same queries each time
		for i := range queries {
			queries[i] = c.query(Or, 10, nil, c.Saturation.AvgLen, pick(rng, 1+rng.IntN(5), len(lists))...)
			if name != "none" {
				queries[i].filter(c, bitmap)
			}
		}
		runBatch(t, name, c, batch, queries)
		for i := range queries {
			ranges += int(batch.memory.results.Data()[i].ranges)
		}
		for i := range queries[:6] {
			must(t, single.Search(c.Stream, c.segment, &queries[i].gpu))
			queries[i].compare(t, name+", alone", c, single.AppendHits(nil), single.Count())
		}
		return ranges
	}
	all := scored("none", func(int) bool { return true })
	for _, share := range []float64{0.9, 0.5, 0.1, 0.01} {
		ranges := scored(fmt.Sprintf("random %g", share), func(int) bool { return rng.Float64() < share })
		scored(fmt.Sprintf("row %g", share), func(doc int) bool { return float64(doc) < share*numDocs })
		if t.Logf("%g of the documents pass: %d ranges, without a filter %d", share, ranges, all); share <= 0.1 && ranges > 2*all {
			t.Errorf("%g of the documents pass: %d ranges are scored, without a filter %d", share, ranges, all)
		}
	}
}
