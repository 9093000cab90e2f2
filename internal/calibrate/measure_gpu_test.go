package calibrate

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sched"
)

// falling has each run take 10 µs less than the one before, from usual.
func (r *script) falling(string, *dispatch.Step) (time.Duration, error) {
	return usual - time.Duration(10*(len(r.log)-1))*time.Microsecond, nil
}

// count describes a log: consecutive equal runs are one entry with their number.
func count(log []string) (all []string) {
	for i := 0; i < len(log); {
		n := i
		for n < len(log) && log[n] == log[i] {
			n++
		}
		all = append(all, fmt.Sprintf("%d %s", n-i, log[i]))
		i = n
	}
	return all
}

// A query runs on the GPU by images, if they have room, and by packed lists, if
// the GPU reads them. A first run that loads lists measures the loading.
func TestMeasureOnGPU(t *testing.T) {
	packed := textIndex(t, index.Options{NoStored: true}, multiples(400, 2, 3, 7))
	large := indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 4000))
	imagesOnly := textIndex(t, index.Options{NoStored: true, Codec: "ef"}, multiples(400, 2, 3, 7))
	type result struct {
		runs, samples []string
		gpu           cost.Kind
		took          time.Duration
	}
	onCPU := []string{"3 cpu cpu-or"}
	for _, c := range []struct {
		name     string
		memory   int64
		snapshot *index.Snapshot
		text     string
		// Of the first and the second time that the query is measured.
		first, again result
	}{
		{"images and packed lists", testMemory, packed, "m2 m3", result{
			append(onCPU, "4 gpu gpu-images-or", "1 gpu bring-host gpu-packed-or", "3 gpu gpu-packed-or"),
			[]string{"cpu-or 980µs", "gpu-images-or 940µs", "bring-images 30µs", "gpu-packed-or 900µs", "bring-host 30µs"},
			cost.GPUImagesOr, 940 * time.Microsecond,
		}, result{
			append(onCPU, "4 gpu gpu-images-or", "4 gpu gpu-packed-or"),
			[]string{"cpu-or 980µs", "gpu-images-or 940µs", "gpu-packed-or 900µs"},
			cost.GPUImagesOr, 940 * time.Microsecond,
		}},
		{"images only", testMemory, imagesOnly, "m2 m3", result{
			append(onCPU, "4 gpu gpu-images-or"),
			[]string{"cpu-or 980µs", "gpu-images-or 940µs", "bring-images 30µs"},
			cost.GPUImagesOr, 940 * time.Microsecond,
		}, result{
			append(onCPU, "4 gpu gpu-images-or"),
			[]string{"cpu-or 980µs", "gpu-images-or 940µs"},
			cost.GPUImagesOr, 940 * time.Microsecond,
		}},
		{"no room for images", 20 << 10, large, "w0 w1 w2", result{
			append(onCPU, "1 gpu bring-host gpu-packed-or", "3 gpu gpu-packed-or"),
			[]string{"cpu-or 980µs", "gpu-packed-or 940µs", "bring-host 30µs"},
			cost.GPUPackedOr, 940 * time.Microsecond,
		}, result{
			append(onCPU, "4 gpu gpu-packed-or"),
			[]string{"cpu-or 980µs", "gpu-packed-or 940µs"},
			cost.GPUPackedOr, 940 * time.Microsecond,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, r := scripted(t, testGPU(t, c.memory), c.snapshot)
			r.took = r.falling
			for i, want := range []result{c.first, c.again} {
				r.log, m.samples = nil, nil
				w, err := m.measure(t.Context(), prepare(t, m, plan.ModeOr, words(c.text)))
				if err != nil || w.kind != [...]cost.Kind{cost.CPUOr, want.gpu} || w.took != [...]time.Duration{980 * time.Microsecond, want.took} {
					t.Errorf("time %d: the whole %+v, %v", i+1, w, err)
				}
				checkEqual(t, fmt.Sprintf("time %d: runs", i+1), count(r.log), want.runs)
				checkEqual(t, fmt.Sprintf("time %d: samples", i+1), brief(m.samples), want.samples)
			}
		})
	}
}

// The lists that have no images are those that the first run loads.
func TestMeasureLoading(t *testing.T) {
	m, _ := scripted(t, testGPU(t, testMemory), textIndex(t, index.Options{NoStored: true}, multiples(400, 2, 4, 5)))
	for _, c := range []struct {
		text string
		want []cost.Features // Lists and Sum
	}{
		{"m2 m5", []cost.Features{{Lists: 2, Sum: 200 + 80}}},
		{"m2 m4 m5", []cost.Features{{Lists: 1, Sum: 100}}},
		{"m4 m5", nil},
	} {
		m.samples = nil
		m.runs.(*script).log, m.runs.(*script).took = nil, m.runs.(*script).falling
		if _, err := m.measure(t.Context(), prepare(t, m, plan.ModeOr, words(c.text))); err != nil {
			t.Fatal(err)
		}
		var got []cost.Features
		for _, s := range m.samples {
			if s.Kind == cost.BringImages {
				got = append(got, cost.Features{Lists: s.Features.Lists, Sum: s.Features.Sum})
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.text, got, c.want)
		}
	}
}

// From each list on, a conjunction runs on the GPU to the next list and to its
// end, three times; the first run loads the lists.
func TestMeasureStepsOnGPU(t *testing.T) {
	snapshot := textIndex(t, index.Options{NoStored: true}, multiples(400, 2, 3, 7))
	m, r := scripted(t, testGPU(t, testMemory), snapshot)
	r.took = r.falling
	if _, err := m.measure(t.Context(), prepare(t, m, plan.ModeAnd, words("m2 m3 m7"))); err != nil {
		t.Fatal(err)
	}
	checkEqual(t, "runs", count(r.log), []string{
		"3 cpu cpu-and", "4 gpu gpu-images-and", "1 gpu bring-host gpu-packed-and", "3 gpu gpu-packed-and",
		"1 cpu cpu-begin", "6 try gpu-intersect", "1 cpu cpu-intersect", "3 try gpu-intersect", "1 cpu cpu-intersect cpu-select",
	})
	samples := brief(m.samples)
	checkEqual(t, "samples", samples[:len(samples)-1], []string{
		"cpu-and 980µs", "gpu-images-and 940µs", "bring-images 30µs", "gpu-packed-and 900µs", "bring-host 30µs",
		"cpu-begin 890µs", "gpu-intersect 870µs", "gpu-intersect 860µs", "gpu-intersect 840µs", "gpu-intersect 830µs",
		"cpu-intersect 820µs", "gpu-intersect 800µs", "gpu-intersect 790µs",
	})
	if m.read != 3 {
		t.Errorf("the caches were replaced before %d short steps of 3", m.read)
	}
	var lists []int
	for _, s := range m.samples {
		if s.Kind == cost.GPUIntersect {
			lists = append(lists, s.Features.Lists)
		}
	}
	if !slices.Equal(lists, []int{1, 1, 2, 2, 1, 1}) {
		t.Errorf("lists of the steps %v", lists)
	}
}

// A step that loads lists gives no sample, the next ones do.
func TestMeasureStepsWithLoading(t *testing.T) {
	snapshot := textIndex(t, index.Options{NoStored: true}, multiples(400, 2, 3, 7))
	m, r := scripted(t, testGPU(t, testMemory), snapshot)
	r.took = func(run string, _ *dispatch.Step) (time.Duration, error) {
		if strings.HasPrefix(run, "gpu") {
			return 0, sched.ErrFailed // nothing is loaded
		}
		return r.falling(run, nil)
	}
	if _, err := m.measure(t.Context(), prepare(t, m, plan.ModeAnd, words("m2 m3 m7"))); err != nil {
		t.Fatal(err)
	}
	checkEqual(t, "runs", count(r.log), []string{
		"3 cpu cpu-and", "1 gpu gpu-images-and",
		"1 cpu cpu-begin", "1 try bring-host gpu-intersect", "2 try gpu-intersect", "1 try bring-host gpu-intersect", "2 try gpu-intersect",
		"1 cpu cpu-intersect", "3 try gpu-intersect", "1 cpu cpu-intersect cpu-select",
	})
	if got := brief(m.samples); got[0] != "cpu-and 980µs" || got[1] != "cpu-begin 960µs" || got[2] != "gpu-intersect 940µs" {
		t.Errorf("samples %q", got)
	}
}

// Lists that the GPU can read by images only are intersected on the CPU.
func TestMeasureStepsOfImages(t *testing.T) {
	m, r := scripted(t, testGPU(t, testMemory), textIndex(t, index.Options{NoStored: true, Codec: "ef"}, multiples(400, 2, 3, 7)))
	if _, err := m.measure(t.Context(), prepare(t, m, plan.ModeAnd, words("m2 m3 m7"))); err != nil {
		t.Fatal(err)
	}
	checkEqual(t, "runs", count(r.log), []string{
		"3 cpu cpu-and", "4 gpu gpu-images-and", "1 cpu cpu-begin", "1 cpu cpu-intersect", "1 cpu cpu-intersect cpu-select",
	})
}

// Impacts run by images only, and in no batch.
func TestMeasureImpacts(t *testing.T) {
	ix := indextest.Write(t, index.Options{Analyzer: "whitespace"}, func(w *indextest.Writer) {
		for i, text := range multiples(400, 2, 3) {
			w.AddText(i, text)
		}
	})
	if _, err := ix.BuildImpacts(t.Context(), index.ImpactOptions{}); err != nil {
		t.Fatal(err)
	}
	m, r := scripted(t, testGPU(t, testMemory), indextest.Snapshot(t, ix))
	w, err := m.measure(t.Context(), prepare(t, m, plan.ModeSaat, words("m2 m3")))
	if err != nil || w.kind != [...]cost.Kind{cost.CPUImpacts, cost.GPUImpacts} {
		t.Errorf("the whole %+v, %v", w, err)
	}
	checkEqual(t, "runs", count(r.log), []string{"3 cpu cpu-impacts", "4 gpu gpu-impacts"})
	if len(m.batches[0].queries)+len(m.batches[1].queries) > 0 {
		t.Error("the query is in a batch")
	}
}

// Failures of the GPU end its measurement only, other errors everything.
func TestMeasureGPUErrors(t *testing.T) {
	g := testGPU(t, testMemory)
	snapshot := textIndex(t, index.Options{NoStored: true}, multiples(400, 2, 3, 7))
	failures := map[string]int{}
	for failing := 1; ; failing++ {
		m, r := scripted(t, g, snapshot)
		q := prepare(t, m, plan.ModeAnd, words("m2 m3 m7"))
		var broken error
		r.took = func(run string, _ *dispatch.Step) (time.Duration, error) {
			switch {
			case len(r.log) == failing:
				return 0, broken
			case strings.HasPrefix(run, "cpu"):
				return usual, nil
			}
			return usual, errNotRun
		}
		broken = fmt.Errorf("run: %w", io.ErrUnexpectedEOF)
		_, err := m.measure(t.Context(), q)
		if len(r.log) < failing {
			break
		}
		run := r.log[failing-1]
		if failures[run[:strings.Index(run, " ")]]++; !errors.Is(err, io.ErrUnexpectedEOF) || len(r.log) != failing {
			t.Errorf("%s, run %d, fails: %v after %d runs", run, failing, err, len(r.log))
		}
		if strings.HasPrefix(run, "cpu") {
			continue
		}
		for _, broken = range []error{fmt.Errorf("run: %w", sched.ErrFailed), fmt.Errorf("run: %w", sched.ErrLost)} {
			r.log = nil
			if _, err := m.measure(t.Context(), q); err != nil || len(r.log) < failing {
				t.Errorf("%s, run %d, has %v: %v after %d runs", run, failing, broken, err, len(r.log))
			} else if len(r.log) > failing && !strings.HasPrefix(r.log[failing], "cpu") {
				t.Errorf("after %s, run %d, had %v, the GPU ran %s", run, failing, broken, r.log[failing])
			}
		}
	}
	if failures["gpu"] != 8 || failures["try"] != 9 {
		t.Errorf("runs that failed: %v", failures)
	}
}

func TestMeasureWithoutAttaching(t *testing.T) {
	g := testGPU(t, testMemory)
	m, r := scripted(t, g, textIndex(t, index.Options{NoStored: true}, multiples(400, 2, 3)))
	r.ran = func(string) {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
	w, err := m.measure(t.Context(), prepare(t, m, plan.ModeOr, words("m2 m3")))
	if err != nil || w.took != [...]time.Duration{usual, 0} {
		t.Errorf("on a GPU that is closed: %+v, %v", w, err)
	}
	checkEqual(t, "runs", count(r.log), []string{"3 cpu cpu-or"})
}

// startBatch leaves a batch of ORs one query short of being measured. sum has
// the sums of their features.
func startBatch(t *testing.T, m *measurer, r *script, load bool) (sum *cost.Features, last func() error) {
	t.Helper()
	sum = &cost.Features{}
	add := func(text string, mode plan.Mode) error {
		q := prepare(t, m, mode, words(text))
		m.Begin(q)
		defer m.End()
		if !m.Attach() {
			t.Fatal("the GPU does not know the index")
		}
		if f := m.Features(); mode == plan.ModeOr {
			sum.Lists, sum.K, sum.Batch = sum.Lists+f.Lists, f.K, sum.Batch+1
			sum.Shortest, sum.Second, sum.Longest, sum.Sum = sum.Shortest+f.Shortest, sum.Second+f.Second, sum.Longest+f.Longest, sum.Sum+f.Sum
		}
		if s := m.ImagesStep(); load {
			if _, err := m.Prober.Run(t.Context(), sched.GPU, &s); err != nil {
				t.Fatal(err)
			}
			m.Rewind()
			load = false // all lists have images now
		}
		return m.inBatch(t.Context(), q)
	}
	for i := range dispatch.BatchMeasured - 1 {
		if err := errors.Join(add([]string{"m2 m3 m7", "m3"}[i%2], plan.ModeOr), add("m2 m7", plan.ModeAnd)); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.log) > 0 || len(m.samples) > 0 {
		t.Fatalf("runs %q, samples %q of incomplete batches", r.log, brief(m.samples))
	}
	return sum, func() error { return add("m2 m3 m7", plan.ModeOr) }
}

func TestMeasureFullBatch(t *testing.T) {
	g := testGPU(t, testMemory)
	snapshot := textIndex(t, index.Options{NoStored: true}, multiples(400, 2, 3, 7))
	for _, c := range []struct {
		name    string
		load    bool
		results []pipeline.Result
		times   []time.Duration
		want    time.Duration
	}{
		{"some lists have no images", false, nil, nil, 0},
		{"the second time is the least", true, nil, []time.Duration{3, 5, 7}, 5},
		{"the third time is the least", true, nil, []time.Duration{9, 7, 5}, 5},
		{"a query fails", true, []pipeline.Result{{}, {Err: sched.ErrFailed}}, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, r := scripted(t, g, snapshot)
			r.took, r.results = inTurn(c.times...), c.results
			if !c.load {
				r.took = func(string, *dispatch.Step) (time.Duration, error) { return usual, errNotRun }
			}
			sum, last := startBatch(t, m, r, c.load)
			if err := last(); err != nil {
				t.Fatal(err)
			}
			checkEqual(t, "runs", count(r.log), []string{"3 16 together"})
			if c.want == 0 && len(m.samples) > 0 {
				t.Errorf("samples %q", brief(m.samples))
			}
			if want := (cost.Measured{Kind: cost.GPUImagesOr, Features: *sum, Took: c.want}); c.want > 0 && !slices.Equal(m.samples, []cost.Measured{want}) {
				t.Errorf("samples %+v, want %+v", m.samples, want)
			}
			if or, and := len(m.batches[0].queries), len(m.batches[1].queries); or+and != dispatch.BatchMeasured-1 || or > 0 && and > 0 {
				t.Errorf("the next batches have %d and %d queries", or, and)
			}
		})
	}
}

func TestMeasureBatchError(t *testing.T) {
	m, r := scripted(t, testGPU(t, testMemory), textIndex(t, index.Options{NoStored: true}, multiples(400, 2, 3, 7)))
	startBatch(t, m, r, true)
	r.took = func(run string, _ *dispatch.Step) (time.Duration, error) {
		if strings.HasSuffix(run, "together") {
			return usual, io.ErrUnexpectedEOF
		}
		return usual, nil
	}
	if _, err := m.measure(t.Context(), prepare(t, m, plan.ModeOr, words("m2 m3"))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
	checkEqual(t, "runs", count(r.log), []string{"3 cpu cpu-or", "4 gpu gpu-images-or", "1 16 together"})
}

func TestGPUError(t *testing.T) {
	for _, err := range []error{nil, sched.ErrFailed, sched.ErrLost, fmt.Errorf("run: %w", sched.ErrFailed)} {
		if got := gpuError(err); got != nil {
			t.Errorf("%v: %v", err, got)
		}
	}
	if got := gpuError(io.ErrUnexpectedEOF); got != io.ErrUnexpectedEOF { //nolint:errorlint // the same
		t.Errorf("another error: %v", got)
	}
}
