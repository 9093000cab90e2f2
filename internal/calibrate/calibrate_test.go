package calibrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/query"
)

// For all lists of the tests' indexes.
const testMemory = 8 << 20

// No test reaches it.
const longWait = 2 * time.Minute

func testGPU(t testing.TB, memory int64) *dispatch.GPU {
	t.Helper()
	e, err := pipeline.Open(pipeline.Options{
		Library: gputest.Library(t).Path(), Devices: pipeline.Selection{Ordinals: []int{0}}, Memory: pipeline.Memory{Bytes: memory}, Lanes: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	g := dispatch.NewGPU(e)
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

func answer(t testing.TB, snapshot *index.Snapshot, d *dispatch.Dispatcher, q query.Node, o dispatch.Options) plan.Answer {
	t.Helper()
	s := dispatch.NewSearcher(snapshot, nil)
	s.Use(d)
	sc, err := dispatch.NewScratch(snapshot.Options.Analyzer)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Prepare(sc, q, o)
	if err != nil {
		t.Fatal(err)
	}
	a, err := p.Run(t.Context(), sc, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func testDispatcher(t testing.TB, g *dispatch.GPU, o dispatch.Config) *dispatch.Dispatcher {
	t.Helper()
	d, err := dispatch.NewDispatcher(g, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A conjunction runs whole and in steps on every processor. The recorded
// features equal those that policy cost predicts with.
func TestMeasureConjunction(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 1))
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 400, 2, true))
	d := testDispatcher(t, testGPU(t, testMemory), dispatch.Config{})
	m, err := newMeasurer(d.GPU(), snapshot)
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.Prepare(&query.Words{Text: "w1 w2 w3", Boost: 1}, dispatch.Options{Mode: plan.ModeAnd, K: 10})
	if err != nil {
		t.Fatal(err)
	}
	w, err := m.measure(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if w.kind != [...]cost.Kind{cost.CPUAnd, cost.GPUImagesAnd} || w.took[0] <= 0 || w.took[1] <= 0 {
		t.Errorf("the whole: %+v", w)
	}
	seen := map[cost.Kind]int{}
	for i := range m.samples {
		s := &m.samples[i]
		seen[s.Kind]++
		if s.Took <= 0 {
			t.Errorf("%+v", s)
		}
		f := &s.Features
		var wrong bool
		switch s.Kind {
		case cost.CPUAnd, cost.GPUImagesAnd:
			wrong = f.Lists != 3 || f.Shortest == 0 || f.Second < f.Shortest || f.Longest < f.Second || f.Sum != f.Shortest+f.Second+f.Longest || f.K != 10
		case cost.CPUBegin:
			wrong = f.Shortest == 0
		case cost.CPUIntersect:
			wrong = f.Candidates == 0 || f.Longest == 0
		case cost.GPUIntersect, cost.GPUPackedAnd:
			wrong = f.Blocks == 0 || f.Lists == 0
		}
		if wrong {
			t.Errorf("%v: %+v", s.Kind, f)
		}
	}
	for _, k := range []cost.Kind{
		cost.CPUAnd, cost.CPUBegin, cost.CPUIntersect, cost.GPUImagesAnd, cost.GPUPackedAnd, cost.GPUIntersect,
	} {
		if seen[k] == 0 {
			t.Errorf("nothing of %v among %v", k, seen)
		}
	}
	if seen[cost.CPUOr]+seen[cost.GPUImagesOr]+seen[cost.GPUPackedOr] > 0 {
		t.Errorf("an OR was measured: %v", seen)
	}
}

func TestMeasureBatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 2))
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 100, 1, false))
	m, err := newMeasurer(testGPU(t, testMemory), snapshot)
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for i := range dispatch.BatchMeasured {
		p, err := m.Prepare(&query.Words{Text: []string{"w1 w2", "w3"}[i%2], Boost: 1}, dispatch.Options{K: 10})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.measure(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	batches := 0
	for i := range m.samples {
		s := &m.samples[i]
		if s.Kind != cost.GPUImagesOr {
			continue
		}
		if f := &s.Features; f.Batch > 1 {
			batches++
			if f.Batch != dispatch.BatchMeasured || f.Lists != dispatch.BatchMeasured/2*3 || f.Sum != sum {
				t.Errorf("%+v, of %d postings", f, sum)
			}
		} else {
			sum += f.Sum
		}
	}
	if batches != 1 {
		t.Errorf("%d batches", batches)
	}
}

// A kind of its own in every mode, because its best are in few blocks.
func TestMeasureTerm(t *testing.T) {
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rand.New(rand.NewPCG(91, 7)), 300, 2, true))
	for _, mode := range []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr} {
		m, err := newMeasurer(nil, snapshot)
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.Prepare(&query.Words{Text: "w3", Boost: 1}, dispatch.Options{Mode: mode, K: 10})
		if err != nil {
			t.Fatal(err)
		}
		if w, err := m.measure(t.Context(), p); err != nil || w.kind[0] != cost.CPUTerm || len(m.samples) != 1 || m.samples[0].Kind != cost.CPUTerm {
			t.Errorf("mode %s: %+v, %v; samples %+v", mode, w, err, m.samples)
		}
	}
}

// A calibration fits the measured kinds, keeps answers equal, and ends at its
// time limit.
func TestCalibrate(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 3))
	ix := plantest.RandomIndex(t, rng, 300, 1, false)
	g := testGPU(t, testMemory)
	type setting struct {
		name    string
		gpu     *dispatch.GPU
		helpers int
	}
	settings := []setting{{"CPU", nil, -1}, {"GPU", g, -1}, {"CPU, helpers", nil, 2}, {"GPU, helpers", g, 2}}
	for _, s := range sampletest.Some(t, 2, sampletest.UnderRace(settings, settings[3:])) {
		t.Run(s.name, func(t *testing.T) {
			d := testDispatcher(t, s.gpu, dispatch.Config{})
			var done, total int64
			o := Options{Limit: 1, Helpers: s.helpers, Progress: func(n, of int64) { done, total = n, of }}
			if err := Run(t.Context(), d, indextest.Snapshot(t, ix), o); err != nil || done != 0 || d.Costs().Calibrated() {
				t.Errorf("without time: %d queries, %v", done, err)
			}
			o.Limit, o.Queries = longWait, 40
			if err := Run(t.Context(), d, indextest.Snapshot(t, ix), o); err != nil {
				t.Fatal(err)
			}
			if done != 40 || total != 40 {
				t.Errorf("progress: %d of %d", done, total)
			}
			if !d.Costs().Calibrated() {
				t.Errorf("not calibrated by %d queries", done)
			}
			if Pays(d, indextest.Snapshot(t, ix)) {
				t.Error("an index of few postings is worth to be measured")
			}
		})
	}
	q := plantest.Words(rng, 3)
	want := answer(t, indextest.Snapshot(t, ix), nil, q, dispatch.Options{K: 10})
	if got := answer(t, indextest.Snapshot(t, ix), testDispatcher(t, g, dispatch.Config{Policy: dispatch.PolicyGPU}), q, dispatch.Options{K: 10}); !slices.Equal(got.Hits, want.Hits) {
		t.Errorf("hits %v, want %v", got.Hits, want.Hits)
	}

	empty := plantest.RandomIndex(t, rng, 1, 1, false)
	d := testDispatcher(t, nil, dispatch.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Run(ctx, d, indextest.Snapshot(t, empty), Options{}); !errors.Is(err, context.Canceled) || d.Costs().Calibrated() {
		t.Errorf("cancelled: %v", err)
	}
}

func TestCalibrateHelpers(t *testing.T) {
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rand.New(rand.NewPCG(91, 4)), 300, 1, false))
	samples := func(helpers int, pause time.Duration) (n int) {
		d := testDispatcher(t, nil, dispatch.Config{})
		o := Options{Limit: longWait, Queries: 60, Helpers: helpers}
		var most int
		o.Progress = func(done, _ int64) {
			if done == 30 {
				time.Sleep(pause)
			}
		}
		if err := Run(t.Context(), d, snapshot, o); err != nil {
			t.Fatal(err)
		}
		for _, f := range d.Costs().Fits() {
			most = max(most, f.Samples)
		}
		return most
	}
	// The helpers get more time until it is enough for some queries.
	for alone, pause := samples(-1, 0), 100*time.Millisecond; ; pause *= 2 {
		helped := samples(3, pause)
		if helped > alone {
			break
		}
		if pause > longWait {
			t.Fatalf("%d samples alone, %d with helpers", alone, helped)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	d := testDispatcher(t, nil, dispatch.Config{})
	o := Options{Limit: longWait, Helpers: 2, Progress: func(done, _ int64) { cancel() }}
	if err := Run(ctx, d, snapshot, o); !errors.Is(err, context.Canceled) || d.Costs().Calibrated() {
		t.Errorf("cancelled: %v", err)
	}
}

// A stored model is loaded only for the same machine, and only if there is a
// decision to make. A damaged file or a missing folder is no error.
func TestLoadCosts(t *testing.T) {
	dir := t.TempDir()
	o := dispatch.Config{Admit: true}
	if o.LoadCosts(vfs.OS, dir, nil) || o.Costs == nil {
		t.Error("an empty folder")
	}
	d := testDispatcher(t, nil, o)
	f := cost.Features{Shortest: 100}
	var samples []cost.Measured
	for i := range 50 {
		samples = append(samples, cost.Measured{Kind: cost.CPUBegin, Features: cost.Features{Shortest: int64(i)}, Took: time.Duration(5000 + 10*i)})
	}
	d.Costs().Calibrate(samples)
	if err := d.SaveCosts(vfs.OS, dir); err != nil {
		t.Fatal(err)
	}
	if !o.LoadCosts(vfs.OS, dir, nil) || o.Costs.Predict(cost.CPUBegin, &f) != d.Costs().Predict(cost.CPUBegin, &f) {
		t.Error("what was saved is not loaded")
	}
	if o = (dispatch.Config{}); o.LoadCosts(vfs.OS, dir, nil) || o.Costs == nil {
		t.Error("it was loaded where there is nothing to decide")
	}
	if o = (dispatch.Config{Admit: true}); o.LoadCosts(vfs.OS, filepath.Join(dir, "missing"), nil) || o.Costs == nil || o.CostsErr != nil {
		t.Error("a missing folder")
	}
	if err := os.WriteFile(filepath.Join(dir, cost.FileName), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if o.LoadCosts(vfs.OS, dir, nil) || o.Costs == nil || !errors.Is(o.CostsErr, base.ErrCorrupt) {
		t.Errorf("a damaged file: %v", o.CostsErr)
	}
	if err := d.SaveCosts(vfs.OS, filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("saved in a missing folder: %v", err)
	}
}

func TestTrain(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 4))
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 300, 1, false))
	d := testDispatcher(t, nil, dispatch.Config{})
	var queries []query.Node
	for range 80 {
		queries = append(queries, plantest.Words(rng, 1+rng.IntN(3)))
	}
	report, err := Train(t.Context(), d, snapshot, queries, TrainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Queries != 80 || report.Train != 60 || len(report.Trees) != 2 {
		t.Fatalf("%+v", report)
	}
	for i, tree := range report.Trees {
		if tree.Processor != "cpu" || tree.Mode != []plan.Mode{plan.ModeOr, plan.ModeAnd}[i] || tree.Queries < fewQueries || tree.Queries+tree.Tested > 80-20*i /* of one word, an AND is an OR, and measured once */ || tree.Leaves < 1 || !(tree.Error > 0) || !(tree.Model > 0) {
			t.Errorf("%+v", tree)
		}
	}
	if trees := d.Costs().Trees(); trees.CPUOr == nil || trees.CPUAnd == nil || trees.GPUOr != nil || trees.GPUAnd != nil {
		t.Errorf("%+v", trees)
	}
	if _, err := Train(t.Context(), d, snapshot, queries[:fewQueries], TrainOptions{}); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("of too few queries: %v", err)
	}
}

// Tree and model are tested by the same times, also for queries measured in two
// ways on the GPU.
func TestTrainComparesTheSame(t *testing.T) {
	m := cost.New(cost.Machine{})
	f := cost.Features{Lists: 2, K: 10, Shortest: 1000, Second: 2000, Longest: 2000, Sum: 3000}
	predicted := m.Predict(cost.GPUImagesAnd, &f)
	w := whole{kind: [sched.NumPlaces]cost.Kind{sched.CPU: cost.CPUAnd, sched.GPU: cost.GPUImagesAnd}}
	w.took[sched.CPU], w.took[sched.GPU] = time.Hour, 2*predicted
	var tr training
	tr.compare(m, &w, []cost.Measured{
		{Kind: cost.GPUImagesAnd, Features: f, Took: 2 * predicted},
		{Kind: cost.GPUImagesAnd, Features: f, Took: 9 * predicted},
		{Kind: cost.GPUPackedAnd, Features: f, Took: predicted},
		{Kind: cost.CPUAnd, Features: f, Took: time.Minute},
	})
	if gpu, cpu := &tr.sets[sched.GPU][1], &tr.sets[sched.CPU][1]; gpu.compared != 1 || gpu.errors != 0.5 || cpu.compared != 0 {
		t.Errorf("%d of the dispatch.GPU compared, with an error of %g, %d of the CPU; want one, 0.5, none", gpu.compared, gpu.errors, cpu.compared)
	}
}

func TestSampleTerms(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 5))
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 500, 2, false))
	sample := func() *termSample {
		s, err := sampleTerms(t.Context(), snapshot, rand.New(rand.NewPCG(1, 1)), longWait)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s, again := sample(), sample()
	if len(s.full) < 2 {
		t.Fatalf("strata %v", s.full)
	}
	largest := &snapshot.Segments[0]
	for i := range snapshot.Segments {
		if v := &snapshot.Segments[i]; v.NumDocs() > largest.NumDocs() {
			largest = v
		}
	}
	want := map[int]int{} // terms by stratum
	it := largest.Terms(0, nil)
	for it.Next() {
		if meta, err := it.Meta(); err != nil {
			t.Fatal(err)
		} else if len(it.Term()) > 1 { // shorter ones are not sampled
			bits := 0
			for n := meta.DocFreq; n > 0; n /= 2 {
				bits++
			}
			want[bits]++
			if n := len(s.strata[bits]); n == 0 {
				t.Errorf("%s of %d documents: its stratum is empty", it.Term(), meta.DocFreq)
			}
		}
	}
	for i := range s.strata {
		if got := len(s.strata[i]); got != min(want[i], perStratum) || s.seen[i] != want[i] {
			t.Errorf("stratum %d has %d terms of %d, want %d", i, got, s.seen[i], want[i])
		}
		if !slices.EqualFunc(s.strata[i], again.strata[i], slices.Equal[[]byte]) {
			t.Errorf("stratum %d differs with the same seed", i)
		}
	}
	// Even without time there are some.
	hurried, err := sampleTerms(t.Context(), snapshot, rand.New(rand.NewPCG(1, 1)), 0)
	if err != nil || len(hurried.full) == 0 {
		t.Errorf("strata %v, %v", hurried.full, err)
	}
}

func TestSampleTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 6))
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 300, 1, false))
	s, err := sampleTerms(t.Context(), snapshot, rng, longWait)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for range 50 {
		terms, err := s.together(4)
		if err != nil {
			t.Fatal(err)
		}
		text := string(bytes.Join(terms, []byte(" ")))
		if a := answer(t, snapshot, nil, &query.Words{Text: text, Boost: 1}, dispatch.Options{Mode: plan.ModeAnd, K: 1}); len(a.Hits) == 0 {
			t.Errorf("no document has all of %q", text)
		}
		slices.SortFunc(terms, bytes.Compare)
		if len(slices.CompactFunc(terms, bytes.Equal)) != len(terms) {
			t.Errorf("a term comes twice in %q", text)
		}
		if len(terms) == 4 {
			found++
		}
	}
	if found < 10 {
		t.Errorf("%d of 50 times four terms were found", found)
	}
	for n := 1; n < 20; n++ {
		q, err := s.query(n)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(strings.Fields(q.(*query.Words).Text)); got != n {
			t.Errorf("%d terms, want %d", got, n)
		}
	}
}

// A batch whose images do not fit together does not count as one with present
// images.
func TestMeasureBatchWithoutRoom(t *testing.T) {
	snapshot := indextest.Snapshot(t, plantest.FrequentIndex(t, "ef", 4000)) // the GPU needs images of this codec
	for _, c := range []struct {
		memory  int64
		batches bool
	}{{testMemory, true}, {20 << 10, false}} {
		g := testGPU(t, c.memory)
		m, err := newMeasurer(g, snapshot)
		if err != nil {
			t.Fatal(err)
		}
		for i := range dispatch.BatchMeasured {
			p, err := m.Prepare(&query.Words{Text: fmt.Sprint("w", i%4), Boost: 1}, dispatch.Options{K: 10})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.measure(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		batches := slices.ContainsFunc(m.samples, func(s cost.Measured) bool { return s.Features.Batch > 1 })
		if batches != c.batches {
			t.Errorf("memory of %d: batches were measured %v, want %v", c.memory, batches, c.batches)
		}
	}
}

func TestCalibrateClosedGPU(t *testing.T) {
	g := testGPU(t, testMemory)
	d := testDispatcher(t, g, dispatch.Config{})
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), d, indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 300)), Options{Limit: 200 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	for _, f := range d.Costs().Fits() {
		if f.Kind >= cost.GPUImagesOr {
			t.Errorf("%+v of a dispatch.GPU that is closed", f)
		}
	}
	if g.Lost() {
		t.Error("a dispatch.GPU that was closed counts as lost")
	}
}
