package ding09

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/papers/enginetest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
)

var modes = []plan.Mode{plan.ModeAnd, plan.ModeOr, plan.ModeAndOr}

// defaults are the options of the engine without any given, on one kind of processor.
func defaults(on processors) options {
	return options{on: on, depth: 1, levels: 3, cacheBytes: 640 << 20, cpus: 2, threshold: 0.2, deadline: 500 * time.Millisecond, urgent: 0.5}
}

// openEngine opens an engine on a device until the end of the test.
func openEngine(t testing.TB, d *cuda.Device, o options) *Engine {
	t.Helper()
	e, err := newEngine(d, &o)
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Close(t, e)
	return e
}

func with(on processors, change func(o *options)) options {
	o := defaults(on)
	change(&o)
	return o
}

// sample compares on random indexes: a few queries on the emulator, more on a GPU.
func sample(t *testing.T, e engine.Engine) {
	t.Helper()
	if gputest.OnGPU() {
		enginetest.CompareRandom(t, e, 4, modes...)
	}
	rng := rand.New(rand.NewPCG(9, 2009))
	ix := plantest.RandomIndex(t, rng, 500, 3, true /* deletes */)
	texts := []string{"missing", "w1 w1 missing"}
	for n := range 5 {
		texts = append(texts, plantest.RandomWords(rng, n+1))
	}
	for i, mode := range modes {
		k := []int{1, 10, 60}[i]
		enginetest.CompareAnswers(t, e, indextest.Snapshot(t, ix), plan.Options{Mode: mode, K: k, Count: k == 10}, texts)
	}
	for _, mode := range modes {
		enginetest.CompareAnswers(t, e, skewed(t), plan.Options{Mode: mode, K: 5, Count: true}, []string{"rare all", "all some rare some", "some all"})
	}
	// Lists of many blocks, and of more candidates than a block of threads has.
	long := indextest.Snapshot(t, plantest.FrequentIndex(t, codec.Default, 1600))
	for _, mode := range modes {
		enginetest.CompareAnswers(t, e, long, plan.Options{Mode: mode, K: 10, Count: true}, []string{"w3 w0", "w0 w1 w2 w3 w0"})
	}
}

// skewed returns an index of lists whose lengths and frequencies differ much, so that an AND skips blocks.
func skewed(t testing.TB) *index.Snapshot {
	t.Helper()
	return indextest.Snapshot(t, indextest.Write(t, index.Options{Analyzer: "whitespace"}, func(w *indextest.Writer) {
		for i := range 2000 {
			text := strings.Repeat("all ", 1+i%9)
			if i%13 == 3 {
				text += strings.Repeat("some ", 1+i%5)
			}
			if i%500 == 3 || i == 1 {
				text += "rare some"
			}
			w.AddText(i, text)
		}
	}))
}

func TestCPU(t *testing.T) {
	e := enginetest.Open(t, "ding09:on=cpu")
	enginetest.CompareRandom(t, e, 4, modes...)
	if s := e.Stats(); s.OnCPU == 0 || s.OnGPU != 0 || s.BusBytes != 0 {
		t.Errorf("%+v", s)
	}
}

// The options of the GPU, each with indexes of several segments and deleted documents. A cache of 0
// evicts all lists after every query.
func TestGPU(t *testing.T) {
	cases := []struct {
		name string
		o    options
	}{
		{"default", defaults(onGPU)},
		{"no levels, small cache", with(onGPU, func(o *options) { o.levels, o.cacheBytes = 0, 4<<10 })},
		{"levels 1, depth 0", with(onGPU, func(o *options) { o.levels, o.depth = 1, 0 })},
		{"levels 4, depth 4, no cache", with(onGPU, func(o *options) { o.levels, o.depth, o.cacheBytes = 4, 4, 0 })},
		{"rice, levels 2", with(onGPU, func(o *options) { o.levels, o.rice = 2, true })},
		{"poster, no cache", with(onGPU, func(o *options) { o.rice, o.whole, o.cacheBytes = true, true, 0 })},
		{"whole lists", with(onGPU, func(o *options) { o.whole = true })},
	}
	for _, c := range sampletest.Some(t, sampletest.UnderRace(len(cases), 2), cases) {
		t.Run(c.name, func(t *testing.T) {
			e := openEngine(t, gputest.Open(t), c.o)
			sample(t, e)
			s := e.Stats()
			if s.OnGPU == 0 || s.OnCPU != 0 || s.Faults != 0 || s.BusBytes == 0 || s.ListMisses == 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestBoth(t *testing.T) {
	e := openEngine(t, gputest.Open(t), defaults(onBoth))
	sample(t, e)
	s := e.Stats()
	if s.OnGPU == 0 || s.OnCPU == 0 || s.Faults != 0 {
		t.Errorf("%+v", s)
	}
}

// Collections of text: all on the CPU, some on the emulator.
func TestCollections(t *testing.T) {
	sampletest.SkipRace(t) // CompareRandom runs under it
	for _, c := range []struct {
		name    string
		on      processors
		queries int
	}{
		{"cranfield", onCPU, 200}, {"scifact", onCPU, 100}, {"cranfield", onGPU, 10}, {"scifact", onGPU, 4}, {"cranfield", onBoth, 40},
	} {
		t.Run(fmt.Sprint(c.name, " ", c.on), func(t *testing.T) {
			ix, texts := enginetest.Collection(t, c.name, c.queries)
			compareAll(t, c.on, func(e engine.Engine) {
				snapshot := indextest.Snapshot(t, ix)
				for _, mode := range modes {
					enginetest.CompareAnswers(t, e, snapshot, plan.Options{Mode: mode, K: 10, Count: true}, texts)
				}
			})
		})
	}
}

// On a GPU, the passages and queries of issue 17.
func TestWiki(t *testing.T) {
	sampletest.SkipRace(t) // CompareRandom runs under it
	passages, queries := 2000, 20
	if gputest.OnGPU() {
		passages, queries = 250_000, 500
	}
	ix, texts := enginetest.Wiki(t, passages, queries)
	for _, on := range []processors{onCPU, onGPU, onBoth} {
		t.Run(on.String(), func(t *testing.T) {
			compareAll(t, on, func(e engine.Engine) {
				snapshot := indextest.Snapshot(t, ix)
				for _, mode := range modes {
					enginetest.CompareAnswers(t, e, snapshot, plan.Options{Mode: mode, K: 10}, texts)
				}
			})
		})
	}
}

func compareAll(t *testing.T, on processors, compare func(e engine.Engine)) {
	t.Helper()
	var d *cuda.Device
	if on != onCPU {
		d = gputest.Open(t)
	}
	compare(openEngine(t, d, defaults(on)))
}
