package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/query"
)

func dispatched(t testing.TB, snapshot *index.Snapshot, g *GPU, o Config) (*gpuPair, *Dispatcher) {
	t.Helper()
	d, err := NewDispatcher(g, o)
	if err != nil {
		t.Fatal(err)
	}
	p := &gpuPair{cpu: NewSearcher(snapshot, nil), gpu: NewSearcher(snapshot, nil), sc: testScratch(t, snapshot.Options.Analyzer)}
	p.gpu.Use(d)
	return p, d
}

// anyPlacement chooses random places and pieces, for one goroutine.
func anyPlacement(rng *rand.Rand) func(pos, n int) (sched.Place, int) {
	return func(pos, n int) (sched.Place, int) {
		return sched.Place(rng.IntN(sched.NumPlaces)), min(pos+1+rng.IntN(n), n)
	}
}

// The answer is the CPU's over several segments, with deletions, for every k, with and without
// a count, in every mode.
func TestAnyPlacement(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	g := testGPU(t, pipeline.Options{})
	ix := plantest.RandomIndex(t, rng, 700, 3, true)
	if _, err := ix.BuildImpacts(t.Context(), index.ImpactOptions{}); err != nil {
		t.Fatal(err)
	}
	p, d := dispatched(t, indextest.Snapshot(t, ix), g, Config{})
	d.policy = &anyPolicy{anyPlacement(rng)}
	rounds := sampletest.UnderRace(15, 8)
	if sampletest.All() {
		rounds = 40
	}
	migrations := 0
	for i := range rounds {
		for _, mode := range []plan.Mode{plan.ModeAnd, plan.ModeAndOr, plan.ModeOr, plan.ModeSaat} {
			a := p.check(t, frequentWords(rng, 1+rng.IntN(5)), Options{Mode: mode, K: []int{1, 10, 1000}[rng.IntN(3)], Count: i%2 == 0})
			migrations += a.Migrations
		}
	}
	s := d.Stats()
	if migrations < rounds/2 || s.Migrations != int64(migrations) || s.CPUSteps < int64(rounds) || s.GPUSteps < int64(rounds) {
		t.Errorf("%d migrations in the answers; %+v: want many, on both processors", migrations, s)
	}
	if s := g.Stats(); s.Devices[0].Errors != 0 || s.Devices[0].Steps == 0 {
		t.Errorf("%+v: want steps on the GPU, without errors", s)
	}
}

// The CPU takes pieces of lists that a GPU cannot read where they lie or that several GPUs
// share; a policy does not ask for them.
func TestPlacementWithoutSplits(t *testing.T) {
	library := gputest.Library(t)
	if infos, err := library.Devices(); err != nil || !gputest.OnGPU() || len(infos) < 2 {
		library = gputest.Configure(t, gputest.Config{Devices: 2, MemoryBytes: 256 << 20})
	}
	for name, c := range map[string]struct {
		codec   string
		devices pipeline.Selection
	}{
		"codec":   {"ef", pipeline.Selection{Ordinals: []int{0}}},
		"devices": {"simdbp", pipeline.Selection{All: true}},
	} {
		t.Run("by="+name, func(t *testing.T) {
			g := testGPU(t, pipeline.Options{Library: library.Path(), Devices: c.devices, Lanes: 1})
			p, d := dispatched(t, indextest.Snapshot(t, plantest.FrequentIndex(t, c.codec, 1500)), g, Config{})
			d.policy = &anyPolicy{anyPlacement(rand.New(rand.NewPCG(40, 1)))}
			for range 8 {
				p.check(t, plantest.Parse(t, "w1 w2 w3"), Options{Mode: plan.ModeAnd, K: 10, Count: true})
			}
			if s := d.Stats().Pool; s.Failed == 0 {
				t.Errorf("%+v: want pieces that the GPU refused", s)
			}
			d.policy = costPolicy{}
			failed := d.Stats().Pool.Failed
			for _, policy := range []Policy{PolicyRatio, PolicyCost, PolicyGPU} {
				p.check(t, plantest.Parse(t, "w0 w1 w2 w3"), Options{Mode: plan.ModeAnd, K: 10, Policy: policy})
			}
			if s := d.Stats().Pool; s.Failed != failed {
				t.Errorf("%+v: a policy asked for what the GPU refuses", s)
			}
		})
	}
}

func frequentWords(rng *rand.Rand, n int) query.Node {
	text := make([]string, n)
	for i := range text {
		text[i] = fmt.Sprint("w", rng.IntN(6))
	}
	return &query.Words{Text: strings.Join(text, " "), Boost: 1}
}

// The steps go through the queues.
func TestAnyPlacementWithoutGPU(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 1))
	p, d := dispatched(t, indextest.Snapshot(t, plantest.RandomIndex(t, rng, 900, 3, true)), nil, Config{Admit: true})
	d.policy = &anyPolicy{func(pos, n int) (sched.Place, int) { return sched.CPU, min(pos+1+rng.IntN(n), n) }}
	for i := range 300 {
		p.check(t, frequentWords(rng, 2+rng.IntN(4)), Options{Mode: plan.ModeAnd, K: []int{1, 10, 1000}[i%3], Count: i%2 == 0})
	}
	if s := d.Stats(); s.CPUSteps < 400 || s.GPUSteps != 0 || s.Pool == nil || s.Pool.Ended != 300 {
		t.Errorf("%+v: want steps of 300 queries on the CPU", s)
	}
}

// Every mode runs, with many queries at the same time.
func TestEveryPolicy(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 1))
	g := testGPU(t, pipeline.Options{})
	ix := plantest.RandomIndex(t, rng, 500, 2, true)
	if _, err := ix.BuildImpacts(t.Context(), index.ImpactOptions{}); err != nil {
		t.Fatal(err)
	}
	snapshot := indextest.Snapshot(t, ix)
	for _, policy := range Policies() {
		t.Run("policy="+string(policy.Name), func(t *testing.T) {
			_, d := dispatched(t, snapshot, g, Config{Policy: policy.Name, CPUs: 2, MaxQueue: -1, Window: time.Millisecond})
			var wg sync.WaitGroup
			const workers, queries = 6, 8
			for w := range workers {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(34, uint64(w)))
					p := &gpuPair{cpu: NewSearcher(snapshot, nil), gpu: NewSearcher(snapshot, nil), sc: testScratch(t, "whitespace")}
					p.gpu.Use(d)
					for i := range queries {
						mode := []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr, plan.ModeSaat}[(i+w)%4]
						if err := p.agree(frequentWords(rng, 1+rng.IntN(4)), Options{Mode: mode, K: 10, Count: i%3 == 0}); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			s := d.Stats()
			if s.Pool.Ended != workers*queries || s.Pool.Arrived != s.Pool.Ended || s.Policy != policy.Name {
				t.Errorf("%+v, pool %+v: want %d queries that ended", s, s.Pool, workers*queries)
			}
			switch policy.Name {
			case PolicyCPU:
				if s.GPUSteps != 0 {
					t.Errorf("%d steps on the GPU", s.GPUSteps)
				}
			case PolicyGPU, PolicyBatch:
				if s.CPUSteps != 0 {
					t.Errorf("%d steps on the CPU", s.CPUSteps)
				}
			}
			if policy.Name == PolicyBatch && s.Pool.Places[sched.GPU].Batches == 0 {
				t.Error("no batch was formed")
			}
		})
	}
	if s := g.Stats(); s.Devices[0].Errors != 0 {
		t.Errorf("%+v: want no errors", s)
	}
}

func (p *gpuPair) agree(q query.Node, o Options) error {
	var answers [2]plan.Answer
	for i, s := range []*Searcher{p.cpu, p.gpu} {
		prepared, err := s.Prepare(p.sc, q, o)
		if err != nil {
			return err
		}
		var trace *plan.Trace
		if o.Count {
			trace = new(plan.Trace)
		}
		if answers[i], err = prepared.RunTraced(context.Background(), p.sc, nil, trace); err != nil {
			return err
		}
	}
	if want, got := &answers[0], &answers[1]; !slices.Equal(got.Hits, want.Hits) || got.Mode != want.Mode || got.Matches != want.Matches {
		return fmt.Errorf("%s, %+v: mode %s, %d matches, hits %v; the CPU has mode %s, %d, %v",
			q, o, got.Mode, got.Matches, head(got.Hits), want.Mode, want.Matches, head(want.Hits))
	}
	return nil
}

func TestPolicyOfOneQuery(t *testing.T) {
	rng := rand.New(rand.NewPCG(35, 1))
	g := testGPU(t, pipeline.Options{})
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 400, 1, false))
	for _, of := range []Policy{PolicyCost, PolicyCPU, PolicyGPU} {
		p, d := dispatched(t, snapshot, g, Config{Policy: of})
		for _, asked := range []Policy{PolicyCPU, PolicyGPU, PolicyRatio} {
			prepared, err := p.gpu.Prepare(p.sc, frequentWords(rng, 3), Options{Mode: plan.ModeOr, K: 10, Policy: asked})
			if err != nil {
				t.Fatal(err)
			}
			var trace plan.Trace
			a, err := prepared.RunTraced(t.Context(), p.sc, nil, &trace)
			if err != nil {
				t.Fatal(err)
			}
			if onGPU := a.Traversal == TraversalGPU; trace.Policy != asked || onGPU == (asked == PolicyCPU) {
				t.Errorf("dispatcher %s, asked %s: traversal %s\n%s", of, asked, a.Traversal, &trace)
			}
		}
		if _, err := p.gpu.Prepare(p.sc, frequentWords(rng, 1), Options{K: 1, Policy: "best"}); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("policy best: %v", err)
		}
		// Without the GPU, the CPU answers under any policy.
		d.pool.Lose(sched.GPU)
		if a := p.check(t, frequentWords(rng, 3), Options{K: 10, Policy: PolicyGPU}); a.Traversal == TraversalGPU {
			t.Errorf("dispatcher %s: answered by a GPU that is lost", of)
		}
	}
}

// A query with its own policy that the GPU refuses comes to the CPU with the time that it has
// left.
func TestPolicyOfOneQueryKeepsItsDeadline(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	const limit = time.Hour
	p, d := dispatched(t, indextest.Snapshot(t, spacedIndex(t, 1000, 2, 3)), g, Config{Deadline: limit})
	d.pool.Lose(sched.GPU)
	p.check(t, plantest.Parse(t, "e2 e3"), Options{K: 10, Policy: PolicyGPU})
	j := &p.sc.run.job
	if within := j.Deadline - j.Arrived; within <= 0 || within >= limit {
		t.Errorf("it had %v of %v on the CPU", within, limit)
	}
	d.pool.Regain(sched.GPU)
	p.check(t, plantest.Parse(t, "e2 e3"), Options{K: 10, Policy: PolicyGPU})
	if within := j.Deadline - j.Arrived; within != limit {
		t.Errorf("the next query had %v of %v", within, limit)
	}
}

// spacedIndex has words "e<n>", each in every n-th document.
func spacedIndex(t testing.TB, numDocs int, every ...int) *index.Index {
	t.Helper()
	return indextest.Write(t, index.Options{Analyzer: "whitespace", NoStored: true}, func(w *indextest.Writer) {
		for i := range numDocs {
			var text []string
			for _, n := range every {
				if i%n == 0 {
					text = append(text, fmt.Sprint("e", n))
				}
			}
			w.AddText(i, strings.Join(text, " "))
		}
	})
}

// The rule of griffin18: on the GPU while the next list is shorter than the ratio times the
// candidates; once on the CPU, the query stays there.
func TestRatio(t *testing.T) {
	const numDocs = 9000
	snapshot := indextest.Snapshot(t, spacedIndex(t, numDocs, 1, 3, 5, 7, 11, 13, 300, 1000))
	g := testGPU(t, pipeline.Options{})
	for _, c := range []struct {
		query string
		ratio float64
		want  string // the places of the steps, with the lists that each took
	}{
		{"e3 e5", 128, "gpu"},                     // 1800 and 3000: 1.7
		{"e1000 e3", 128, "cpu"},                  // 9 and 3000: 333
		{"e1000 e3", 400, "gpu"},                  // the same by another ratio
		{"e3 e5 e7", 128, "gpu2 gpu1"},            // 1286 and 1800; 258 are left, and 3000: 11.6
		{"e13 e11 e7 e3", 20, "gpu2 cpu2"},        // 693 and 819; 63 are left, and 1286: 20.4
		{"e13 e11 e7 e3", 21, "gpu2 gpu1 cpu1"},   // then 9 are left, and 3000: 333
		{"e300 e7 e1", 128, "gpu2 cpu1"},          // 30 and 1286: 43; 5 are left, and 9000: 1800
		{"e1000 e300 e7 e5 e1", 128, "gpu2 cpu3"}, // 9 and 30; 3 are left, and 1286: 429
		{"e13 e11 e7 e3", 1e9, "gpu2 gpu1 gpu1"},  // whatever is left
		{"e3", 128, "gpu"},                        // nothing to compare
	} {
		p, _ := dispatched(t, snapshot, g, Config{Policy: PolicyRatio, Ratio: c.ratio})
		q := plantest.Parse(t, c.query)
		p.check(t, q, Options{Mode: plan.ModeAnd, K: 10, Count: true})
		prepared, err := p.gpu.Prepare(p.sc, q, Options{Mode: plan.ModeAnd, K: 10})
		if err != nil {
			t.Fatal(err)
		}
		var trace plan.Trace
		if _, err := prepared.RunTraced(t.Context(), p.sc, nil, &trace); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range trace.Steps {
			place := s.Place.String()
			if s.Name == plan.StepIntersect {
				place += fmt.Sprint(len(s.Lists))
			}
			got = append(got, place)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s, ratio %g: %s, want %s\n%s", c.query, c.ratio, strings.Join(got, " "), c.want, &trace)
		}
	}
}

// Each driver call fails once, in each piece of a query.
func TestPlacementFaults(t *testing.T) {
	rng := rand.New(rand.NewPCG(36, 1))
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 300, 2, true))
	queries := make([]query.Node, 6)
	for i := range queries {
		queries[i] = frequentWords(rng, 2+i%3)
	}
	run := func(faults *cuda.Faults) (Stats, map[string]int) {
		e, err := pipeline.Open(pipeline.Options{
			Library: gputest.Library(t).Path(), Devices: pipeline.Selection{Ordinals: []int{0}}, Memory: pipeline.Memory{Bytes: 1 << 20}, Lanes: 1, Faults: faults,
		})
		if err != nil {
			return Stats{}, nil
		}
		g := NewGPU(e)
		p, d := dispatched(t, snapshot, g, Config{MaxQueue: -1})
		d.policy = &anyPolicy{anyPlacement(rand.New(rand.NewPCG(37, 1)))}
		for _, q := range queries {
			p.check(t, q, Options{Mode: plan.ModeAnd, K: 10, Count: true})
			p.check(t, q, Options{Mode: plan.ModeAndOr, K: 200})
		}
		s := d.Stats()
		_ = d.Close() // memory that a fault leaks does not matter here
		return s, faults.Calls()
	}
	var none cuda.Faults
	s, calls := run(&none)
	if s.Migrations == 0 || s.GPUSteps == 0 || s.Pool.Failed != 0 {
		t.Fatalf("without faults: %+v, pool %+v", s, s.Pool)
	}
	some := sampletest.UnderRace(2, 1)
	if sampletest.All() {
		some = 4
	}
	failed := int64(0)
	for _, c := range []struct {
		function string
		code     cuda.Code
	}{
		{"cuLaunchKernel", cuda.LaunchOutOfResources},
		{"cuLaunchKernel", cuda.IllegalAddress},
		{"cuMemAlloc_v2", cuda.OutOfMemory},
		{"cuEventSynchronize", cuda.LaunchFailed},
		{"cuMemcpyHtoDAsync_v2", cuda.InvalidValue},
	} {
		for _, nth := range spread(calls[c.function], some) {
			var faults cuda.Faults
			faults.Fail(c.function, nth, c.code)
			s, _ := run(&faults)
			if s.Pool == nil {
				continue // it did not open
			}
			failed += s.Pool.Failed
			if s.Pool.Ended != int64(2*len(queries)) {
				t.Errorf("%s, call %d, fails with %d: %+v: want %d queries that ended", c.function, nth, c.code, s.Pool, 2*len(queries))
			}
		}
	}
	if failed < int64(some) {
		t.Errorf("%d pieces failed on the GPU", failed)
	}
}

func TestDispatcherSheds(t *testing.T) {
	rng := rand.New(rand.NewPCG(38, 1))
	p, d := dispatched(t, indextest.Snapshot(t, plantest.RandomIndex(t, rng, 500, 1, false)), nil, Config{CPUs: 1, MaxQueue: 1})
	prepared, err := p.gpu.Prepare(p.sc, frequentWords(rng, 3), Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	shed := 0
	const workers, queries = 8, 50
	for range workers {
		wg.Go(func() {
			sc := testScratch(t, "whitespace")
			for range queries {
				_, err := prepared.Run(context.Background(), sc, nil)
				var overload *sched.Overload
				switch {
				case errors.As(err, &overload):
					mu.Lock()
					shed++
					mu.Unlock()
					if overload.RetryAfter <= 0 {
						t.Errorf("retry after %v", overload.RetryAfter)
					}
				case err != nil:
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s := d.Stats().Pool
	if got := s.Shed[sched.QueueFull]; int(got) != shed || int(s.Ended)+shed != workers*queries {
		t.Errorf("%d shed, %+v: want all %d queries answered or shed", shed, s, workers*queries)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	if _, err := prepared.Run(ctx, p.sc, nil); err == nil {
		t.Error("a query without time was answered")
	}
}

func TestDispatcherDoesNotAllocate(t *testing.T) {
	if sampletest.Race || invariant.Enabled {
		t.Skip("the race detector and invariants allocate")
	}
	rng := rand.New(rand.NewPCG(39, 1))
	g := testGPU(t, pipeline.Options{})
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 300, 1, true))
	p, d := dispatched(t, snapshot, g, Config{})
	prepared, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "w0 w1 w2 w3"), Options{Mode: plan.ModeAnd, K: 10})
	if err != nil {
		t.Fatal(err)
	}
	hits := make([]base.Hit, 0, 10)
	// All lists are on the GPU before the policy may ask for them.
	if _, _, err := g.Warm(t.Context(), snapshot, WarmOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		choose func(pos, n int) (sched.Place, int)
	}{
		{"cpu", func(_, n int) (sched.Place, int) { return sched.CPU, n }},
		{"gpu", func(_, n int) (sched.Place, int) { return sched.GPU, n }},
		{"to the CPU", func(pos, n int) (sched.Place, int) { return sched.Place(1 - min(pos, 1)), min(pos+2, n) }},
		{"to the GPU", func(pos, n int) (sched.Place, int) { return sched.Place(min(pos, 1)), min(pos+2, n) }},
		{"policy", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d.policy = (costPolicy{}); c.choose != nil {
				d.policy = &anyPolicy{c.choose}
			}
			run := func() {
				if _, err := prepared.Run(context.Background(), p.sc, hits); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 * g.lanes {
				run()
			}
			if n := testing.AllocsPerRun(20, run); n > 0 {
				t.Errorf("%g allocations", n)
			}
		})
	}
}

func TestDecideDoesNotAllocate(t *testing.T) {
	if sampletest.Race || invariant.Enabled {
		t.Skip("the race detector and invariants allocate")
	}
	g := testGPU(t, pipeline.Options{})
	p, d := dispatched(t, indextest.Snapshot(t, spacedIndex(t, 30000, 2, 3, 5, 7)), g, Config{})
	d.preloader.busy.Store(true) // nothing is brought
	for _, text := range []string{"e2 e3", "e2 e3 e5 e7"} {
		for _, mode := range []plan.Mode{plan.ModeOr, plan.ModeAnd} {
			prepared, err := p.gpu.Prepare(p.sc, plantest.Parse(t, text), Options{Mode: mode, K: 10})
			if err != nil {
				t.Fatal(err)
			}
			r := &p.sc.run
			weigh := func() {
				r.begin(t.Context(), d, prepared, p.sc, nil, nil)
				r.decide()
				r.end()
			}
			weigh()
			if !r.predictor.isLocated || r.choices[sched.CPU].total <= 0 || r.choices[sched.GPU].total <= 0 || r.choices[sched.GPU].total == sched.Never {
				t.Errorf("%s, %s: choices %+v: want both processors to be weighed", text, mode, r.choices)
			}
			if n := testing.AllocsPerRun(10, weigh); n > 0 {
				t.Errorf("%s, %s: %g allocations", text, mode, n)
			}
		}
	}
}

func TestConfig(t *testing.T) {
	for _, o := range []Config{{Policy: "best"}, {Ratio: -1}, {CPUs: -1}, {Deadline: -1}, {Window: -1}} {
		if _, err := NewDispatcher(nil, o); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	var none *Dispatcher
	if none.GPU() != nil || none.Close() != nil || none.active() {
		t.Error("a nil Dispatcher has something")
	}
}
