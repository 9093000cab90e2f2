package exec

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
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/query"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/vfs"
)

// testDispatcher returns a Dispatcher of a GPU that the test closes, or of none.
func testDispatcher(t testing.TB, g *GPU, o DispatchOptions) *Dispatcher {
	t.Helper()
	d, err := NewDispatcher(g, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A measurer runs a conjunction whole and in steps at every place there is, and what it
// notes of each has the features that the policy cost predicts it by.
func TestMeasureConjunction(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 1))
	snapshot := testSnapshot(t, randomIndex(t, rng, 400, 2, true))
	d := testDispatcher(t, testGPU(t, pipeline.Options{}), DispatchOptions{})
	m, err := newMeasurer(d.gpu, snapshot)
	if err != nil {
		t.Fatal(err)
	}
	p, err := m.searcher.Prepare(m.sc, &query.Words{Text: "w1 w2 w3", Boost: 1}, Options{Mode: ModeAnd, K: 10})
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
		case cost.GPUIntersect, cost.GPUDirectAnd:
			wrong = f.Blocks == 0 || f.Lists == 0
		}
		if wrong {
			t.Errorf("%v: %+v", s.Kind, f)
		}
	}
	for _, k := range []cost.Kind{
		cost.CPUAnd, cost.CPUBegin, cost.CPUIntersect, cost.GPUImagesAnd, cost.GPUDirectAnd, cost.GPUIntersect,
	} {
		if seen[k] == 0 {
			t.Errorf("nothing of %v among %v", k, seen)
		}
	}
	if seen[cost.CPUOr]+seen[cost.GPUImagesOr]+seen[cost.GPUDirectOr] > 0 {
		t.Errorf("an OR was measured: %v", seen)
	}
}

// Batches are measured when enough queries have come, as what they are together.
func TestMeasureBatch(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 2))
	snapshot := testSnapshot(t, randomIndex(t, rng, 100, 1, false))
	m, err := newMeasurer(testGPU(t, pipeline.Options{}), snapshot)
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for i := range batchMeasured {
		p, err := m.searcher.Prepare(m.sc, &query.Words{Text: []string{"w1 w2", "w3"}[i%2], Boost: 1}, Options{K: 10})
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
			if f.Batch != batchMeasured || f.Lists != batchMeasured/2*3 || f.Sum != sum {
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

// A single term is a kind of its own, in every mode: its best are found in few blocks.
func TestMeasureTerm(t *testing.T) {
	snapshot := testSnapshot(t, randomIndex(t, rand.New(rand.NewPCG(91, 7)), 300, 2, true))
	for _, mode := range []Mode{ModeOr, ModeAnd, ModeAndOr} {
		m, err := newMeasurer(nil, snapshot)
		if err != nil {
			t.Fatal(err)
		}
		p, err := m.searcher.Prepare(m.sc, &query.Words{Text: "w3", Boost: 1}, Options{Mode: mode, K: 10})
		if err != nil {
			t.Fatal(err)
		}
		if w, err := m.measure(t.Context(), p); err != nil || w.kind[0] != cost.CPUTerm || len(m.samples) != 1 || m.samples[0].Kind != cost.CPUTerm {
			t.Errorf("mode %s: %+v, %v; samples %+v", mode, w, err, m.samples)
		}
	}
}

// A calibration fits the kinds that it has measured, and leaves the answers as they are.
// When its time has ended it goes on no longer. Without documents there is nothing to do.
func TestCalibrate(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 3))
	ix := randomIndex(t, rng, 300, 1, false)
	g := testGPU(t, pipeline.Options{})
	for i, gpu := range []*GPU{nil, g, nil, g} {
		d := testDispatcher(t, gpu, DispatchOptions{})
		var done, total int64
		o := CalibrateOptions{Limit: 1, Helpers: [...]int{-1, -1, 2, 2}[i], Progress: func(n, of int64) { done, total = n, of }}
		if err := d.Calibrate(t.Context(), testSnapshot(t, ix), o); err != nil || done != 0 || d.Costs().Calibrated() {
			t.Errorf("without time: %d queries, %v", done, err)
		}
		o.Limit, o.Queries = longWait, 40
		if err := d.Calibrate(t.Context(), testSnapshot(t, ix), o); err != nil {
			t.Fatal(err)
		}
		if done != 40 || total != 40 {
			t.Errorf("progress: %d of %d", done, total)
		}
		if !d.Costs().Calibrated() {
			t.Errorf("not calibrated by %d queries", done)
		}
		if d.Calibrates(testSnapshot(t, ix)) {
			t.Error("an index of few postings is worth to be measured")
		}
	}
	newGPUPair(t, testSnapshot(t, ix), g).check(t, words(rng, 3), Options{K: 10})

	empty := randomIndex(t, rng, 1, 1, false)
	d := testDispatcher(t, nil, DispatchOptions{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.Calibrate(ctx, testSnapshot(t, empty), CalibrateOptions{}); !errors.Is(err, context.Canceled) || d.Costs().Calibrated() {
		t.Errorf("cancelled: %v", err)
	}
}

// Helpers measure queries of their own, and end with a calibration that is cancelled.
func TestCalibrateHelpers(t *testing.T) {
	snapshot := testSnapshot(t, randomIndex(t, rand.New(rand.NewPCG(91, 4)), 300, 1, false))
	samples := func(helpers int) (n int) {
		d := testDispatcher(t, nil, DispatchOptions{})
		o := CalibrateOptions{Limit: longWait, Queries: 60, Helpers: helpers}
		var most int
		o.Progress = func(done, _ int64) {
			if helpers > 0 && done == 30 {
				time.Sleep(200 * time.Millisecond) // so that they come to something
			}
		}
		if err := d.Calibrate(t.Context(), snapshot, o); err != nil {
			t.Fatal(err)
		}
		for _, f := range d.Costs().Fits() {
			most = max(most, f.Samples)
		}
		return most
	}
	if alone, helped := samples(-1), samples(3); helped <= alone {
		t.Errorf("%d samples alone, %d with helpers", alone, helped)
	}
	ctx, cancel := context.WithCancel(t.Context())
	d := testDispatcher(t, nil, DispatchOptions{})
	o := CalibrateOptions{Limit: longWait, Helpers: 2, Progress: func(done, _ int64) { cancel() }}
	if err := d.Calibrate(ctx, snapshot, o); !errors.Is(err, context.Canceled) || d.Costs().Calibrated() {
		t.Errorf("cancelled: %v", err)
	}
}

// What was measured is loaded again for the same machine, and by who has something to
// decide only. A file that is damaged, and a folder that is not there, are no errors.
func TestLoadCosts(t *testing.T) {
	dir := t.TempDir()
	o := DispatchOptions{Admit: true}
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
	if o = (DispatchOptions{}); o.LoadCosts(vfs.OS, dir, nil) || o.Costs == nil {
		t.Error("it was loaded where there is nothing to decide")
	}
	if o = (DispatchOptions{Admit: true}); o.LoadCosts(vfs.OS, filepath.Join(dir, "missing"), nil) || o.Costs == nil || o.CostsErr != nil {
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

// Training makes a tree for each mode on the CPU, tests it on the other queries, and lets
// the policy query predict by it.
func TestTrain(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 4))
	snapshot := testSnapshot(t, randomIndex(t, rng, 300, 1, false))
	d := testDispatcher(t, nil, DispatchOptions{})
	var queries []query.Node
	for range 80 {
		queries = append(queries, words(rng, 1+rng.IntN(3)))
	}
	report, err := d.Train(t.Context(), snapshot, queries, TrainOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Queries != 80 || report.Train != 60 || len(report.Trees) != 2 {
		t.Fatalf("%+v", report)
	}
	for i, tree := range report.Trees {
		if tree.Processor != "cpu" || tree.Mode != []Mode{ModeOr, ModeAnd}[i] || tree.Queries < fewQueries || tree.Queries+tree.Tested > 80-20*i /* of one word, an AND is an OR, and measured once */ || tree.Leaves < 1 || !(tree.Error > 0) || !(tree.Model > 0) {
			t.Errorf("%+v", tree)
		}
	}
	if trees := d.Costs().Trees(); trees.CPUOr == nil || trees.CPUAnd == nil || trees.GPUOr != nil || trees.GPUAnd != nil {
		t.Errorf("%+v", trees)
	}
	if _, err := d.Train(t.Context(), snapshot, queries[:fewQueries], TrainOptions{}); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("of too few queries: %v", err)
	}
}

// The model is tested by the same times as the tree: of a query that was measured in two ways on
// the GPU, by those of one.
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
		{Kind: cost.GPUDirectAnd, Features: f, Took: predicted},
		{Kind: cost.CPUAnd, Features: f, Took: time.Minute},
	})
	if gpu, cpu := &tr.sets[sched.GPU][1], &tr.sets[sched.CPU][1]; gpu.compared != 1 || gpu.errors != 0.5 || cpu.compared != 0 {
		t.Errorf("%d of the GPU compared, with an error of %g, %d of the CPU; want one, 0.5, none", gpu.compared, gpu.errors, cpu.compared)
	}
}

// Terms come from all strata, are those of the index with the length that the stratum
// says, and are the same for the same seed.
func TestSampleTerms(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 5))
	snapshot := testSnapshot(t, randomIndex(t, rng, 500, 2, false))
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
	// Without time there are some all the same.
	hurried, err := sampleTerms(t.Context(), snapshot, rand.New(rand.NewPCG(1, 1)), 0)
	if err != nil || len(hurried.full) == 0 {
		t.Errorf("strata %v, %v", hurried.full, err)
	}
}

// Terms that are sampled together are different, and all in one document; a query has as
// many terms as it is to have, where no document has so many, too.
func TestSampleTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 6))
	snapshot := testSnapshot(t, randomIndex(t, rng, 300, 1, false))
	s, err := sampleTerms(t.Context(), snapshot, rng, longWait)
	if err != nil {
		t.Fatal(err)
	}
	searcher, sc := NewSearcher(snapshot, nil), testScratch(t, snapshot.Options.Analyzer)
	found := 0
	for range 50 {
		terms, err := s.together(4)
		if err != nil {
			t.Fatal(err)
		}
		text := string(bytes.Join(terms, []byte(" ")))
		if a := answer(t, searcher, sc, &query.Words{Text: text, Boost: 1}, Options{Mode: ModeAnd, K: 1}); len(a.Hits) == 0 {
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

// A batch whose images do not fit together says nothing of one whose images are there.
func TestMeasureBatchWithoutRoom(t *testing.T) {
	snapshot := testSnapshot(t, frequentIndex(t, "ef", 4000)) // a codec of which the GPU needs images
	for _, c := range []struct {
		memory  int64
		batches bool
	}{{testMemory, true}, {20 << 10, false}} {
		g := testGPU(t, pipeline.Options{Memory: pipeline.Memory{Bytes: c.memory}})
		m, err := newMeasurer(g, snapshot)
		if err != nil {
			t.Fatal(err)
		}
		for i := range batchMeasured {
			p, err := m.searcher.Prepare(m.sc, &query.Words{Text: fmt.Sprint("w", i%4), Boost: 1}, Options{K: 10})
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

// A GPU that is closed, as an index may be while it is calibrated, is not measured.
func TestCalibrateClosedGPU(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	d := testDispatcher(t, g, DispatchOptions{})
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Calibrate(t.Context(), testSnapshot(t, frequentIndex(t, "simdbp", 300)), CalibrateOptions{Limit: 200 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	for _, f := range d.Costs().Fits() {
		if f.Kind >= cost.GPUImagesOr {
			t.Errorf("%+v of a GPU that is closed", f)
		}
	}
	if g.lost() {
		t.Error("a GPU that was closed counts as lost")
	}
}
