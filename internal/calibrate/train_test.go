package calibrate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/query"
)

func TestTrainDefaults(t *testing.T) {
	for _, c := range []struct {
		o        TrainOptions
		queries  int
		k, train int
	}{
		{TrainOptions{}, 100, 10, 75},
		{TrainOptions{K: -1, Train: -1}, 3999, 10, 2999},
		{TrainOptions{}, 5000, 10, 3000},
		{TrainOptions{K: 1, Train: 1}, 100, 1, 1},
		{TrainOptions{K: 1000, Train: 101}, 100, 1000, 100},
	} {
		if got := c.o.withDefaults(c.queries); got.K != c.k || got.Train != c.train {
			t.Errorf("%+v of %d queries: %+v, want K %d, Train %d", c.o, c.queries, got, c.k, c.train)
		}
	}
}

// some returns queries of two words, and of one word.
func some(two, one int) (all []query.Node) {
	words := []string{"m2", "m3", "m5", "m7"}
	for i := range two {
		all = append(all, &query.Words{Text: words[i%4] + " " + words[(i+1+i/4%3)%4], Boost: 1 + float64(i)})
	}
	for i := range one {
		all = append(all, &query.Words{Text: words[i%4], Boost: 1 + float64(i)})
	}
	return all
}

func trainIndex(t *testing.T) *index.Snapshot {
	return textIndex(t, index.Options{}, multiples(300, 2, 3, 5, 7))
}

// Every query is measured as OR and, if it has several words, as AND. The report
// counts the queries for training and the others by mode.
func TestTrainReport(t *testing.T) {
	snapshot := trainIndex(t)
	for _, c := range []struct {
		train int
		want  []TrainedTree // without leaves and errors
	}{
		{20, []TrainedTree{{Mode: plan.ModeOr, Queries: 20, Tested: 20}, {Mode: plan.ModeAnd, Queries: 20, Tested: 20}}},
		{39, []TrainedTree{{Mode: plan.ModeOr, Queries: 39, Tested: 1}, {Mode: plan.ModeAnd, Queries: 39, Tested: 1}}},
		{40, []TrainedTree{{Mode: plan.ModeOr, Queries: 40}, {Mode: plan.ModeAnd, Queries: 40}}},
		{0, []TrainedTree{{Mode: plan.ModeOr, Queries: 30, Tested: 10}, {Mode: plan.ModeAnd, Queries: 30, Tested: 10}}},
	} {
		t.Run(fmt.Sprint(c.train), func(t *testing.T) {
			m, r := scripted(t, nil, snapshot)
			r.took = func(string, *dispatch.Step) (time.Duration, error) { // nothing predicts it
				return usual * time.Duration(1+len(r.log)*len(r.log)%7), nil
			}
			d := testDispatcher(t, nil, dispatch.Config{})
			queries := some(40, 0)
			given := slices.Clone(queries)
			var progress []int64
			report, err := m.train(t.Context(), d, queries, TrainOptions{Train: c.train, Progress: func(done, total int64) {
				if progress = append(progress, done); total != 40 {
					t.Errorf("a total of %d", total)
				}
			}})
			if err != nil || report.Queries != 40 || report.Train != c.want[0].Queries || len(report.Trees) != len(c.want) || !d.Costs().Calibrated() {
				t.Fatalf("%+v, %v, calibrated: %v", report, err, d.Costs().Calibrated())
			}
			if len(progress) != 40 || progress[0] != 1 || progress[39] != 40 || !slices.IsSorted(progress) {
				t.Errorf("progress %d", progress)
			}
			if !slices.Equal(queries, given) {
				t.Error("the caller's queries are in another order")
			}
			for i, tree := range report.Trees {
				if tree.Processor != "cpu" || tree.Mode != c.want[i].Mode || tree.Queries != c.want[i].Queries || tree.Tested != c.want[i].Tested || tree.Leaves < 1 {
					t.Errorf("%+v, want %+v", tree, c.want[i])
				}
				if math.IsNaN(tree.Model) || (tree.Model > 0) != (tree.Tested > 0) {
					t.Errorf("the model's error over %d queries is %g", tree.Tested, tree.Model)
				}
			}
		})
	}
}

// A tree needs 20 training queries. The AND of one word does not count.
func TestTrainFewOfOneMode(t *testing.T) {
	for two, trees := range map[int]int{19: 1, 20: 2} {
		m, r := scripted(t, nil, trainIndex(t))
		d := testDispatcher(t, nil, dispatch.Config{})
		report, err := m.train(t.Context(), d, some(two, 10), TrainOptions{Train: two + 10})
		if err != nil || len(report.Trees) != trees || report.Trees[0].Queries != two+10 {
			t.Errorf("%d of two words: %+v, %v", two, report, err)
		}
		if got := d.Costs().Trees(); got.CPUOr == nil || (got.CPUAnd != nil) != (trees == 2) {
			t.Errorf("%d of two words: trees %+v", two, got)
		}
		runs := map[string]int{}
		for _, run := range r.log {
			runs[run]++
		}
		if runs["cpu cpu-term"] != 3*10 || runs["cpu cpu-or"] != 3*two || runs["cpu cpu-and"] != 3*two {
			t.Errorf("%d of two words: runs %v", two, runs)
		}
	}
}

func TestTrainTooFew(t *testing.T) {
	for _, c := range []struct {
		queries int
		o       TrainOptions
		enough  bool
	}{
		{19, TrainOptions{Train: 100}, false},
		{20, TrainOptions{Train: 100}, true},
		{100, TrainOptions{Train: 19}, false},
		{26, TrainOptions{}, false},
		{27, TrainOptions{}, true},
	} {
		m, r := scripted(t, nil, trainIndex(t))
		d := testDispatcher(t, nil, dispatch.Config{})
		report, err := m.train(t.Context(), d, some(c.queries, 0), c.o)
		if report.Queries != c.queries || (err == nil) != c.enough || !c.enough && (!errors.Is(err, base.ErrBadInput) || len(r.log) > 0 || d.Costs().Calibrated()) {
			t.Errorf("%d queries, options %+v: %+v, %v", c.queries, c.o, report, err)
		}
	}
}

// The model is fitted to the training queries before the first test, the trees
// are set after the last.
func TestTrainFitsBeforeTests(t *testing.T) {
	for _, train := range []int{25, 40} {
		m, _ := scripted(t, nil, trainIndex(t))
		d := testDispatcher(t, nil, dispatch.Config{})
		var fitted []int64
		samples := 0
		_, err := m.train(t.Context(), d, some(40, 0), TrainOptions{Train: train, Progress: func(done, _ int64) {
			if d.Costs().Calibrated() {
				fitted = append(fitted, done)
			}
			if done == int64(train) {
				samples = ofKind(m.samples, cost.CPUOr)
			}
			if d.Costs().Trees() != (cost.Trees{}) {
				t.Errorf("trees after %d queries", done)
			}
		}})
		if err != nil || len(fitted) != 40-train || train < 40 && fitted[0] != int64(train)+1 {
			t.Errorf("%d for training: fitted after %d, %v", train, fitted, err)
		}
		for _, f := range d.Costs().Fits() {
			if f.Kind == cost.CPUOr && f.Samples != samples {
				t.Errorf("%d for training: fitted to %d samples of %d", train, f.Samples, samples)
			}
		}
	}
}

func ofKind(samples []cost.Measured, k cost.Kind) (n int) {
	for i := range samples {
		if samples[i].Kind == k {
			n++
		}
	}
	return n
}

// The training queries are a random subset, the same for equal queries.
func TestTrainSubset(t *testing.T) {
	order := func() (all []time.Duration) {
		m, r := scripted(t, nil, trainIndex(t))
		d := testDispatcher(t, nil, dispatch.Config{})
		r.took = func(_ string, s *dispatch.Step) (time.Duration, error) {
			return tooLong + time.Duration(s.Predictions()[0].Features.Sum) + 1, nil // another time for other words
		}
		if _, err := m.train(t.Context(), d, some(0, 40), TrainOptions{}); err != nil {
			t.Fatal(err)
		}
		for i := range m.samples {
			all = append(all, m.samples[i].Took)
		}
		return all
	}
	first, again := order(), order()
	if len(first) != 40 || !slices.Equal(first, again) {
		t.Errorf("%v, then %v", first, again)
	}
	inOrder, sorted := 0, slices.Clone(first)
	for i := 4; i < len(first); i++ {
		if first[i] == first[i-4] {
			inOrder++
		}
	}
	slices.Sort(sorted)
	if n := len(slices.Compact(sorted)); n != 4 || inOrder > 25 {
		t.Errorf("%d different queries, %d of 36 as four before them", n, inOrder)
	}
}

// Any failure ends training and changes no tree.
func TestTrainErrors(t *testing.T) {
	snapshot := trainIndex(t)
	unknown := textIndex(t, index.Options{}, pairs(3))
	unknown.Options.Analyzer = "none of that name"
	if _, err := Train(t.Context(), testDispatcher(t, nil, dispatch.Config{}), unknown, some(40, 0), TrainOptions{}); err == nil {
		t.Error("an unknown analyzer")
	}
	for _, c := range []struct {
		name    string
		queries []query.Node
		want    error
	}{
		{"the run of a query", some(40, 0), io.ErrUnexpectedEOF},
		{"an invalid query", append(some(39, 0), &query.Term{Field: "none of that name", Text: "m2", Boost: 1}), base.ErrBadInput},
		{"the context ends", some(40, 0), context.Canceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, r := scripted(t, nil, snapshot)
			d := testDispatcher(t, nil, dispatch.Config{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r.took = func(run string, _ *dispatch.Step) (time.Duration, error) {
				if errors.Is(c.want, io.ErrUnexpectedEOF) && len(r.log) > 20 && strings.HasSuffix(run, "and") {
					return 0, c.want
				}
				return usual, nil
			}
			_, err := m.train(ctx, d, c.queries, TrainOptions{Progress: func(done, _ int64) {
				if done == 3 && errors.Is(c.want, context.Canceled) {
					cancel()
				}
				if done == 40 {
					t.Error("all queries were measured")
				}
			}})
			if !errors.Is(err, c.want) || d.Costs().Trees() != (cost.Trees{}) {
				t.Errorf("%v, want %v; trees %+v", err, c.want, d.Costs().Trees())
			}
		})
	}
}

// Samples that a tree cannot be trained with are an error.
func TestTrainInvalidSamples(t *testing.T) {
	var tr training
	for range fewQueries {
		tr.sets[sched.CPU][0].train = append(tr.sets[sched.CPU][0].train, cost.Sample{Y: math.NaN()})
	}
	var report TrainReport
	if _, err := tr.train(&report); err == nil || len(report.Trees) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

// The model's error is the mean over the comparisons, 0 without any.
func TestTrainedModelError(t *testing.T) {
	for compared, want := range map[int]float64{0: 0, 4: 0.75} {
		var tr training
		s := &tr.sets[sched.GPU][1]
		for i := range fewQueries {
			s.train = append(s.train, cost.Sample{Y: float64(1000 + i)})
		}
		s.errors, s.compared = 0.75*float64(compared), compared
		var report TrainReport
		trees, err := tr.train(&report)
		if err != nil || trees.GPUAnd == nil || len(report.Trees) != 1 || report.Trees[0].Processor != "gpu" || report.Trees[0].Model != want {
			t.Errorf("%d comparisons: %+v, %v", compared, report, err)
		}
	}
}

// Batches are not compared, even if one takes the time of a single query.
func TestTrainComparesNoBatches(t *testing.T) {
	m := cost.New(cost.Machine{})
	w := whole{kind: [sched.NumPlaces]cost.Kind{sched.CPU: cost.CPUOr, sched.GPU: cost.GPUImagesOr}, took: [sched.NumPlaces]time.Duration{usual, usual}}
	for batch, want := range map[int]int{0: 1, 1: 1, 2: 0} {
		var tr training
		tr.compare(m, &w, []cost.Measured{{Kind: cost.GPUImagesOr, Features: cost.Features{Batch: batch}, Took: usual}})
		if got := tr.sets[sched.GPU][0].compared; got != want || tr.sets[sched.CPU][0].compared != 0 {
			t.Errorf("a batch of %d: %d comparisons, want %d", batch, got, want)
		}
	}
}
