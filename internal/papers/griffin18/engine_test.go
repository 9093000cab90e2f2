package griffin18

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/papers/enginetest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/query"
)

// variants of the options on a GPU. Lengths of lists in small indexes differ little.
var variants = []struct {
	name string
	options
}{
	{"gpu", options{on: onGPU, crossing: 128}},
	{"gpu, searches", options{on: onGPU, crossing: 1}},
	{"gpu, bucketSelect", options{on: onGPU, crossing: 4, ranking: rankBucket}},
	{"gpu, radixSort", options{on: onGPU, crossing: 128, ranking: rankRadix}},
	{"both, always the CPU", options{ratio: 1, crossing: 128, cpuCrossing: 128}},
	{"both, early", options{ratio: 2, crossing: 2, cpuCrossing: 3}},
	{"both, late", options{ratio: 8, crossing: 4, cpuCrossing: 128, ranking: rankBucket}},
	{"both, never", options{ratio: maxRatio, crossing: maxRatio, cpuCrossing: 1}},
}

func openOn(t testing.TB, o options, d *cuda.Device) *Engine {
	t.Helper()
	e, err := newEngine(o, d)
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Close(t, e)
	return e
}

func TestRandom(t *testing.T) {
	d := gputest.Open(t)
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			e := openOn(t, v.options, d)
			if v.ranking == rankRadix { // slow on the emulator
				enginetest.CompareAnswers(t, e, twoSegments(t), and, []string{"w0", "w0 w1", "w3 w1 w0", "w0 w0 w2", "w1 w7", "w0 w39"})
			} else {
				enginetest.CompareRandom(t, e, sampletest.UnderRace(2, 1), plan.ModeAnd)
			}
			s := e.Stats()
			switch {
			case s.Faults > 0 || v.on == onBoth && v.ratio > 1 != (s.OnGPU > 0) || v.on == onGPU && s.OnGPU == 0:
				t.Errorf("%+v", s)
			case (v.ratio > 1 && v.ratio < maxRatio) != (s.Migrations > 0) || (s.BusBytes > 0) != (s.OnGPU > 0):
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestRandomOnCPU(t *testing.T) {
	for _, spec := range []string{"griffin18:on=cpu", "griffin18:on=cpu,cpu-crossing=1", "griffin18:on=cpu,cpu-crossing=3"} {
		t.Run(spec, func(t *testing.T) {
			e := enginetest.Open(t, spec)
			enginetest.CompareRandom(t, e, 2, plan.ModeAnd)
			if s := e.Stats(); s.OnCPU == 0 || s.OnGPU != 0 || s.Migrations != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestCollections(t *testing.T) {
	sampletest.SkipRace(t) // CompareRandom runs under it
	for name, numQueries := range map[string]int{"cranfield": 225, "scifact": 80} {
		t.Run(name, func(t *testing.T) {
			ix, texts := enginetest.Collection(t, name, numQueries)
			compareAll(t, ix, texts)
		})
	}
}

func TestWiki(t *testing.T) {
	sampletest.SkipRace(t) // CompareRandom runs under it
	n, numQueries := 20_000, 120
	if gputest.OnGPU() {
		n, numQueries = 250_000, 500
	}
	ix, texts := enginetest.Wiki(t, n, numQueries)
	compareAll(t, ix, texts)
}

// compareAll compares all variants, and the CPU's; without a GPU, each variant answers some queries.
func compareAll(t *testing.T, ix *index.Index, texts []string) {
	sampletest.SkipRace(t)
	snapshot := indextest.Snapshot(t, ix)
	d := gputest.Open(t)
	for i, v := range append(variants, struct {
		name string
		options
	}{"cpu", options{on: onCPU, cpuCrossing: 128}}) {
		var some []string
		for j, text := range texts {
			if gputest.OnGPU() || v.on == onCPU || j%len(variants) == i {
				some = append(some, text)
			}
		}
		on := d
		if v.on == onCPU {
			on = nil
		}
		t.Run(v.name, func(t *testing.T) {
			e := openOn(t, v.options, on)
			for _, k := range []int{10, 1000} {
				enginetest.CompareAnswers(t, e, snapshot, plan.Options{Mode: plan.ModeAnd, K: k, Count: k == 10}, firstWords(some))
			}
		})
	}
}

// firstWords adds the first two words of each query, because few documents have all words of a topic.
func firstWords(texts []string) []string {
	var all []string
	for _, text := range texts {
		all = append(all, text)
		spaces := 0
		for i, c := range text {
			if c == ' ' {
				if spaces++; spaces == 2 {
					all = append(all, text[:i])
				}
			}
		}
	}
	return all
}

// prepare plans a query in mode and.
func prepare(t *testing.T, s *index.Snapshot, text string, o plan.Options) *engine.Query {
	t.Helper()
	sc, err := plan.NewScratch(s.Options.Analyzer)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(s, nil).Prepare(sc, plantest.Parse(t, text), o)
	if err != nil {
		t.Fatal(err)
	}
	return &engine.Query{Plan: p, Scratch: sc}
}

// frequent has lists w0 to w3 of several blocks in one segment.
func frequent(t *testing.T) *index.Snapshot {
	return indextest.Snapshot(t, plantest.FrequentIndex(t, "simdbp", 1500))
}

var and = plan.Options{Mode: plan.ModeAnd, K: 10, Count: true}

// answers searches, and compares with the plan on the CPU.
func answers(t *testing.T, e *Engine, q *engine.Query) {
	t.Helper()
	if err := e.Search(t.Context(), []*engine.Query{q}); err != nil || q.Err != nil {
		t.Fatalf("%v, %v", err, q.Err)
	}
	want, err := q.Plan.RunCPU(t.Context(), q.Scratch, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if a := &q.Answer; !slices.Equal(a.Hits, want.Hits) || a.Matches != want.Matches || a.Mode != want.Mode {
		t.Errorf("%d matches, %v; want %d, %v", a.Matches, a.Hits, want.Matches, want.Hits)
	}
}

// Boosts whose sums exceed 32 bits run on the CPU.
func TestWideSums(t *testing.T) {
	e := openOn(t, options{on: onGPU, crossing: 128}, gputest.Open(t))
	s := frequent(t)
	for text, place := range map[string]sched.Place{"w0^2 w1^0.5": sched.GPU, "w0^1000 w0^1000 w1^1000 w2^1000 w3^1000": sched.GPU} {
		q := prepare(t, s, text, and)
		most := base.Score(0)
		for _, l := range q.Plan.Stage(0).Legs(0) {
			most += l.MaxScore
		}
		if most > 1<<32-1 {
			place = sched.CPU
		}
		answers(t, e, q)
		if q.Answer.By != place {
			t.Errorf("%s by %v, want %v", text, q.Answer.By, place)
		}
	}
}

// A k beyond the device's limit is ranked on the CPU; k 0 only counts.
func TestK(t *testing.T) {
	s := frequent(t)
	d := gputest.Open(t)
	for _, ranking := range []int{rankCPU, rankBucket, rankRadix} {
		e := openOn(t, options{on: onGPU, crossing: 128, ranking: ranking}, d)
		for _, o := range []plan.Options{{Mode: plan.ModeAnd}, {Mode: plan.ModeAnd, Count: true}, {Mode: plan.ModeAnd, K: 5000, Count: true}, {Mode: plan.ModeAnd, K: 1}} {
			for _, text := range []string{"w0", "w0 w1 w3"} {
				answers(t, e, prepare(t, s, text, o))
			}
		}
	}
}

// skewed has lists rare, medium and all of 50, 100 and 3,000 postings; all but one have all words.
func skewed(t *testing.T) *index.Snapshot {
	return indextest.Snapshot(t, indextest.Write(t, index.Options{Analyzer: "whitespace"}, func(w *indextest.Writer) {
		for i := range 3001 {
			switch {
			case i%60 == 0 && i > 0:
				w.AddText(i, "all rare medium")
			case i%30 == 0 && i > 0:
				w.AddText(i, "all medium medium")
			case i > 0:
				w.AddText(i, "all all")
			default:
				w.AddText(i, "other")
			}
		}
	}))
}

func TestMigration(t *testing.T) {
	s := skewed(t)
	d := gputest.Open(t)
	for _, tt := range []struct {
		options
		migrations int
		by         sched.Place
	}{
		{options{on: onGPU, ratio: 2, crossing: 128}, 0, sched.GPU},
		{options{ratio: 128, crossing: 128}, 0, sched.GPU},
		{options{ratio: 61, crossing: 30}, 0, sched.GPU},
		{options{ratio: 60, crossing: 128, cpuCrossing: 128}, 1, sched.CPU},
		{options{ratio: 3, crossing: 1, cpuCrossing: 30}, 1, sched.CPU},
		{options{ratio: 2, crossing: 128, cpuCrossing: 30}, 0, sched.CPU},
	} {
		t.Run(fmt.Sprintf("on=%d,ratio=%d", tt.on, tt.ratio), func(t *testing.T) {
			e := openOn(t, tt.options, d)
			q := prepare(t, s, "all medium rare", and)
			q.Trace = &plan.Trace{Mode: plan.ModeAnd}
			answers(t, e, q)
			if q.Answer.Migrations != tt.migrations || q.Trace.Migrations != tt.migrations || q.Answer.By != tt.by || q.Answer.Traversal != name {
				t.Errorf("%+v", q.Answer)
			}
			if got := e.Stats(); got.Migrations != int64(tt.migrations) || got.OnCPU+got.OnGPU != 1 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Of a searched list, only the blocks with candidates and their frequencies go over the bus.
func TestSearchBringsBlocks(t *testing.T) {
	s := skewed(t)
	d := gputest.Open(t)
	var copied [2]int64
	for i, crossing := range []int{30, 128} {
		e := openOn(t, options{on: onGPU, crossing: crossing}, d)
		answers(t, e, prepare(t, s, "rare other all", and)) // no candidates are left
		before := e.Stats().BusBytes
		answers(t, e, prepare(t, s, "rare all", and))
		copied[i] = e.Stats().BusBytes - before
	}
	if copied[0] == copied[1] {
		t.Errorf("%d bytes by searching, %d by merging", copied[0], copied[1])
	}
}

// The lengths of documents stay on the device while their segment is in use.
func TestLengths(t *testing.T) {
	d := gputest.Open(t)
	e := openOn(t, options{on: onGPU, crossing: 128}, d)
	for range 3 {
		t.Run("index", func(t *testing.T) {
			s := skewed(t)
			answers(t, e, prepare(t, s, "rare all", and))
			before := e.Stats().BusBytes
			answers(t, e, prepare(t, s, "rare all", and))
			if again := e.Stats().BusBytes - before; again >= before {
				t.Errorf("%d bytes, then %d", before, again)
			}
		})
		runtime.GC()
		runtime.GC()
	}
	if n := len(e.device.lengths); n > 2 {
		t.Errorf("lengths of %d segments", n)
	}
}

func TestTrace(t *testing.T) {
	s := frequent(t)
	d := gputest.Open(t)
	for _, tt := range []struct {
		options
		want string
	}{
		{options{on: onGPU, crossing: 128}, "gpu:transfer gpu:decode gpu:transfer gpu:decode gpu:intersect gpu:transfer gpu:score gpu:transfer cpu:rank"},
		{options{on: onGPU, crossing: 128, ranking: rankRadix}, "gpu:transfer gpu:decode gpu:transfer gpu:decode gpu:intersect gpu:transfer gpu:score gpu:rank"},
		{options{on: onGPU, crossing: 1}, "gpu:transfer gpu:decode gpu:transfer gpu:select gpu:transfer gpu:decode gpu:intersect gpu:transfer gpu:score gpu:transfer cpu:rank"},
		{options{ratio: 1, cpuCrossing: 128, crossing: 128}, "cpu:decode cpu:intersect cpu:rank"},
	} {
		e := openOn(t, tt.options, d)
		q := prepare(t, s, "w0 w1", and)
		q.Trace = &plan.Trace{Mode: plan.ModeAnd}
		answers(t, e, q)
		got, bus := "", int64(0)
		for _, step := range q.Trace.Steps {
			got += " " + step.Place.String() + ":" + step.Name
			bus += step.BusBytes
			if step.Took < 0 || step.Segment == "" || step.Name == plan.StepIntersect && (step.Left == 0 || step.Candidates < step.Left) {
				t.Errorf("%+v", step)
			}
		}
		if got[1:] != tt.want {
			t.Errorf("steps%s, want %s", got, tt.want)
		}
		if (bus > 0) != (tt.on == onGPU) || bus < e.Stats().BusBytes {
			t.Errorf("%d bytes in steps, %+v", bus, e.Stats())
		}
	}
}

// Each list is in the trace once, with the processor that read it.
func TestTraceOfLists(t *testing.T) {
	s := skewed(t)
	d := gputest.Open(t)
	for _, tt := range []struct {
		options
		text, want, note string
	}{
		{options{on: onGPU, crossing: 128}, "all rare", "gpu:rare=50/1 gpu:all=3000/24", ""},
		{options{on: onGPU, crossing: 1}, "all rare medium", "gpu:rare=50/1 gpu:medium=100/1 gpu:all=3000/24", ""},
		{options{ratio: 60, crossing: 128, cpuCrossing: 128}, "all rare medium", "gpu:rare=50/1 gpu:medium=100/1 cpu:all=3000/24", ""},
		{options{on: onCPU, cpuCrossing: 128}, "all rare", "cpu:rare=50/1 cpu:all=3000/24", ""},
		{options{on: onGPU, crossing: 128}, "medium other all", "gpu:other=1/1 gpu:medium=100/1", "no candidates are left; not read: all (3000 postings)"},
		{options{on: onCPU, cpuCrossing: 128}, "medium other all", "cpu:other=1/1 cpu:medium=100/1", "no candidates are left; not read: all (3000 postings)"},
	} {
		on := d
		if tt.on == onCPU {
			on = nil
		}
		q := prepare(t, s, tt.text, and)
		q.Trace = &plan.Trace{Mode: plan.ModeAnd}
		answers(t, openOn(t, tt.options, on), q)
		got := ""
		for _, step := range q.Trace.Steps {
			for _, l := range step.Lists {
				got += fmt.Sprintf(" %v:%s=%d/%d", step.Place, l.Term, l.DocFreq, l.Blocks)
			}
		}
		if got[1:] != tt.want {
			t.Errorf("%s: lists%s, want %s", tt.text, got, tt.want)
		}
		if notes := strings.Join(q.Trace.Notes, "\n"); !strings.HasSuffix(notes, tt.note) || (tt.note == "") != (notes == "") {
			t.Errorf("%s: note %q, want %q", tt.text, notes, tt.note)
		}
	}
}

// A word can be missing in one of the segments.
func TestTraceOfMissingWord(t *testing.T) {
	s := indextest.Snapshot(t, indextest.Write(t, index.Options{Analyzer: "whitespace"}, func(w *indextest.Writer) {
		w.AddText(0, "a b")
		w.Commit()
		w.AddText(1, "a c")
	}))
	q := prepare(t, s, "a b", and)
	q.Trace = &plan.Trace{Mode: plan.ModeAnd}
	answers(t, openOn(t, options{on: onCPU, cpuCrossing: 128}, nil), q)
	if len(q.Trace.Notes) != 1 || !strings.HasSuffix(q.Trace.Notes[0], ": not searched, as b is in no document") {
		t.Errorf("notes %q", q.Trace.Notes)
	}
}

func TestRefusals(t *testing.T) {
	e := openOn(t, options{on: onCPU, cpuCrossing: 128}, nil)
	for _, mode := range []plan.Mode{plan.ModeOr, plan.ModeAndOr, plan.ModeSaat} {
		if err := e.Adapt(&plan.Options{Mode: mode}); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
	s := frequent(t)
	for _, text := range []string{"w0 -w1", "w0 OR w1", "w0 (w1 OR w2)"} {
		q := prepare(t, s, text, and)
		if err := e.Search(t.Context(), []*engine.Query{q}); err != nil || !errors.Is(q.Err, base.ErrBadInput) {
			t.Errorf("%s: %v, %v", text, err, q.Err)
		}
	}
	q := prepare(t, s, "w0 w1", plan.Options{Mode: plan.ModeOr, K: 1})
	if err := e.Search(t.Context(), []*engine.Query{q}); err != nil || !errors.Is(q.Err, base.ErrBadInput) {
		t.Errorf("mode or: %v, %v", err, q.Err)
	}
	if got := e.Stats(); got.OnCPU != 0 {
		t.Errorf("%+v", got)
	}
	answers(t, e, prepare(t, s, "w0", and))
	answers(t, e, prepare(t, s, "missing w0", and))
}

// A segment whose parts do not fit together is an error of the query.
func TestDamaged(t *testing.T) {
	s := frequent(t)
	d := gputest.Open(t)
	for _, o := range []options{{on: onGPU, crossing: 128}, {on: onCPU, cpuCrossing: 128}} {
		on := d
		if o.on == onCPU {
			on = nil
		}
		e := openOn(t, o, on)
		q := prepare(t, s, "w0 w1", and)
		q.Plan.Stage(0).Legs(0)[1].Lengths = nil
		if err := e.Search(t.Context(), []*engine.Query{q}); err != nil || !errors.Is(q.Err, base.ErrCorrupt) {
			t.Errorf("%v, %v", err, q.Err)
		}
		answers(t, e, prepare(t, s, "w0 w1", and))
	}
}

// A GPU that has to exist contradicts on=cpu.
func TestDeviceWithoutUse(t *testing.T) {
	spec, err := engine.Parse(name + ":on=cpu")
	if err != nil {
		t.Fatal(err)
	}
	for device, ok := range map[string]bool{"": true, "cpu": true, "auto": true, "gpu": false, "0": false, "0,1": false, "tpu": false} {
		e, err := spec.Open(engine.Resources{Device: device})
		if ok != (err == nil) || err != nil && !errors.Is(err, base.ErrBadInput) {
			t.Errorf("device %q: %v", device, err)
		}
		if err == nil {
			enginetest.Close(t, e)
		}
	}
	if _, err := spec.Open(engine.Resources{Device: "gpu"}); err == nil || !strings.Contains(err.Error(), "use the device cpu or auto") {
		t.Errorf("%v", err)
	}
}

func TestOptions(t *testing.T) {
	for _, text := range []string{"on=tpu", "ratio=0", "crossing=x", "cpu-crossing=0", "ranking=heap", "on=both", "on=gpu", "on=cpu,ratio=64", "on=cpu,crossing=2", "on=cpu,ranking=radix", "on=gpu,ratio=3"} {
		spec, err := engine.Parse(name + ":" + text)
		if err != nil {
			t.Fatal(err)
		}
		if e, err := spec.Open(engine.Resources{Device: "cpu"}); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%s: %v, %v", text, e, err)
		}
	}
}

func TestCancelled(t *testing.T) {
	s := frequent(t)
	d := gputest.Open(t)
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			e := openOn(t, v.options, d)
			for checks := range 6 {
				q := prepare(t, s, "w0 w1 w2", and)
				ctx := &ending{Context: t.Context(), checks: checks}
				if err := e.Search(ctx, []*engine.Query{q}); err == nil && checks < 2 || err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("after %d checks: %v", checks, err)
				}
				answers(t, e, q)
			}
		})
	}
}

// ending ends after some checks.
type ending struct {
	context.Context
	checks int
}

func (e *ending) Err() error {
	if e.checks--; e.checks < 0 {
		return context.Canceled
	}
	return nil
}

// Missing and repeated words in a query that is not parsed from text.
func TestWords(t *testing.T) {
	s := frequent(t)
	e := openOn(t, options{on: onGPU, crossing: 128}, gputest.Open(t))
	sc, err := plan.NewScratch(s.Options.Analyzer)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "w1", "w1 w1", "w1 w2 w1 missing"} {
		p, err := plan.New(s, nil).Prepare(sc, &query.Words{Text: text, Boost: 2}, and)
		if err != nil {
			t.Fatal(err)
		}
		answers(t, e, &engine.Query{Plan: p, Scratch: sc})
	}
}
