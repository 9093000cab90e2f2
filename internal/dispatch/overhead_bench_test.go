package dispatch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/query"
)

// instantGPU answers queries without computing anything: each run takes some time of the device and
// no time of a processor.
type instantGPU struct {
	mu            sync.Mutex
	free          time.Time
	fixed, each   time.Duration
	runs, queries atomic.Int64
}

func (g *instantGPU) run(ctx context.Context, _ *pipeline.View, queries []*pipeline.Query, results []pipeline.Result, _ pipeline.Others, _ *pipeline.Trace) error {
	took := g.fixed + time.Duration(len(queries))*g.each
	now := time.Now()
	g.mu.Lock()
	if g.free.Before(now) {
		g.free = now
	}
	g.free = g.free.Add(took)
	until := g.free
	g.mu.Unlock()
	g.runs.Add(1)
	g.queries.Add(int64(len(queries)))
	for i, q := range queries {
		hits := results[i].Hits[:0]
		for j := range q.K {
			hits = append(hits, base.Hit{DocID: base.DocID(j), Score: base.Score(1000 - j)})
		}
		results[i] = pipeline.Result{Hits: hits}
	}
	if d := time.Until(until); d > 0 {
		time.Sleep(d)
	}
	return ctx.Err()
}

func processorTime() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// overhead has queries of up to six lists that all have images, and a GPU that answers instantly.
type overhead struct {
	snapshot *index.Snapshot
	d        *Dispatcher
	gpu      instantGPU
	nodes    []query.Node
}

func newOverhead(b *testing.B, fixed, each time.Duration) *overhead {
	o := &overhead{gpu: instantGPU{fixed: fixed, each: each}}
	g := testGPU(b, pipeline.Options{Lanes: pipeline.DefaultLanes})
	o.snapshot = indextest.Snapshot(b, spacedIndex(b, 30000, 2, 3, 4, 5, 6, 7))
	if _, _, err := g.Warm(b.Context(), o.snapshot, WarmOptions{}); err != nil {
		b.Fatal(err)
	}
	g.runView = o.gpu.run
	_, o.d = dispatched(b, o.snapshot, g, Config{})
	var samples []cost.Measured // a CPU is predicted to take far longer than the GPU, as for long lists
	for i := range 400 {
		n := int64(10 + i*i)
		f := cost.Features{Lists: 1 + i%6, K: 10, Shortest: n, Second: n * 2, Longest: n * 3, Sum: n * 6, Essential: n + n/int64(1+i%5), Tight: n, Batch: 1}
		for _, kind := range []cost.Kind{cost.CPUOr, cost.CPUTerm} {
			samples = append(samples, cost.Measured{Kind: kind, Features: f, Took: time.Duration(1_000_000 + 1000*f.Essential)})
		}
	}
	o.d.Costs().Calibrate(samples)
	rng := rand.New(rand.NewPCG(20, 1))
	for range 1000 {
		var text string
		for range 1 + rng.IntN(6) {
			text += fmt.Sprintf("e%d ", 2+rng.IntN(6))
		}
		o.nodes = append(o.nodes, &query.Words{Text: text, Boost: 1})
	}
	return o
}

func (o *overhead) searcher() *Searcher {
	s := NewSearcher(o.snapshot, nil)
	s.Use(o.d)
	return s
}

// BenchmarkOverhead measures the processor time of a query without the work of the device, of
// clients that ask one query after another.
func BenchmarkOverhead(b *testing.B) {
	for _, clients := range []int{64, 1000} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			o := newOverhead(b, 30*time.Microsecond, 500*time.Nanosecond)
			var next atomic.Int64
			var group sync.WaitGroup
			b.ResetTimer()
			began := processorTime()
			for range clients {
				group.Go(func() {
					sc := testScratch(b, o.snapshot.Options.Analyzer)
					var q Query
					var hits []base.Hit
					for {
						i := next.Add(1)
						if i > int64(b.N) {
							return
						}
						if err := o.searcher().PrepareInto(&q, sc, o.nodes[i%int64(len(o.nodes))], Options{Mode: plan.ModeOr, K: 10}); err != nil {
							b.Error(err)
							return
						}
						a, err := q.Run(b.Context(), sc, hits)
						if err != nil {
							b.Error(err)
							return
						}
						hits = a.Hits
					}
				})
			}
			group.Wait()
			o.report(b, began)
		})
	}
}

func (o *overhead) report(b *testing.B, began time.Duration) {
	b.StopTimer()
	b.ReportMetric(float64(processorTime()-began)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(o.gpu.queries.Load())/max(float64(o.gpu.runs.Load()), 1), "queries/run")
	b.ReportMetric(float64(o.gpu.queries.Load())/float64(b.N), "on-gpu")
}

type overheadBatch struct {
	o *overhead
	n int
}

func (q *overheadBatch) Len() int            { return q.n }
func (q *overheadBatch) Fail(_ int, e error) { panic(e) }
func (q *overheadBatch) NewWorker() (BatchWorker, error) {
	sc, err := NewScratch(q.o.snapshot.Options.Analyzer)
	return &overheadWorker{q.o, sc, q.o.searcher()}, err
}

type overheadWorker struct {
	o  *overhead
	sc *Scratch
	s  *Searcher
}

func (w *overheadWorker) Scratch() *Scratch { return w.sc }
func (w *overheadWorker) Prepare(i int, into *Query) (*Query, error) {
	return into, w.s.PrepareInto(into, w.sc, w.o.nodes[i%len(w.o.nodes)], Options{Mode: plan.ModeOr, K: 10})
}
func (w *overheadWorker) Complete(int, *Query, *plan.Answer) error { return nil }
func (w *overheadWorker) Release()                                 {}

// BenchmarkOverheadBatch is BenchmarkOverhead as batches of a program.
func BenchmarkOverheadBatch(b *testing.B) {
	o := newOverhead(b, 30*time.Microsecond, 500*time.Nanosecond)
	var sc BatchScratch
	runtime.GC()
	b.ResetTimer()
	began := processorTime()
	for left := b.N; left > 0; left -= 1000 {
		if err := o.d.SearchBatch(b.Context(), &overheadBatch{o, min(left, 1000)}, &sc); err != nil {
			b.Fatal(err)
		}
	}
	o.report(b, began)
}
