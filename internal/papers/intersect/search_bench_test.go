package intersect_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/querytest"
	"github.com/griffin-search/griffin/internal/papers/intersect"
)

// GOV queries one by one: the launch overhead that PARA (package para) avoids.
// Device time only.
func BenchmarkSearch(b *testing.B) {
	e := newSearching(b)
	docs, lists, queries := querytest.GovDocs, 1024, 200
	if !gputest.OnGPU() {
		docs, lists, queries = 1<<14, 64, 4
	}
	w := querytest.Gov(1, docs, lists, queries)
	for a := range intersect.NumSearches {
		b.Run("search="+a.String(), func(b *testing.B) { e.benchmark(b, a, plainContraction(a, docs), w) })
	}
	b.Run("search=hs-bitmap", func(b *testing.B) {
		e.benchmark(b, intersect.HashSegmentation, intersect.DefaultContraction(docs), w)
	})
}

func (e searching) benchmark(b *testing.B, a intersect.Search, c intersect.Contraction, w *querytest.Workload) {
	var operands []*intersect.Operands
	elements := 0
	for _, q := range w.Queries {
		var lists [][]uint32
		for _, l := range q {
			lists = append(lists, w.Lists[l])
		}
		o := e.operands(b, a, c, lists)
		operands = append(operands, o)
		elements += o.Shortest()
	}
	space, err := intersect.NewWorkspace(e.Device, w.NumDocs, w.NumDocs)
	must(b, err)
	defer space.Free()
	out, err := intersect.NewCandidates(e.Device, 0, w.NumDocs)
	must(b, err)
	defer out.Free()
	var took time.Duration
	rounds := 0
	for b.Loop() {
		took += gputest.Elapsed(b, e.Stream, func() {
			for _, o := range operands {
				must(b, e.searcher.Search(e.Stream, space, o, out))
			}
		})
		rounds++
	}
	b.ReportMetric(float64(rounds*len(operands))/took.Seconds(), "queries/s")
	b.ReportMetric(float64(rounds*elements)/took.Seconds()/1e9, "Gelements/s")
}

// A million elements in an evenly spread list of eight million.
func BenchmarkProbes(b *testing.B) {
	e := newSearching(b)
	short, long := 1<<20, 1<<23
	if !gputest.OnGPU() {
		short, long = 1<<10, 1<<13
	}
	lists := [][]uint32{spread(short, 8*16), spread(long, 16)}
	for a := range intersect.NumSearches {
		b.Run(fmt.Sprintf("search=%s/ratio=8", a), func(b *testing.B) {
			o := e.operands(b, a, plainContraction(a, 16*long+16), lists)
			space, err := intersect.NewWorkspace(e.Device, short, short)
			must(b, err)
			defer space.Free()
			out, err := intersect.NewCandidates(e.Device, 0, short)
			must(b, err)
			defer out.Free()
			var took time.Duration
			rounds := 0
			for b.Loop() {
				took += gputest.Elapsed(b, e.Stream, func() {
					for range 10 {
						must(b, e.searcher.Search(e.Stream, space, o, out))
					}
				})
				rounds += 10
			}
			b.ReportMetric(float64(rounds*short)/took.Seconds()/1e9, "Gprobes/s")
		})
	}
}

func spread(n, gap int) []uint32 {
	out := make([]uint32, n)
	state := uint64(1)
	for i := range out {
		state = state*6364136223846793005 + 1442695040888963407
		out[i] = uint32(i*gap) + uint32(state>>33)%uint32(gap)
	}
	return out
}
