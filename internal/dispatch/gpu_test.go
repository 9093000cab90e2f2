package dispatch

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/query"
)

// testMemory is enough for all lists of the tests' indexes.
const testMemory = 8 << 20

// testGPU opens the tests' device with defaults for unset options.
func testGPU(t testing.TB, o pipeline.Options) *GPU {
	t.Helper()
	return openTestGPU(t, o, LayoutRanges)
}

func openTestGPU(t testing.TB, o pipeline.Options, layout string) *GPU {
	t.Helper()
	if o.Library == "" {
		o.Library = gputest.Library(t).Path()
	}
	if o.Devices.CPU() {
		o.Devices.Ordinals = []int{0}
	}
	if o.Memory == (pipeline.Memory{}) {
		o.Memory.Bytes = testMemory
	}
	if o.Lanes == 0 {
		o.Lanes = 2
	}
	engines, err := pipeline.OpenEach(o)
	if err != nil {
		t.Fatal(err)
	}
	if layout == LayoutRanges {
		engines = []*pipeline.Engine{pipeline.Join(engines)}
	}
	g := NewGPU(engines...)
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if !gputest.OnGPU() {
			if report := gputest.Report(t); report != "" {
				t.Errorf("the emulator reports: %s", report)
			}
		}
	})
	return g
}

type gpuPair struct {
	cpu, gpu *Searcher
	sc       *Scratch
}

func newGPUPair(t testing.TB, snapshot *index.Snapshot, g *GPU) *gpuPair {
	p := &gpuPair{cpu: NewSearcher(snapshot, nil), gpu: NewSearcher(snapshot, nil), sc: testScratch(t, snapshot.Options.Analyzer)}
	p.gpu.Use(withoutPool(g))
	return p
}

func (p *gpuPair) check(t *testing.T, q query.Node, o Options) plan.Answer {
	t.Helper()
	want := answer(t, p.cpu, p.sc, q, o)
	got := answer(t, p.gpu, p.sc, q, o)
	if !slices.Equal(got.Hits, want.Hits) || got.Mode != want.Mode || got.Matches != want.Matches {
		t.Fatalf("%s, %+v: mode %s, %d matches, hits %v; the CPU has mode %s, %d, %v",
			q, o, got.Mode, got.Matches, head(got.Hits), want.Mode, want.Matches, head(want.Hits))
	}
	return got
}

func (p *gpuPair) checkBatch(t *testing.T, queries []query.Node, o Options) {
	t.Helper()
	plans := make([]*Query, len(queries))
	answers := make([]plan.Answer, len(queries))
	for i, q := range queries {
		var err error
		if plans[i], err = p.gpu.Prepare(p.sc, q, o); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.gpu.dispatcher.SearchPrepared(t.Context(), plans, new(BatchScratch), answers); err != nil {
		t.Fatal(err)
	}
	for i, q := range queries {
		want := answer(t, p.cpu, p.sc, q, o)
		if !slices.Equal(answers[i].Hits, want.Hits) || answers[i].Mode != want.Mode || answers[i].Matches != want.Matches {
			t.Fatalf("%s, %+v, one of %d: mode %s, %d matches, hits %v; the CPU has mode %s, %d, %v", q, o, len(queries),
				answers[i].Mode, answers[i].Matches, head(answers[i].Hits), want.Mode, want.Matches, head(want.Hits))
		}
	}
}

// Every mode and k runs over several segments with deletions, single and in batches, on the
// GPU.
func TestGPUAgreement(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	ix := plantest.RandomIndex(t, rng, 500, 3, true)
	if _, err := ix.BuildImpacts(t.Context(), index.ImpactOptions{}); err != nil {
		t.Fatal(err)
	}
	g := testGPU(t, pipeline.Options{})
	p := newGPUPair(t, indextest.Snapshot(t, ix), g)
	for _, mode := range []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr, plan.ModeSaat} {
		for _, k := range []int{1, 10, 100, 1000} {
			p.check(t, plantest.Words(rng, 1+rng.IntN(4)), Options{Mode: mode, K: k, Count: k > 10})
			batch := make([]query.Node, 6)
			for i := range batch {
				batch[i] = plantest.Words(rng, 1+rng.IntN(5))
			}
			p.checkBatch(t, batch, Options{Mode: mode, K: k, Count: k == 10})
		}
	}
	if s := g.Stats(); s.OnGPU < 100 || s.OnCPU != 0 || s.Devices[0].Hits == 0 || s.Devices[0].Misses == 0 || s.Devices[0].Errors != 0 {
		t.Errorf("%+v: want 112 queries on the GPU, none on the CPU, hits, misses and no errors", s)
	}
}

// In reordered segments, documents of equal score rank in the order of writing. Queries with more of
// them than the GPU returns are answered by the CPU.
func TestGPUTies(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 2))
	ix := indextest.Write(t, index.Options{Analyzer: "whitespace"}, func(w *indextest.Writer) {
		for i := range 900 {
			text := plantest.RandomWords(rng, 1+rng.IntN(2))
			if i%3 == 0 {
				text = plantest.RandomWords(rng, 20)
			}
			w.Add(&corpus.Document{ID: strconv.Itoa(i), Text: text})
		}
		w.Commit()
	})
	plantest.Reorder(t, ix)
	if _, err := ix.BuildImpacts(t.Context(), index.ImpactOptions{}); err != nil {
		t.Fatal(err)
	}
	g := testGPU(t, pipeline.Options{})
	p := newGPUPair(t, indextest.Snapshot(t, ix), g)
	for _, mode := range []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr, plan.ModeSaat} {
		for _, k := range []int{1, 10, 100} {
			batch := make([]query.Node, 12)
			for i := range batch {
				batch[i] = plantest.Words(rng, 1+rng.IntN(5))
				p.check(t, batch[i], Options{Mode: mode, K: k, Count: k > 10})
			}
			p.checkBatch(t, batch, Options{Mode: mode, K: k})
		}
	}
	if s := g.Stats(); s.OnGPU < 100 || s.OnCPU == 0 {
		t.Errorf("%+v: want most queries on the GPU, and some on the CPU", s)
	}
}

// The trace has the reason.
func TestGPURefusals(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	g := testGPU(t, pipeline.Options{})
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 200, 1, false))
	p := newGPUPair(t, snapshot, g)
	own := snapshot.Options.BM25
	own.K1++
	other := NewSearcher(snapshot, &own)
	other.Use(withoutPool(g))
	for _, c := range []struct {
		query    string
		searcher *Searcher
		options  Options
		reason   string
	}{
		{`w0 "w1 w2"`, p.gpu, Options{K: 10}, "it has a phrase that is not required or in a group, so that no intersection has its candidates"},
		{`"w1 w1"`, p.gpu, Options{K: 10}, "it has a phrase, but only one word that every match has: there is nothing to intersect"},
		{"+w1 (+w2 w3)^2 (+w4 +w5)", p.gpu, Options{K: 10}, "its groups are nested: required groups may only have alternatives, optional and excluded ones only words"},
		{"w1 w2", p.gpu, Options{K: 10_001}, cpuK},
		{"w1 w2", p.gpu, Options{K: 10, CPU: true}, cpuAsked},
		{"w1 w2", p.gpu, Options{K: 10, Traversal: "exhaustive-daat"}, cpuTraversal},
		{"w1 w2", other, Options{K: 10}, cpuParameters},
	} {
		prepared, err := c.searcher.Prepare(p.sc, plantest.Parse(t, c.query), c.options)
		if err != nil {
			t.Fatal(err)
		}
		var trace plan.Trace
		if _, err := prepared.RunTraced(t.Context(), p.sc, nil, &trace); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(trace.String(), "answered by the CPU: "+c.reason) || trace.Steps[0].Processor != plan.CPUName {
			t.Errorf("%s with %+v: the trace lacks %q:\n%s", c.query, c.options, c.reason, &trace)
		}
	}
	if s := g.Stats(); s.OnGPU != 0 || s.OnCPU != 7 {
		t.Errorf("%d queries on the GPU, %d on the CPU; want 0 and 7", s.OnGPU, s.OnCPU)
	}
}

// Queries of closed indexes run on the CPU.
func TestGPUForgetsClosedIndexes(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 1))
	g := testGPU(t, pipeline.Options{})
	q := plantest.Parse(t, "w1 w2")
	for i := range 5 {
		ix := plantest.RandomIndex(t, rng, 100, 1, false)
		p := newGPUPair(t, indextest.Snapshot(t, ix), g)
		p.check(t, q, Options{K: 10})
		if len(g.views.snapshots) != 1 || g.Stats().OnGPU != int64(i+1) {
			t.Fatalf("index %d: views of %d indexes, %d queries on the GPU", i, len(g.views.snapshots), g.Stats().OnGPU)
		}
		g.Forget(ix)
		if s := g.Stats(); len(g.views.snapshots) != 0 || s.Devices[0].SizeBytes != 0 {
			t.Errorf("index %d: views of %d indexes and %d bytes are left", i, len(g.views.snapshots), s.Devices[0].SizeBytes)
		}
		p.check(t, q, Options{K: 10})
		if s := g.Stats(); s.OnGPU != int64(i+1) || len(g.views.snapshots) != 0 {
			t.Errorf("index %d: after Forget, a query ran on the GPU: %+v, %d views", i, s, len(g.views.snapshots))
		}
	}
}

func TestGPUTrace(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 1))
	p := newGPUPair(t, indextest.Snapshot(t, plantest.RandomIndex(t, rng, 300, 2, true)), testGPU(t, pipeline.Options{}))
	prepared, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "w1 w2 title:w3"), Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	for run := range 2 {
		var trace plan.Trace
		a, err := prepared.RunTraced(t.Context(), p.sc, nil, &trace)
		if err != nil {
			t.Fatal(err)
		}
		if len(trace.Steps) != 1 || a.Traversal != TraversalGPU {
			t.Fatalf("%s: %d steps, want 1:\n%s", a.Traversal, len(trace.Steps), &trace)
		}
		s := &trace.Steps[0]
		d := s.Device
		if s.Name != plan.StepGPU || s.Processor != "gpu0" || len(s.Lists) != 3 || s.Lists[0].Field != "title" || s.Lists[0].DocFreq == 0 {
			t.Errorf("run %d: step %+v", run, s)
		}
		if d.Took <= 0 || len(d.Kernels) == 0 || d.BytesTo == 0 || d.BytesFrom == 0 {
			t.Errorf("run %d: device %+v: want time, kernels and bytes", run, d)
		}
		if missed := run == 0; missed != (d.ListsMissed > 0) || missed != (d.ListBytes > 0) || missed == (d.ListsHit > 0) {
			t.Errorf("run %d: %d lists there, %d brought, %d bytes", run, d.ListsHit, d.ListsMissed, d.ListBytes)
		}
		if text := trace.String(); !strings.Contains(text, "lists there") || !strings.Contains(text, "launched") {
			t.Errorf("run %d: the trace reads\n%s", run, text)
		}
	}
}

// The device or the CPU decodes the lists.
func TestGPUCodecs(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	names := sampletest.Some(t, 4, codec.Names())
	if testing.Short() {
		names = []string{"simdbp", "ef"}
	}
	for _, name := range names {
		t.Run("codec="+name, func(t *testing.T) {
			p := newGPUPair(t, indextest.Snapshot(t, plantest.FrequentIndex(t, name, 4000)), g)
			for _, mode := range []plan.Mode{plan.ModeOr, plan.ModeAnd} {
				p.check(t, plantest.Parse(t, "w0 w1 w3"), Options{Mode: mode, K: 20})
			}
			p.check(t, plantest.Parse(t, "w1"), Options{K: 10})
		})
	}
	if s := g.Stats(); s.OnCPU != 0 {
		t.Errorf("%d queries on the CPU", s.OnCPU)
	}
}

func TestGPUEviction(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 1))
	g := testGPU(t, pipeline.Options{Memory: pipeline.Memory{Bytes: 24 << 10}})
	g.unaided = true
	p := newGPUPair(t, indextest.Snapshot(t, plantest.RandomIndex(t, rng, 400, 2, true)), g)
	for range 4 {
		batch := make([]query.Node, 12)
		for i := range batch {
			batch[i] = plantest.Words(rng, 1+rng.IntN(3))
		}
		p.checkBatch(t, batch, Options{K: 10})
		p.check(t, plantest.Words(rng, 3), Options{Mode: plan.ModeAnd, K: 10})
	}
	s := g.Stats()
	d := &s.Devices[0]
	if d.Evictions == 0 || d.Hits == 0 || d.Misses == 0 || d.SizeBytes > 24<<10 || s.OnGPU < 30 || d.Errors != 0 {
		t.Errorf("%+v: want evictions, hits and misses, and most of 52 queries on the GPU", s)
	}
}

func TestGPUTwoDevices(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 1))
	library := gputest.Library(t)
	if infos, err := library.Devices(); err != nil || !gputest.OnGPU() || len(infos) < 2 {
		library = gputest.Configure(t, gputest.Config{Devices: 2, MemoryBytes: 256 << 20})
	}
	g := testGPU(t, pipeline.Options{Library: library.Path(), Devices: pipeline.Selection{All: true}, Lanes: 1})
	ix := plantest.RandomIndex(t, rng, 500, 2, true)
	if _, err := ix.BuildImpacts(t.Context(), index.ImpactOptions{}); err != nil {
		t.Fatal(err)
	}
	p := newGPUPair(t, indextest.Snapshot(t, ix), g)
	for _, mode := range []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr, plan.ModeSaat} {
		p.check(t, plantest.Words(rng, 3), Options{Mode: mode, K: 10, Count: true})
		p.checkBatch(t, []query.Node{plantest.Words(rng, 2), plantest.Words(rng, 4), plantest.Words(rng, 1)}, Options{Mode: mode, K: 30})
	}
	// Each device takes its documents of the lists that it decodes.
	p = newGPUPair(t, indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 4000)), g)
	p.check(t, plantest.Parse(t, "w0 w1 w3"), Options{K: 20})
	p.check(t, plantest.Parse(t, "w0 w2"), Options{Mode: plan.ModeAnd, K: 20, Count: true})
	s := g.Stats()
	if len(s.Devices) < 2 || s.Devices[0].Queries == 0 || s.Devices[1].Queries == 0 || s.OnCPU != 0 {
		t.Errorf("%+v: want queries on both devices, none on the CPU", s)
	}
}

// Single searches and batches run while memory is short and commits change.
func TestGPUConcurrent(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 1))
	g := testGPU(t, pipeline.Options{Memory: pipeline.Memory{Bytes: 48 << 10}})
	ix := plantest.RandomIndex(t, rng, 300, 2, true)
	first := newGPUPair(t, indextest.Snapshot(t, ix), g)
	w, err := ix.Writer(index.WriterOptions{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Delete("7"); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := newGPUPair(t, indextest.Snapshot(t, ix), g)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(18, uint64(i)))
			p := *first
			if i%2 == 1 {
				p = *second
			}
			p.sc = testScratch(t, "whitespace")
			for range 3 {
				p.check(t, plantest.Words(rng, 1+rng.IntN(3)), Options{Mode: plan.Mode(rng.IntN(3)), K: 10})
				p.checkBatch(t, []query.Node{plantest.Words(rng, 2), plantest.Words(rng, 3)}, Options{K: 10})
			}
		})
	}
	wg.Wait()
}

func TestGPUDoesNotAllocate(t *testing.T) {
	if sampletest.Race || invariant.Enabled {
		t.Skip("the race detector and invariants allocate")
	}
	rng := rand.New(rand.NewPCG(19, 1))
	g := testGPU(t, pipeline.Options{})
	s := NewSearcher(indextest.Snapshot(t, plantest.RandomIndex(t, rng, 200, 1, true)), nil)
	s.Use(withoutPool(g))
	sc := testScratch(t, "whitespace")
	ctx := context.Background()
	plans, answers := make([]*Query, 4), make([]plan.Answer, 4)
	for i := range plans {
		var err error
		if plans[i], err = s.Prepare(sc, plantest.Words(rng, 2), Options{K: 10}); err != nil {
			t.Fatal(err)
		}
	}
	hits := make([]base.Hit, 0, 10)
	var batch BatchScratch
	for name, run := range map[string]func() error{
		"one": func() error {
			_, err := plans[0].Run(ctx, sc, hits)
			return err
		},
		"batch": func() error { return s.dispatcher.SearchPrepared(ctx, plans, &batch, answers) },
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 * g.lanes { // each has to grow
				if err := run(); err != nil {
					t.Fatal(err)
				}
			}
			if n := testing.AllocsPerRun(20, func() {
				if err := run(); err != nil {
					t.Fatal(err)
				}
			}); n > 0 {
				t.Errorf("%s: %g allocations", name, n)
			}
		})
	}
	if s := g.Stats(); s.OnCPU != 0 {
		t.Errorf("%d queries on the CPU", s.OnCPU)
	}
}

func TestGPUWarm(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 1))
	g := testGPU(t, pipeline.Options{})
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 200, 2, false))
	p := newGPUPair(t, snapshot, g)
	var last int64
	lists, total, err := g.Warm(t.Context(), snapshot, WarmOptions{Progress: func(done, total int64) {
		if done < last || done > total {
			t.Errorf("progress from %d to %d of %d", last, done, total)
		}
		last = done
	}})
	if err != nil || lists != total || lists == 0 || last == 0 {
		t.Fatalf("%d of %d lists, %d postings, error %v", lists, total, last, err)
	}
	before := g.Stats().Devices[0].Misses
	for range 5 {
		p.check(t, plantest.Words(rng, 3), Options{K: 10})
	}
	if s := g.Stats().Devices[0]; s.Misses != before || s.Hits == 0 || s.Lists != total {
		t.Errorf("%+v: want %d lists, no more misses than %d", s, total, before)
	}
	few, _, err := g.Warm(t.Context(), snapshot, WarmOptions{MinDocFreq: 60})
	if err != nil || few == 0 || few >= total {
		t.Errorf("%d of %d lists have 60 documents or more; error %v", few, total, err)
	}
}

// weightedIndex keeps weights in steps of 1/scale: with 100 they take two bytes on a GPU, with
// 1 one.
func weightedIndex(t testing.TB, rng *rand.Rand, scale float64) *index.Index {
	t.Helper()
	return indextest.Write(t, index.Options{WeightScale: scale, NoStored: true}, func(w *indextest.Writer) {
		for i := range 600 {
			var vector []corpus.TermWeight
			for term := range 40 {
				if rng.IntN(4) == 0 {
					vector = append(vector, corpus.TermWeight{Term: fmt.Sprint("t", term), Weight: 1 + math.Round(rng.Float64()*200*scale)/scale})
				}
			}
			w.Add(&corpus.Document{ID: fmt.Sprint(i), Vector: vector})
			if i == 400 {
				w.Delete(17)
				w.Commit()
			}
		}
	})
}

// The vectors have many terms, with weights of one byte or two.
func TestGPUWeights(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	for _, scale := range []float64{1, 100} {
		rng := rand.New(rand.NewPCG(22, uint64(scale)))
		p := newGPUPair(t, indextest.Snapshot(t, weightedIndex(t, rng, scale)), g)
		vector := func(n int) query.Node {
			q := &query.Weights{}
			for range n {
				q.Terms = append(q.Terms, query.TermWeight{Term: fmt.Sprint("t", rng.IntN(40)), Weight: 0.5 + rng.Float64()*3})
			}
			return q
		}
		p.check(t, vector(25), Options{K: 10})
		p.check(t, vector(2), Options{Mode: plan.ModeAnd, K: 100})
		p.checkBatch(t, []query.Node{vector(30), vector(1), vector(12)}, Options{K: 20})
	}
	if s := g.Stats(); s.OnCPU != 0 {
		t.Errorf("%d queries on the CPU", s.OnCPU)
	}
}

// Scores pass 2^32: the GPU answers alone and in batches, by images and where compressed lists
// would be read.
func TestGPUWideWeights(t *testing.T) {
	for name, o := range map[string]pipeline.Options{
		"images": {},
		"packed": {Memory: pipeline.Memory{Bytes: 160 << 10}, Lanes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := testGPU(t, o)
			rng := rand.New(rand.NewPCG(32, 5))
			p := newGPUPair(t, indextest.Snapshot(t, weightedIndex(t, rng, 1)), g)
			vector := func(n int) query.Node {
				q := &query.Weights{}
				for _, term := range rng.Perm(40)[:n] {
					q.Terms = append(q.Terms, query.TermWeight{Term: fmt.Sprint("t", term), Weight: float64(150 + rng.IntN(100))})
				}
				return q
			}
			for range 3 {
				p.check(t, vector(25), Options{K: 10, Count: true})
				p.check(t, vector(2), Options{Mode: plan.ModeAnd, K: 100})
				p.check(t, vector(6), Options{Mode: plan.ModeAndOr, K: 10})
				p.checkBatch(t, []query.Node{vector(30), vector(1), vector(12), vector(20), vector(3), vector(2), vector(5), vector(8), vector(13)}, Options{K: 20})
			}
			if s := g.Stats(); s.OnCPU != 0 {
				t.Errorf("%d queries on the CPU", s.OnCPU)
			}
		})
	}
}

// Batches that compete for memory do not go to the CPU.
func TestGPUWaitsForMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 1))
	g := testGPU(t, pipeline.Options{Memory: pipeline.Memory{Bytes: 12 << 10}, Lanes: 3})
	g.unaided = true
	p := newGPUPair(t, indextest.Snapshot(t, plantest.RandomIndex(t, rng, 300, 1, false)), g)
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(24, uint64(i)))
			p := *p
			p.sc = testScratch(t, "whitespace")
			for range 3 {
				p.checkBatch(t, []query.Node{plantest.Words(rng, 2), plantest.Words(rng, 2), plantest.Words(rng, 2), plantest.Words(rng, 2)}, Options{K: 10})
			}
		})
	}
	wg.Wait()
	if s := g.Stats(); s.OnGPU != 36 || s.Devices[0].Evictions == 0 || s.Devices[0].Refused+s.Devices[0].Packed == 0 {
		t.Errorf("%+v: want 36 queries on the GPU, and memory that was short", s)
	}
}
