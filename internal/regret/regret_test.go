package regret

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/query"
)

const us = time.Microsecond

func rounds(d time.Duration) []time.Duration { return []time.Duration{d, d, d, d} }

// The figures are calculated by hand: two queries under three policies, with placements that
// were excluded, impossible, and fast by chance in even rounds only.
func TestReport(t *testing.T) {
	m := &Measured{
		Rounds: 4, Names: []string{"cpu", "gpu", "cost", "baseline"}, policies: 3, oracle: true,
		Queries: []Measurement{
			{
				DocFreqs: []uint64{10, 400},
				Took:     [][]time.Duration{rounds(10 * us), rounds(30 * us), rounds(11 * us), rounds(50 * us)},
				Ran:      [][]Places{{{CPU: true}}, {{GPU: true}}, {{CPU: true}}, {{}}},
				placed:   [][]time.Duration{rounds(10 * us), nil, {8 * us, 0, 0, 0}},
			},
			{
				DocFreqs: []uint64{2000, 2000, 90000},
				Took:     [][]time.Duration{rounds(90 * us), rounds(30 * us), {24 * us, 28 * us, 24 * us, 28 * us}, rounds(150 * us)},
				Ran:      [][]Places{{{CPU: true}}, {{GPU: true}}, {{CPU: true, GPU: true, Migrations: 1}}, {{}}},
				placed:   [][]time.Duration{rounds(90 * us), {20 * us, 22 * us, 20 * us, 22 * us}, {26 * us, 18 * us, 26 * us, 18 * us}},
			},
		},
	}
	r := m.Report()
	want := map[string]float64{"cpu": 50, "gpu": 30, "cost": 17.5, "baseline": 100, Oracle: 16}
	for name, mean := range want {
		if f := r.find(name); f == nil || f.Latency.Mean != mean {
			t.Errorf("%s: %+v: want a mean of %g µs", name, f, mean)
		}
	}
	cost := r.find("cost")
	if got := cost.OverCPU.Mean; math.Abs(got-50/17.5) > 1e-9 {
		t.Errorf("cost is %g times as fast as cpu, want %g", got, 50/17.5)
	}
	if got, want := cost.OverGPU.Max, 30.0/24; got != want {
		t.Errorf("cost is %g times as fast as gpu at the maximum, want %g", got, want)
	}
	// By the odd rounds: (11+28) to (10+22).
	if got, want := *cost.Regret, 39.0/32-1; math.Abs(got-want) > 1e-9 {
		t.Errorf("regret %g, want %g", got, want)
	}
	// By the minimum of the odd rounds: (11+28) to (10+18).
	if got, want := *cost.RegretAtMost, 39.0/28-1; math.Abs(got-want) > 1e-9 {
		t.Errorf("regret at most %g, want %g", got, want)
	}
	// The worst class of cost has query 1: 11 µs, the CPU 10.
	if math.Abs(*cost.Excess-0.1) > 1e-9 || cost.Worst != "terms 2 (1)" {
		t.Errorf("excess %g in class %q, want 0.1 in terms 2 (1)", *cost.Excess, cost.Worst)
	}
	if cost.OnCPU != 0.5 || cost.OnBoth != 0.5 || cost.OnGPU != 0 || cost.Migrations != 0.5 {
		t.Errorf("%+v: want half on the CPU, half on both", cost)
	}
	if r.find("baseline").Regret != nil || r.find("baseline").Excess != nil {
		t.Error("the baseline is no policy: it has no regret")
	}
	var classes []string
	for _, c := range r.Classes {
		classes = append(classes, c.By+" "+c.Name)
	}
	if want := []string{"terms 2", "terms 3", "shortest list 1-999", "shortest list 1K-9K", "ratio [1,16)", "ratio [32,64)"}; !slices.Equal(classes, want) {
		t.Errorf("classes %q, want %q", classes, want)
	}
}

func TestRegretWithOracle(t *testing.T) {
	m := &Measured{
		Rounds: 4, Names: []string{"cpu", "gpu", "cost"}, policies: 3, oracle: true,
		Queries: []Measurement{{
			DocFreqs: []uint64{10}, Took: [][]time.Duration{rounds(90 * us), rounds(30 * us), rounds(18 * us)}, Ran: make([][]Places, 3),
			beside: [][]time.Duration{nil, rounds(20 * us), rounds(24 * us)}, placed: [][]time.Duration{rounds(22 * us)},
		}},
	}
	r := m.Report()
	if o := r.find(Oracle); o.Latency.Mean != 20 {
		t.Errorf("oracle %g µs, want 20", o.Latency.Mean)
	}
	for name, want := range map[string][2]float64{"cpu": {90, 3.5}, "gpu": {30, 0}, "cost": {18, 0.2}} {
		t.Run(name, func(t *testing.T) {
			if f := r.find(name); f.Latency.Mean != want[0] || math.Abs(*f.Regret-want[1]) > 1e-9 {
				t.Errorf("%s: %g µs, regret %g; want %g", name, f.Latency.Mean, *f.Regret, want)
			}
		})
	}
}

func TestRatioClasses(t *testing.T) {
	for ratio, want := range map[uint64]string{1: "[1,16)", 15: "[1,16)", 16: "[16,32)", 127: "[64,128)", 128: "[128,256)", 511: "[256,512)", 1023: "[512,1024)", 1024: "1024+", 1 << 20: "1024+"} {
		if got := ratioClass([]uint64{3, 3 * ratio}); got != want {
			t.Errorf("ratio %d is in class %s, want %s", ratio, got, want)
		}
	}
	if got := ratioClass([]uint64{3}); got != "none" {
		t.Errorf("one list is in class %s", got)
	}
}

func gpuSearcher(t *testing.T, snapshot *index.Snapshot) (*dispatch.Searcher, *dispatch.GPU) {
	t.Helper()
	g, err := dispatch.OpenGPU(dispatch.GPUOptions{Device: "gpu", Memory: "64MiB"}, dispatch.ListBytes(snapshot))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	d, err := dispatch.NewDispatcher(g, dispatch.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := dispatch.NewSearcher(snapshot, nil)
	s.Use(d)
	return s, g
}

func someQueries(rng *rand.Rand, n int) []Query {
	var queries []Query
	for i := range n {
		text := strings.Join([]string{word(rng), word(rng), word(rng)}, " ")
		queries = append(queries, Query{ID: fmt.Sprint(i), Node: &query.Words{Text: text, Boost: 1}})
	}
	return queries
}

// measuringOnGPU has four queries on the emulated GPU.
func measuringOnGPU(t *testing.T, policies ...dispatch.Policy) (m *measuring, passes []pass, g *dispatch.GPU) {
	t.Helper()
	t.Setenv("GRIFFIN_CUDA_LIBRARY", gputest.Library(t).Path())
	rng := rand.New(rand.NewPCG(3, 4))
	s, g := gpuSearcher(t, smallIndex(t, rng))
	sc, err := dispatch.NewScratch("whitespace")
	if err != nil {
		t.Fatal(err)
	}
	m = &measuring{
		Options: Options{Searcher: s, Exec: dispatch.Options{Mode: plan.ModeAnd, K: 10}, Policies: policies, Oracle: true, Rounds: 2, Batch: 3},
		sc:      sc, queries: someQueries(rng, 4), result: &Measured{Rounds: 2},
	}
	if passes, err = m.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m, passes, g
}

func TestSharesCompareAnswers(t *testing.T) {
	m, _, _ := measuringOnGPU(t, dispatch.PolicyGPU)
	if err := m.shares(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := m.result.Queries[3].hits
	if len(before) == 0 {
		t.Fatal("the last query finds nothing")
	}
	m.result.Queries[3].hits = before[1:]
	if err := m.shares(t.Context()); !errors.Is(err, errNewAnswer) || !strings.Contains(err.Error(), "query 3, in a batch of 1") {
		t.Errorf("another answer in a batch: %v", err)
	}
}

// In the oracle's GPU memory, all queries run before a pass.
func TestRehearseRefills(t *testing.T) {
	m, passes, g := measuringOnGPU(t, dispatch.PolicyCPU)
	// The second query alone, on the CPU.
	alone := passes[slices.IndexFunc(passes, func(p pass) bool { return p.placement >= 0 })]
	if first := m.result.Queries[1].placements[alone.placement].First; first != sched.CPU {
		t.Fatalf("the first placement begins on the %v, want the CPU", first)
	}
	for _, own := range []bool{false, true} {
		m.own = nil
		if own {
			m.own = map[dispatch.Policy]OwnSearcher{dispatch.PolicyCost: {}}
		}
		before := g.Stats().OnGPU
		if err := m.rehearse(t.Context(), &alone, []int{1}); err != nil {
			t.Fatal(err)
		}
		n := int(g.Stats().OnGPU - before)
		if own && (n == 0 || n%len(m.queries) != 0) || !own && n != 0 {
			t.Errorf("GPU memory of their own %v: %d of %d queries on the GPU", own, n, len(m.queries))
		}
	}
}

// All answers must be equal, and figures must match the runs.
func TestMeasure(t *testing.T) {
	t.Setenv("GRIFFIN_CUDA_LIBRARY", gputest.Library(t).Path())
	rng := rand.New(rand.NewPCG(1, 2))
	snapshot := smallIndex(t, rng)
	s, _ := gpuSearcher(t, snapshot)
	queries := someQueries(rng, 4)
	passes, opened, closed := 0, []dispatch.Policy(nil), 0
	own := func(_ context.Context, p dispatch.Policy) (OwnSearcher, error) {
		g, err := dispatch.OpenGPU(dispatch.GPUOptions{Device: "gpu", Memory: "64MiB", Share: 3}, dispatch.ListBytes(snapshot))
		if err != nil {
			return OwnSearcher{}, err
		}
		d, err := dispatch.NewDispatcher(g, dispatch.Config{})
		if err != nil {
			return OwnSearcher{}, errors.Join(err, g.Close())
		}
		s := dispatch.NewSearcher(snapshot, nil)
		s.Use(d)
		opened = append(opened, p)
		return OwnSearcher{s, func() error {
			closed++
			if n := g.Stats().OnGPU; p == dispatch.PolicyGPU && n == 0 {
				t.Errorf("policy %s ran nothing on its own GPU", p)
			}
			return d.Close()
		}}, nil
	}
	m, err := Measure(t.Context(), queries, Options{
		Searcher: s, Analyzer: "whitespace", Exec: dispatch.Options{Mode: plan.ModeAnd, K: 10},
		Policies: []dispatch.Policy{dispatch.PolicyCPU, dispatch.PolicyGPU, dispatch.PolicyCost},
		Others:   []Variant{{Name: "svs-binary", Searcher: s, Exec: dispatch.Options{Mode: plan.ModeAnd, K: 10, Traversal: "svs-binary"}}},
		Own:      own, Oracle: true, Rounds: 2, Batch: 3, Progress: func(int, int) { passes++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []dispatch.Policy{dispatch.PolicyGPU, dispatch.PolicyCost}; !slices.Equal(opened, want) || closed != len(want) {
		t.Errorf("opened GPUs of %v, closed %d, want those of %v", opened, closed, want)
	}
	r := m.Report()
	cpu, gpu := r.find("cpu"), r.find("gpu")
	if cpu.OnCPU != 1 || gpu.OnGPU != 1 {
		t.Errorf("cpu %+v, gpu %+v: want all queries where the policy says", cpu, gpu)
	}
	if o := r.find(Oracle); o == nil || o.Latency.Mean <= 0 || passes == 0 {
		t.Errorf("oracle %+v, %d passes", o, passes)
	}
	for i := range m.Queries {
		q := &m.Queries[i]
		if q.Share <= 0 {
			t.Errorf("query %s: share %v of a batch", q.ID, q.Share)
		}
		if len(q.DocFreqs) > 1 && len(q.placements) < 4 {
			t.Errorf("query %s of %d terms: placements %v", q.ID, len(q.DocFreqs), q.placements)
		}
	}
	var times strings.Builder
	if err := m.WriteTimes(&times); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{timesHeader, "\tcost\t0\t", "\tgpu\t1\t", "\toracle: cost\t1\t", "\toracle: cpu\t0\t", "\tgpu\n"} {
		if !strings.Contains(times.String(), want) {
			t.Errorf("times have no %q:\n%s", want, times.String())
		}
	}
	costs, err := m.Costs()
	if err != nil || len(costs) != len(queries) || costs[0].CPU <= 0 || costs[0].GPU <= 0 || costs[0].Batched <= 0 {
		t.Errorf("costs %+v, %v", costs, err)
	}
}

func TestInterruptedMeasure(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	snapshot := smallIndex(t, rng)
	s := dispatch.NewSearcher(snapshot, nil)
	queries := []Query{{ID: "1", Node: &query.Words{Text: word(rng), Boost: 1}}}
	const passes = 2
	for done, want := range map[int]int{1: 0, 3*passes - 1: 0, 3 * passes: 2, 4*passes + 1: 3} { // the first round warms up
		ctx, cancel := context.WithCancel(t.Context())
		m, err := Measure(ctx, queries, Options{
			Searcher: s, Analyzer: "whitespace", Exec: dispatch.Options{Mode: plan.ModeOr, K: 10},
			Policies: []dispatch.Policy{dispatch.PolicyCPU, dispatch.PolicyCost}, Rounds: 1000,
			Progress: func(now, _ int) {
				if now == done {
					cancel()
				}
			},
		})
		cancel()
		if !errors.Is(err, context.Canceled) || (m != nil) != (want > 0) {
			t.Errorf("after %d passes: %+v, %v", done, m, err)
			continue
		}
		if m == nil {
			continue
		}
		if r := m.Report(); r.Rounds != want || len(m.Queries[0].Took[0]) != want || r.find("cpu").Latency.Mean <= 0 {
			t.Errorf("after %d passes: %d rounds, want %d", done, r.Rounds, want)
		}
	}
}

func word(rng *rand.Rand) string { return fmt.Sprint("w", rng.IntN(8)) }

func smallIndex(t *testing.T, rng *rand.Rand) *index.Snapshot {
	ix := indextest.Write(t, index.Options{Analyzer: "whitespace"}, func(w *indextest.Writer) {
		for i := range 400 {
			text := ""
			for range 4 {
				text += " " + word(rng)
			}
			w.AddText(i, text)
		}
	})
	return indextest.Snapshot(t, ix)
}

// A round has every pass once, and no pass always has the same predecessor.
func TestPlace(t *testing.T) {
	for n := 1; n <= 40; n++ {
		before := make([]map[int]int, n) // by pass: counts of its predecessors
		for i := range before {
			before[i] = map[int]int{}
		}
		const rounds = 4
		for round := range rounds {
			seen, last := make([]bool, n), -1
			for i := range n {
				p := place(i, round, n)
				if seen[p] {
					t.Fatalf("round %d of %d passes has %d twice", round, n, p)
				}
				seen[p] = true
				if last >= 0 {
					before[p][last]++
				}
				last = p
			}
		}
		for p, others := range before {
			for other, times := range others {
				if n > 3 && times == rounds || n >= rounds && n%2 == 0 && times > 1 {
					t.Errorf("of %d passes %d comes after %d in %d of %d rounds", n, p, other, times, rounds)
				}
			}
		}
	}
}
