package ding09

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/papers/enginetest"
	"github.com/griffin-search/griffin/internal/papers/selection"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/query"
)

// prepared is a query and its answer on the CPU.
type prepared struct {
	*engine.Query
	want plan.Answer
}

func prepare(t testing.TB, snapshot *index.Snapshot, node query.Node, o plan.Options) prepared {
	t.Helper()
	return prepareBy(t, plan.New(snapshot, nil), node, o)
}

func prepareBy(t testing.TB, planner *plan.Planner, node query.Node, o plan.Options) prepared {
	t.Helper()
	sc, err := plan.NewScratch("whitespace")
	if err != nil {
		t.Fatal(err)
	}
	p, err := planner.Prepare(sc, node, o)
	if err != nil {
		t.Fatal(err)
	}
	want, err := p.RunCPU(t.Context(), sc, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return prepared{&engine.Query{Plan: p, Scratch: sc}, want}
}

func (p *prepared) check(t testing.TB) {
	t.Helper()
	if p.Err != nil {
		t.Errorf("%s: %v", p.Plan.Query(), p.Err)
		return
	}
	a, w := &p.Answer, &p.want
	if !slices.Equal(a.Hits, w.Hits) || a.Mode != w.Mode || a.Matches != w.Matches || a.Traversal != engineName {
		t.Errorf("%s by %v, %s: %d matches in mode %v, hits\n%v\nwant %d in mode %v,\n%v", p.Plan.Query(), a.By, a.Traversal, a.Matches, a.Mode, a.Hits, w.Matches, w.Mode, w.Hits)
	}
}

func search(t testing.TB, e engine.Engine, queries ...*prepared) {
	t.Helper()
	for _, p := range queries {
		if err := e.Search(t.Context(), []*engine.Query{p.Query}); err != nil {
			t.Fatal(err)
		}
		p.check(t)
	}
}

// rareWords returns an index with two documents that have all of some words, and these words.
func rareWords(t *testing.T) (*index.Snapshot, string) {
	const n = 50
	rare := ""
	for i := range n {
		rare += fmt.Sprint(" r", i)
	}
	return indextest.Snapshot(t, indextest.Write(t, index.Options{Analyzer: "whitespace"}, func(w *indextest.Writer) {
		for i := range 1000 {
			if i == 5 || i == 7 {
				w.AddText(i, "common a"+rare)
			} else {
				w.AddText(i, strings.Repeat("common ", n))
			}
		}
	})), rare
}

// Boosts, among them one with sums above 2^32, and one with contributions of 0.
func TestBoosts(t *testing.T) {
	snapshot, rare := rareWords(t)
	e := openEngine(t, gputest.Open(t), defaults(onGPU))
	for _, boost := range []float64{2, query.MaxBoost, query.MinBoost} {
		for _, mode := range modes {
			words := &query.Words{Text: "common" + rare, Boost: boost}
			q := prepare(t, snapshot, words, plan.Options{Mode: mode, K: 3, Count: true})
			if above := len(q.want.Hits) > 0 && q.want.Hits[0].Score >= 1<<32; above != (boost == query.MaxBoost) {
				t.Errorf("boost %g: scores %v", boost, q.want.Hits)
			}
			search(t, e, &q)
			// Fewer matches than hits wanted: the other documents have no score.
			few := prepare(t, snapshot, &query.Words{Text: rare, Boost: boost}, plan.Options{Mode: mode, K: 30, Count: true})
			search(t, e, &few)
		}
	}
}

// Parameters of BM25 other than the index's.
func TestParameters(t *testing.T) {
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng(), 300, 2, true))
	for _, on := range []processors{onCPU, onGPU} {
		e := openEngine(t, gputest.Open(t), defaults(on))
		for _, bm25 := range []score.BM25{{K1: 5, B: 1}, {K1: 0.1, B: 0}} {
			for _, mode := range modes {
				q := prepareBy(t, plan.New(snapshot, &bm25), &query.Words{Text: "w0 w3 w9", Boost: 1}, plan.Options{Mode: mode, K: 7})
				search(t, e, &q)
			}
		}
	}
}

// Lists of learned weights.
func TestWeights(t *testing.T) {
	snapshot := indextest.Snapshot(t, indextest.Write(t, index.Options{WeightScale: 4}, func(w *indextest.Writer) {
		for i := range 300 {
			d := corpus.Document{ID: fmt.Sprint(i)}
			for j, term := range []string{"sea", "wind", "salt"} {
				if j == 1 || i%(j+2) == 0 {
					d.Vector = append(d.Vector, corpus.TermWeight{Term: term, Weight: 0.25 * float64(1+i%7)})
				}
			}
			w.Add(&d)
		}
	}))
	for _, on := range []processors{onCPU, onGPU} {
		e := openEngine(t, gputest.Open(t), defaults(on))
		for _, mode := range modes {
			weights := &query.Weights{Terms: []query.TermWeight{{Term: "sea", Weight: 2}, {Term: "salt", Weight: 0.5}}}
			q := prepare(t, snapshot, weights, plan.Options{Mode: mode, K: 7, Count: true})
			search(t, e, &q)
		}
	}
}

// No hits wanted, more than the device selects, and more than there are documents.
func TestK(t *testing.T) {
	snapshot, _ := rareWords(t)
	large := indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 2500))
	e := openEngine(t, gputest.Open(t), defaults(onGPU))
	check := func(snapshot *index.Snapshot, text string, o plan.Options, by sched.Place) {
		t.Helper()
		q := prepare(t, snapshot, &query.Words{Text: text, Boost: 1}, o)
		search(t, e, &q)
		if q.Answer.By != by {
			t.Errorf("k=%d: by the %v", o.K, q.Answer.By)
		}
	}
	for _, mode := range modes {
		for _, count := range []bool{false, true} {
			check(snapshot, "common a", plan.Options{Mode: mode, K: 0, Count: count}, sched.GPU)
			check(snapshot, "r1 a", plan.Options{Mode: mode, K: 1 << 20, Count: count}, sched.GPU)
			check(large, "w0 w2", plan.Options{Mode: mode, K: selection.MaxK + 1, Count: count}, sched.CPU)
		}
	}
	check(large, "w0 w2", plan.Options{Mode: plan.ModeOr, K: selection.MaxK}, sched.GPU)
}

// An index without documents, and queries without words.
func TestNothing(t *testing.T) {
	empty := indextest.Snapshot(t, indextest.Create(t, index.Options{Analyzer: "whitespace"}))
	full, _ := rareWords(t)
	for _, on := range []processors{onCPU, onGPU, onBoth} {
		e := openEngine(t, gputest.Open(t), defaults(on))
		for _, mode := range modes {
			for _, snapshot := range []*index.Snapshot{empty, full} {
				for _, text := range []string{"", "missing", "missing absent"} {
					q := prepare(t, snapshot, &query.Words{Text: text, Boost: 1}, plan.Options{Mode: mode, K: 3, Count: true})
					search(t, e, &q)
				}
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng(), 100, 2, false))
	for _, on := range []processors{onCPU, onGPU, onBoth} {
		e := openEngine(t, gputest.Open(t), defaults(on))
		for _, text := range []string{"w0 -w1", `"w0 w1"`, "w2 +(w0 OR w1) +w3", `title:"w0 w1"`} {
			q := prepare(t, snapshot, plantest.Parse(t, text), plan.Options{Mode: plan.ModeOr, K: 3})
			if err := e.Search(t.Context(), []*engine.Query{q.Query}); err != nil {
				t.Fatal(err)
			}
			if !errors.Is(q.Err, base.ErrBadInput) || !strings.Contains(q.Err.Error(), fmt.Sprint(q.Plan.Query())) {
				t.Errorf("%s: %v", text, q.Err)
			}
		}
		if err := e.Adapt(&plan.Options{Mode: plan.ModeSaat}); !errors.Is(err, base.ErrBadInput) {
			t.Error(err)
		}
		if s := e.Stats(); s.OnCPU+s.OnGPU > 0 {
			t.Errorf("%+v", s)
		}
	}
}

// Operators make a conjunction in any mode.
func TestOperators(t *testing.T) {
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng(), 300, 2, true))
	e := openEngine(t, gputest.Open(t), defaults(onGPU))
	for _, mode := range modes {
		for _, text := range []string{"+w0 +w3", "w1 AND w2", "w1 OR w5", "w4", "+w4", "w2^3 w6"} {
			q := prepare(t, snapshot, plantest.Parse(t, text), plan.Options{Mode: mode, K: 5, Count: true})
			search(t, e, &q)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"ding09:on=none", "on=none: want both, gpu or cpu"},
		{"ding09:on=cpu,codec=ef", "codec=ef: want pfordelta-rec or rice"},
		{"ding09:on=cpu,levels=5", "levels=5: want a whole number from 0 to 4"},
		{"ding09:on=cpu,depth=-1", "depth=-1: want a whole number from 0 to 4"},
		{"ding09:on=cpu,cache=all", "cache=all: want a whole number"},
		{"ding09:on=cpu,skip=maybe", "skip=maybe: want yes or no"},
		{"ding09:on=cpu,urgent=2", "urgent=2: want a number from 0 to 1"},
		{"ding09:on=cpu,threshold=-1", "threshold=-1: want a number"},
		{"ding09:on=cpu,deadline=0", "deadline=0: want a whole number from 1"},
		{"ding09", "on=both needs a GPU"},
		{"ding09:on=gpu", "on=gpu needs a GPU"},
		{"ding09:on=cpu,codec=rice,cache=1", "codec=rice has no effect with on=cpu; cache=1 has no effect with on=cpu"},
		{"ding09:on=cpu,depth=0", "depth=0 has no effect with on=cpu"},
		{"ding09:on=cpu,levels=0,skip=no", "levels=0 has no effect with on=cpu; skip=no has"},
		{"ding09:on=cpu,deadline=1", "deadline=1 has no effect with on=cpu"},
		{"ding09:on=gpu,threshold=1,urgent=1", "threshold=1 has no effect with on=gpu; urgent=1 has"},
		{"ding09:codec=rice,depth=2", "depth=2 has no effect with codec=rice"},
	} {
		s, err := engine.Parse(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Open(engine.Resources{Device: "cpu"}); !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.spec, err, c.want)
		}
	}
	if e := enginetest.Open(t, "ding09:on=cpu,depth=1,deadline=500"); e.BatchSize() != 1 {
		t.Error("batches")
	}
}

// A device that the engine would not use is an error, unless it is chosen automatically.
func TestDeviceWithoutUse(t *testing.T) {
	s, err := engine.Parse("ding09:on=cpu")
	if err != nil {
		t.Fatal(err)
	}
	for _, device := range []string{"gpu", "0", "1", "auto", "cpu", ""} {
		e, err := s.Open(engine.Resources{Device: device})
		if device == "auto" || device == "cpu" || device == "" {
			if err != nil {
				t.Errorf("device %q: %v", device, err)
				continue
			}
			enginetest.Close(t, e)
		} else if !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), "device "+device+": on=cpu uses no GPU") {
			t.Errorf("device %q: %v", device, err)
		}
	}
}

func TestReadOptions(t *testing.T) {
	for spec, want := range map[string]options{
		"ding09": defaults(onBoth),
		"ding09:codec=rice,levels=0,skip=no,cache=3,threshold=0,deadline=20,urgent=1": {
			on: onBoth, rice: true, depth: 1, whole: true, cacheBytes: 3 << 20, cpus: 2, deadline: 20 * time.Millisecond, urgent: 1,
		},
		"ding09:on=gpu,depth=4": with(onGPU, func(o *options) { o.depth = 4 }),
	} {
		s, err := engine.Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		info := *s.Info
		info.Open = func(o engine.Options, r engine.Resources) (engine.Engine, error) {
			got, err := readOptions(o, r)
			if got != want {
				t.Errorf("%s: %+v, want %+v", spec, got, want)
			}
			return nil, err
		}
		s.Info = &info
		if _, err := s.Open(engine.Resources{CPUs: 2}); err != nil {
			t.Error(err)
		}
	}
	for depth, name := range []string{"pfordelta-rec:depth=0", "pfordelta-rec", "pfordelta-rec:depth=2"} {
		o := with(onGPU, func(o *options) { o.depth = depth })
		if c := o.gpuCode(); c.codec.Name() != name || c.number != uint64(2+depth) {
			t.Errorf("depth %d: %s, number %d", depth, c.codec.Name(), c.number)
		}
	}
	o := with(onBoth, func(o *options) { o.threshold, o.urgent = 0, 0 })
	if s := o.schedule(); s.Threshold <= 0 || s.Threshold > 1e-6 || s.Urgent <= 0 || s.Urgent > 1e-6 || !s.RunLate {
		t.Errorf("%+v", s)
	}
}

// A trace has the steps of the processor that answered.
func TestTrace(t *testing.T) {
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rng(), 500, 2, true))
	const and = "initialization decompression scoring intersection top-k"
	for _, c := range []struct {
		on   processors
		mode plan.Mode
		k    int
		want string
	}{
		{onGPU, plan.ModeAnd, 3, "transfer " + and},
		{onGPU, plan.ModeOr, 3, "transfer initialization decompression scoring top-k"},
		{onGPU, plan.ModeAndOr, 400, "transfer " + and + " initialization decompression scoring top-k"},
		{onCPU, plan.ModeAnd, 3, "segment segment"},
		{onCPU, plan.ModeAndOr, 400, "segment segment segment segment"},
	} {
		e := openEngine(t, gputest.Open(t), defaults(c.on))
		q := prepare(t, snapshot, &query.Words{Text: "w0 w2 w3", Boost: 1}, plan.Options{Mode: c.mode, K: c.k})
		for range 2 {
			q.Trace = &plan.Trace{}
			search(t, e, &q)
			var steps []string
			for _, s := range q.Trace.Steps {
				steps = append(steps, s.Name)
				if s.Place != q.Answer.By || s.Start < 0 || s.Took < 0 || s.Processor == "" {
					t.Errorf("step %+v", s)
				}
			}
			if got := strings.Join(steps, " "); got != c.want {
				t.Errorf("%v in mode %v: steps %s, want %s", c.on, c.mode, got, c.want)
			}
		}
		checkLists(t, &q)
		if c.on == onGPU && q.Trace.Steps[0].BusBytes != 0 {
			t.Errorf("the second run moved %d bytes", q.Trace.Steps[0].BusBytes)
		}
		if c.on == onCPU && (q.Trace.Total().PostingsDecoded == 0 || q.Answer.Work.PostingsScored == 0) {
			t.Errorf("work %+v", q.Answer.Work)
		}
	}
}

// checkLists checks the lists of a trace: of each segment on the CPU, of all with the transfer on the GPU.
func checkLists(t *testing.T, q *prepared) {
	t.Helper()
	snapshot := q.Plan.Snapshot()
	st := q.Plan.Stage(q.Plan.NumStages() - 1)
	at := map[string]int{}
	for i := range snapshot.Segments {
		at[snapshot.Segments[i].Name] = i
	}
	for i := range q.Trace.Steps {
		s := &q.Trace.Steps[i]
		segments := []int{at[s.Segment]}
		switch {
		case s.Name == stepTransfer:
			segments = slices.Sorted(maps.Values(at))
		case s.Place == sched.GPU:
			segments = nil
		}
		var want []plan.ListTrace
		if len(segments) > 0 {
			want = []plan.ListTrace{{Term: "w0"}, {Term: "w2"}, {Term: "w3"}}
		}
		for _, segment := range segments {
			for j := range want {
				want[j].DocFreq += st.Legs(segment)[j].List.DocFreq
				want[j].Blocks += st.Legs(segment)[j].List.NumBlocks()
			}
		}
		if !slices.Equal(s.Lists, want) {
			t.Errorf("step %s %s: lists %+v, want %+v", s.Name, s.Segment, s.Lists, want)
		}
	}
	if !strings.Contains(q.Trace.String(), "w2 ") {
		t.Errorf("no lists in %v", q.Trace)
	}
}

// The device does nothing for the OR after an AND with enough results.
func TestDeviceDecides(t *testing.T) {
	snapshot := skewed(t)
	e := openEngine(t, gputest.Open(t), defaults(onGPU))
	for _, c := range []struct {
		k    int
		mode plan.Mode
	}{{5, plan.ModeAnd}, {6, plan.ModeOr}} {
		q := prepare(t, snapshot, &query.Words{Text: "rare all", Boost: 1}, plan.Options{Mode: plan.ModeAndOr, K: c.k})
		search(t, e, &q)
		or := e.gpu.narrow.back.Data()[c.k : 2*c.k]
		if q.Answer.Mode != c.mode || (or[0] != 0) != (c.mode == plan.ModeOr) {
			t.Errorf("k=%d: mode %v, keys of the OR %v", c.k, q.Answer.Mode, or)
		}
	}
}

// A level of splitters is a launch. Whole lists need none to select blocks, two otherwise, and none
// to map positions.
func TestLevels(t *testing.T) {
	if gputest.OnGPU() {
		t.Skip("the emulator counts launches")
	}
	snapshot := skewed(t)
	launches := func(change func(o *options)) int {
		e := openEngine(t, gputest.Open(t), with(onGPU, change))
		q := prepare(t, snapshot, &query.Words{Text: "rare all", Boost: 1}, plan.Options{Mode: plan.ModeAnd, K: 5})
		before := gputest.Launches(t)
		search(t, e, &q)
		return gputest.Launches(t) - before
	}
	binary := launches(func(o *options) { o.levels = 0 })
	for levels := 1; levels <= 4; levels++ {
		if n := launches(func(o *options) { o.levels = levels }); n != binary+levels {
			t.Errorf("%d levels: %d launches, %d without levels", levels, n, binary)
		}
	}
	if n := launches(func(o *options) { o.levels, o.whole = 0, true }); n != binary-3 {
		t.Errorf("whole lists: %d launches, %d for blocks", n, binary)
	}
}

// An AND on the CPU decodes the blocks that can match, an OR all.
func TestSkips(t *testing.T) {
	snapshot := skewed(t)
	e := enginetest.Open(t, "ding09:on=cpu")
	for _, c := range []struct {
		mode             plan.Mode
		decoded, skipped int64
	}{{plan.ModeAnd, 1 + 4, 12}, {plan.ModeOr, 1 + 16, 0}} {
		q := prepare(t, snapshot, &query.Words{Text: "rare all", Boost: 1}, plan.Options{Mode: c.mode, K: 5})
		search(t, e, &q)
		if w := q.Answer.Work; w.BlocksDecoded != c.decoded || w.BlocksSkipped != c.skipped {
			t.Errorf("mode %v: %+v, want %d blocks decoded, %d skipped", c.mode, w, c.decoded, c.skipped)
		}
	}
}
