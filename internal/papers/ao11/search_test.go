package ao11

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/papers/enginetest"
	"github.com/griffin-search/griffin/internal/papers/para"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
)

// both opens an engine on the CPU and, with a computational threshold, on a GPU.
func both(t *testing.T, threshold int, options string, run func(t *testing.T, e *Engine)) {
	for _, on := range []string{"cpu", "gpu"} {
		t.Run(on, func(t *testing.T) {
			var d *cuda.Device
			spec := "ao11:on=" + on
			if on == "gpu" {
				d = gputest.Open(t)
				spec += fmt.Sprintf(",threshold=%d", threshold)
			}
			e, err := openOn(d, strings.TrimSuffix(spec+","+options, ","))
			if err != nil {
				t.Fatal(err)
			}
			enginetest.Close(t, e)
			run(t, e)
		})
	}
}

// planned returns queries in the query language, with their answers by the plan.
func planned(t *testing.T, snapshot *index.Snapshot, o plan.Options, texts ...string) (queries []*engine.Query, want []plan.Answer) {
	t.Helper()
	sc, err := plan.NewScratch(snapshot.Options.Analyzer)
	if err != nil {
		t.Fatal(err)
	}
	planner := plan.New(snapshot, nil)
	for _, text := range texts {
		p, err := planner.Prepare(sc, plantest.Parse(t, text), o)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		a, err := p.RunCPU(t.Context(), sc, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		queries = append(queries, &engine.Query{Plan: p, Scratch: sc})
		want = append(want, a)
	}
	return queries, want
}

func checkAnswers(t *testing.T, queries []*engine.Query, want []plan.Answer) {
	t.Helper()
	for i, q := range queries {
		a, w := &q.Answer, &want[i]
		if q.Err != nil || !slices.Equal(a.Hits, w.Hits) || a.Matches != w.Matches || a.Mode != w.Mode {
			t.Errorf("%s: %d matches in mode %v, hits %v, %v; want %d, %v, %v", q.Plan.Query(), a.Matches, a.Mode, a.Hits, q.Err, w.Matches, w.Mode, w.Hits)
		}
	}
}

// Boosts, fields, repeated words, no hits wanted, nothing to search, and sums of more than 32 bits.
func TestQueries(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	random := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 500, 2, true))
	var rare []string
	for i := range 40 {
		rare = append(rare, fmt.Sprintf("r%d", i))
	}
	wide := indextest.Snapshot(t, indextest.Write(t, index.Options{Analyzer: "whitespace"}, func(w *indextest.Writer) {
		for i := range 2000 {
			text := strings.Repeat("common ", 40)
			if i%700 == 0 {
				text = strings.Join(rare, " ")
			}
			w.AddText(i, text)
		}
	}))
	empty := indextest.Snapshot(t, indextest.Create(t, index.Options{Analyzer: "whitespace"}))
	boosted := strings.Join(rare, "^1000 ") + "^1000"
	both(t, 100, "", func(t *testing.T, e *Engine) {
		for _, c := range []struct {
			snapshot *index.Snapshot
			k        int
			texts    []string
		}{
			{random, 10, []string{"w0^2 w1^0.25", "title:w0 w0", "w0 w0 w1 w0", "w3", "missing", "w0 missing", "title:w1", "w0 w1 w2 w3 w4"}},
			{random, 0, []string{"w0 w1", "w2"}},
			{random, 1 << 20, []string{"w0 w1", "w2"}},
			{wide, 10, []string{boosted, "r0 r1^1000", "common^1000"}},
			{empty, 10, []string{"a", "a b"}},
		} {
			queries, want := planned(t, c.snapshot, plan.Options{Mode: plan.ModeAnd, K: c.k, Count: true}, c.texts...)
			if err := e.Search(t.Context(), queries); err != nil {
				t.Fatal(err)
			}
			checkAnswers(t, queries, want)
			if c.snapshot == wide && queries[0].Answer.Hits[0].Score < 1<<32 {
				t.Error("no sum has more than 32 bits")
			}
		}
	})
}

// Queries that are not conjunctions of words have an error, others of the call an answer.
func TestRefusedQueries(t *testing.T) {
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rand.New(rand.NewPCG(1, 2)), 300, 2, false))
	refused := []string{`"w0 w1"`, "w0 -w1", "w0 OR w1", "w0 (w1 OR w2)"}
	both(t, para.DefaultThreshold, "", func(t *testing.T, e *Engine) {
		queries, want := planned(t, snapshot, and10, append(refused, "w0 w1", "w2")...)
		inOr, _ := planned(t, snapshot, plan.Options{Mode: plan.ModeOr, K: 10}, "w0 w1")
		queries = append(inOr, queries...)
		if err := e.Search(t.Context(), queries); err != nil {
			t.Fatal(err)
		}
		n := len(refused)
		checkAnswers(t, queries[n+1:], want[n:])
		for _, q := range queries[:n+1] {
			if !errors.Is(q.Err, base.ErrBadInput) || !strings.Contains(q.Err.Error(), fmt.Sprint(q.Plan.Query())) {
				t.Errorf("%s: %v", q.Plan.Query(), q.Err)
			}
		}
		for _, mode := range []plan.Mode{plan.ModeOr, plan.ModeAndOr, plan.ModeSaat} {
			if err := e.Adapt(&plan.Options{Mode: mode}); !errors.Is(err, base.ErrBadInput) {
				t.Errorf("mode %v: %v", mode, err)
			}
		}
	})
}

// A damaged list is an error of its query only. Lists without a handle of the cache are not kept.
func TestDamagedAndUnkept(t *testing.T) {
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rand.New(rand.NewPCG(5, 2)), 900, 2, false))
	both(t, para.DefaultThreshold, "", func(t *testing.T, e *Engine) {
		queries, want := planned(t, snapshot, and10, "w0 w1", "w2 w0", "w1 w2", "w0 w3")
		for segment := range snapshot.Segments {
			for _, q := range queries {
				legs := q.Plan.Stage(0).Legs(segment)
				for i := range legs {
					legs[i].Derived = derived.List{}
				}
			}
		}
		leg := &queries[1].Plan.Stage(0).Legs(1)[1]
		damaged := *leg.List
		damaged.Codec = codec.Rice{}
		leg.List = &damaged
		if err := e.Search(t.Context(), queries); err != nil {
			t.Fatal(err)
		}
		if err := queries[1].Err; !errors.Is(err, base.ErrCorrupt) || !strings.Contains(err.Error(), snapshot.Segments[1].Name) {
			t.Errorf("a damaged list: %v", err)
		}
		checkAnswers(t, queries[:1], want[:1])
		checkAnswers(t, queries[2:], want[2:])
		if e.gpu != nil && (e.gpu.lists.used != 0 || e.Stats().ListHits != 0) {
			t.Errorf("%d bytes of lists are kept", e.gpu.lists.used)
		}
		leg = &queries[0].Plan.Stage(0).Legs(0)[0]
		if _, err := e.form.listOf(leg, 1); !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("a list with DocIDs beyond the segment: %v", err)
		}
	})
}

// ending is a context that ends after some calls of Err.
type ending struct {
	context.Context
	calls atomic.Int64
}

func (c *ending) Err() error {
	if c.calls.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// A context that ends stops a call wherever it is. Queries that were answered before keep their answers, nothing stays in
// use, and nothing counts as a fault.
func TestEndedContext(t *testing.T) {
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rand.New(rand.NewPCG(1, 2)), 300, 2, false))
	for _, form := range []string{"search=lr,range=local", "codec=parapfd", "codec=seglrc"} {
		for _, threshold := range []int{1, para.DefaultThreshold} {
			both(t, threshold, form, func(t *testing.T, e *Engine) {
				stops := 0
				for ; ; stops++ {
					queries, want := planned(t, snapshot, and10, "w0 w1", "w1 w2", "w2 w3", "w0 w3")
					ctx := &ending{Context: t.Context()}
					ctx.calls.Store(int64(stops))
					err := e.Search(ctx, queries)
					answered := slices.IndexFunc(queries, func(q *engine.Query) bool { return q.Answer.Traversal == "" })
					if answered < 0 {
						answered = len(queries)
					}
					checkAnswers(t, queries[:answered], want[:answered])
					checkIdle(t, e)
					if err == nil && answered == len(queries) {
						break
					}
					if !errors.Is(err, context.Canceled) {
						t.Fatalf("%d of %d queries are answered: %v", answered, len(queries), err)
					}
				}
				if least := 10 * 4; stops < least {
					t.Errorf("the context is looked at %d times, want %d", stops, least)
				}
				if s := e.Stats(); s.Faults != 0 {
					t.Errorf("%+v", s)
				}
			})
		}
	}
}

// checkIdle checks that no list and no workspace is in use.
func checkIdle(t *testing.T, e *Engine) {
	t.Helper()
	if e.gpu == nil {
		return
	}
	if n := len(e.gpu.spaces); n != maxWorkspaces {
		t.Errorf("%d workspaces of %d are back", n, maxWorkspaces)
	}
	used := int64(0)
	for _, r := range e.gpu.lists.byKey {
		if used += r.sizeBytes; r.users != 0 {
			t.Errorf("a list has %d users", r.users)
		}
	}
	if used != e.gpu.lists.used || len(e.gpu.lists.byKey) != e.gpu.lists.order.Len() {
		t.Errorf("%d bytes in %d lists, counted %d in %d", used, len(e.gpu.lists.byKey), e.gpu.lists.used, e.gpu.lists.order.Len())
	}
}

// A call waits for a workspace, until its context ends.
func TestNoWorkspace(t *testing.T) {
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rand.New(rand.NewPCG(1, 2)), 300, 1, false))
	e := onGPU(t, "ao11")
	var taken []*workspace
	for range maxWorkspaces {
		ws, err := e.gpu.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, ws)
	}
	queries, want := planned(t, snapshot, and10, "w0 w1")
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	var ended error
	group.Go(func() { ended = e.Search(ctx, queries) })
	cancel()
	group.Wait()
	if !errors.Is(ended, context.Canceled) {
		t.Errorf("a call without a workspace: %v", ended)
	}
	var waited error
	group.Go(func() { waited = e.Search(t.Context(), queries) })
	for _, ws := range taken {
		e.gpu.giveBack(ws, true)
	}
	group.Wait()
	if waited != nil {
		t.Error(waited)
	}
	checkAnswers(t, queries, want)
}

// More goroutines than workspaces.
func TestConcurrentCalls(t *testing.T) {
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rand.New(rand.NewPCG(8, 2)), 400, 2, true))
	e := onGPU(t, "ao11:codec=seglrc")
	var group sync.WaitGroup
	for range 2 * maxWorkspaces {
		queries, want := planned(t, snapshot, and10, "w0 w1", "w1 w2 w3", "w5", "w0 w7")
		group.Go(func() {
			for i := range queries {
				if err := e.Search(context.WithoutCancel(t.Context()), queries[i:i+1]); err != nil {
					t.Error(err)
				}
			}
			checkAnswers(t, queries, want)
		})
	}
	group.Wait()
}

// Calls whose contexts end at any point, and one that is out of memory, beside calls that are answered.
func TestConcurrentEnds(t *testing.T) {
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rand.New(rand.NewPCG(8, 3)), 400, 2, true))
	for _, form := range []string{"search=hs16", "codec=newpfd", "codec=lrc"} {
		t.Run(form, func(t *testing.T) {
			e := onGPU(t, "ao11:threshold=300,"+form)
			gputest.Fail(t, e.gpu.device, "cuMemAlloc_v2", 9, cuda.OutOfMemory)
			var group sync.WaitGroup
			for caller := range 2 * maxWorkspaces {
				queries, want := planned(t, snapshot, and10, "w0 w1", "w1 w2 w3", "w5", "w0 w7")
				group.Go(func() {
					for n := range 20 {
						ctx := &ending{Context: context.WithoutCancel(t.Context())}
						ctx.calls.Store(int64(n * (1 + caller)))
						if err := e.Search(ctx, queries); err != nil && !errors.Is(err, context.Canceled) {
							t.Error(err)
						}
					}
					if err := e.Search(context.WithoutCancel(t.Context()), queries); err != nil {
						t.Error(err)
					}
					checkAnswers(t, queries, want)
				})
			}
			group.Wait()
			checkIdle(t, e)
			if s := e.Stats(); s.Faults != 0 || s.OnCPU != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// Several goroutines score the matches of a batch.
func TestManyMatches(t *testing.T) {
	snapshot := indextest.Snapshot(t, plantest.FrequentIndex(t, codec.Default, 3000))
	e := onGPU(t, "ao11")
	queries, want := planned(t, snapshot, and10, "w2 w3", "w1 w2", "w3 w1", "w0 w3", "w1 w2 w3")
	queries[3].Trace = new(plan.Trace)
	if err := e.Search(t.Context(), queries); err != nil {
		t.Fatal(err)
	}
	checkAnswers(t, queries, want)
	matches := int64(0)
	for i := range want {
		matches += want[i].Matches
	}
	if matches < leastMatches || e.cpus < 2 {
		t.Errorf("%d matches for %d goroutines", matches, e.cpus)
	}
}

// The memory of lists stays within the limit, and queries whose lists do not fit run on the CPU.
func TestMemoryLimit(t *testing.T) {
	snapshot, texts := someQueries(t)
	for _, form := range sampletest.Some(t, 2, []string{"search=hs16", "search=lr,range=local", "codec=parapfd", "codec=lrc"}) {
		t.Run(form, func(t *testing.T) {
			e := onGPU(t, "ao11:memory=1,"+form)
			if e.gpu.lists.limit != 1<<20 {
				t.Fatalf("memory=1 is %d bytes", e.gpu.lists.limit)
			}
			run := func(e *Engine) engine.Stats {
				queries, want := planned(t, snapshot, and10, texts...)
				if err := e.Search(t.Context(), queries); err != nil {
					t.Fatal(err)
				}
				checkAnswers(t, queries, want)
				return e.Stats()
			}
			run(e)
			all := e.gpu.lists.used
			for _, c := range []struct {
				limit        int64
				onGPU, onCPU bool // queries run there
			}{{all, true, false}, {all / 2, true, false}, {all / 5, true, true}, {1, false, true}} {
				e := onGPU(t, "ao11:"+form)
				e.gpu.lists.limit = c.limit
				s := run(e)
				if s.Faults != 0 || c.onGPU != (s.OnGPU > 0) || c.onCPU != (s.OnCPU > 0) || s.OnCPU+s.OnGPU != int64(len(texts)) {
					t.Errorf("limit %d of %d: %+v", c.limit, all, s)
				}
				if used := e.gpu.lists.used; used > c.limit {
					t.Errorf("%d bytes of %d are used", used, c.limit)
				}
			}
		})
	}
}

// Batches end at the computational threshold, and traces show their steps.
func TestTrace(t *testing.T) {
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rand.New(rand.NewPCG(4, 2)), 400, 1, false))
	const n = 4
	for _, threshold := range []int{1, 1 << 20} {
		e := onGPU(t, fmt.Sprintf("ao11:codec=parapfd,threshold=%d", threshold))
		queries, want := planned(t, snapshot, and10, "w0 w1", "w1 w2", "w2 w3", "w0 w3")
		queries[1].Trace = new(plan.Trace)
		if err := e.Search(t.Context(), queries); err != nil {
			t.Fatal(err)
		}
		checkAnswers(t, queries, want)
		size := n
		if threshold == 1 {
			size = 1
		}
		steps := queries[1].Trace.Steps
		var names []string
		bus := int64(0)
		for _, s := range steps {
			names = append(names, s.Name+" "+s.Processor)
			if bus += s.BusBytes; s.Batch != size || s.Took < 0 || s.Mode != plan.ModeAnd {
				t.Errorf("threshold %d: %+v", threshold, s)
			}
		}
		gpu := e.gpu.name
		if !slices.Equal(names, []string{"gather cpu", "copy " + gpu, "intersect " + gpu, "score cpu"}) {
			t.Errorf("steps %q", names)
		}
		if total := e.Stats().BusBytes; bus == 0 || size == n && bus != total || size == 1 && bus >= total {
			t.Errorf("%d bytes in the steps, %d in all", bus, total)
		}
		if left := steps[2].Left; left != want[1].Matches {
			t.Errorf("%d matches are left, want %d", left, want[1].Matches)
		}
	}
	e := enginetest.Open(t, "ao11:on=cpu")
	queries, want := planned(t, snapshot, and10, "w0 w1")
	queries[0].Trace = new(plan.Trace)
	if err := e.Search(t.Context(), queries); err != nil {
		t.Fatal(err)
	}
	checkAnswers(t, queries, want)
	if s := queries[0].Trace.Steps; len(s) != 1 || s[0].Processor != plan.CPUName || s[0].PostingsScored != 2*want[0].Matches {
		t.Errorf("%+v", s)
	}
}
