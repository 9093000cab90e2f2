package para_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/querytest"
	"github.com/griffin-search/griffin/internal/papers/intersect"
	"github.com/griffin-search/griffin/internal/papers/para"
)

// Batches of GOV queries (1.05 M documents, shortest lists of 8.4 K DocIDs on
// average). A probe is a search for one DocID in one list. queries/s uses the
// device time of the two kernels, with results in page-locked host memory;
// wall-queries/s includes gathering and copies in both directions, with two
// batches on two streams.
func BenchmarkBatch(b *testing.B) {
	e := newEngine(b)
	docs, numLists, queries := querytest.GovDocs, 1024, 4000
	thresholds := []int{para.DefaultThreshold, 1 << 22, 1 << 24}
	if !gputest.OnGPU() {
		docs, numLists, queries, thresholds = 1<<14, 64, 8, []int{1 << 10}
	}
	w := querytest.Gov(1, docs, numLists, queries)
	for a := range intersect.NumSearches {
		e.benchmark(b, a.String(), a, false, thresholds, w)
	}
	e.benchmark(b, "hs-bitmap", intersect.HashSegmentation, true, thresholds, w)
}

func (e engine) benchmark(b *testing.B, name string, a intersect.Search, bitmaps bool, thresholds []int, w *querytest.Workload) {
	b.Run("search="+name, func(b *testing.B) {
		l := e.upload(b, a, contractionOf(a, w.NumDocs, bitmaps), w)
		for _, threshold := range thresholds {
			for _, countOnly := range []bool{false, true} {
				o := para.Options{Threshold: threshold, Search: a, CountOnly: countOnly}
				b.Run(fmt.Sprintf("threshold=%d/count=%t/time=device", threshold, countOnly), func(b *testing.B) {
					e.benchmarkDevice(b, o, &l, w)
				})
				b.Run(fmt.Sprintf("threshold=%d/count=%t/time=wall", threshold, countOnly), func(b *testing.B) {
					e.benchmarkWall(b, o, &l, w)
				})
			}
		}
	})
}

// Queries per batch whose probes are counted; the mean is used for the others.
const countedQueries = 200

func (e engine) benchmarkDevice(b *testing.B, o para.Options, l *lists, w *querytest.Workload) {
	batch, err := e.kernels.NewBatch(o)
	must(b, err)
	defer func() { must(b, batch.Close()) }()
	probes := 0.0
	for i := 0; !batch.Full(); i++ {
		must(b, l.add(batch, w.Queries[i%len(w.Queries)]))
		if i < countedQueries {
			probes += float64(w.Probes(w.Queries[i%len(w.Queries)]))
		}
	}
	probes *= float64(batch.Len()) / float64(min(batch.Len(), countedQueries))
	must(b, batch.Run(e.stream))
	const launches = 20
	var took time.Duration
	rounds := 0
	for b.Loop() {
		took += gputest.Elapsed(b, e.stream, func() {
			for range launches {
				must(b, batch.Launch(e.stream))
			}
		})
		rounds += launches
	}
	seconds := took.Seconds()
	b.ReportMetric(float64(rounds*batch.Len())/seconds, "queries/s")
	b.ReportMetric(float64(rounds*batch.Elements())/seconds/1e9, "Gelements/s")
	b.ReportMetric(float64(rounds)*probes/seconds/1e9, "Gprobes/s")
	b.ReportMetric(seconds/float64(rounds)*1e6, "us/batch")
	b.ReportMetric(float64(batch.Len()), "queries/batch")
}

// All queries, repeatedly, in two alternating batches.
func (e engine) benchmarkWall(b *testing.B, o para.Options, l *lists, w *querytest.Workload) {
	other, err := e.device.NewStream()
	must(b, err)
	defer func() { must(b, other.Close()) }()
	var batches [2]*para.Batch
	for i := range batches {
		batches[i], err = e.kernels.NewBatch(o)
		must(b, err)
		defer func() { must(b, batches[i].Close()) }()
	}
	var began time.Time
	answered, results := 0, 0
	turn, pending, next := 0, [2]bool{}, 0
	finish := func(i int) {
		if pending[i] {
			must(b, batches[i].Wait())
			answered += batches[i].Len()
			results += batches[i].Total()
			batches[i].Reset()
			pending[i] = false
		}
	}
	step := func() {
		finish(turn)
		for !batches[turn].Full() {
			must(b, l.add(batches[turn], w.Queries[next%len(w.Queries)]))
			next++
		}
		s := e.stream
		if turn == 1 {
			s = other
		}
		must(b, batches[turn].Start(s))
		pending[turn] = true
		turn = 1 - turn
	}
	for range 4 { // memory grows
		step()
	}
	finish(0)
	finish(1)
	answered, results = 0, 0
	began = time.Now()
	for b.Loop() {
		step()
	}
	finish(0)
	finish(1)
	seconds := time.Since(began).Seconds()
	b.ReportMetric(float64(answered)/seconds, "wall-queries/s")
	b.ReportMetric(float64(results)/seconds/1e9, "Gresults/s")
}
