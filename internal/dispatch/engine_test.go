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
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/query"
)

// testEngine answers on the CPU, but refuses the word "bad" and mode and.
type testEngine struct {
	batch  int
	failed error // of Search

	mu     sync.Mutex
	sizes  []int
	closed int
}

func (e *testEngine) Adapt(o *plan.Options) error {
	if o.Mode == plan.ModeAnd {
		return fmt.Errorf("only or: %w", base.ErrBadInput)
	}
	return nil
}

func (e *testEngine) BatchSize() int { return e.batch }

func (e *testEngine) Search(ctx context.Context, queries []*engine.Query) error {
	e.mu.Lock()
	e.sizes = append(e.sizes, len(queries))
	e.mu.Unlock()
	for _, q := range queries {
		if strings.Contains(q.Plan.Query().String(), "bad") {
			q.Err = base.ErrBadInput
			continue
		}
		q.Answer, q.Err = q.Plan.RunCPU(ctx, q.Scratch, q.Answer.Hits, q.Trace)
		q.Answer.Traversal, q.Answer.By, q.Answer.Migrations = "test", sched.GPU, 1
	}
	return e.failed
}

func (e *testEngine) Stats() engine.Stats { return engine.Stats{OnCPU: 7} }

func (e *testEngine) Close() error {
	e.closed++
	return nil
}

// engineSearchers returns a Searcher with the engine and one without.
func engineSearchers(t *testing.T, e *testEngine, c Config) (with, plain *Searcher) {
	t.Helper()
	ix := plantest.RandomIndex(t, rand.New(rand.NewPCG(8, 1)), 300, 2, true)
	snapshot := indextest.Snapshot(t, ix)
	c.Engine = e
	d, err := NewDispatcher(nil, c)
	if err != nil {
		t.Fatal(err)
	}
	with, plain = NewSearcher(snapshot, nil), NewSearcher(snapshot, nil)
	with.Use(d)
	t.Cleanup(func() {
		if err := d.Close(); err != nil || e.closed != 1 {
			t.Errorf("Close: %v, the engine was closed %d times", err, e.closed)
		}
	})
	return with, plain
}

func words(text string) query.Node { return &query.Words{Text: text, Boost: 1} }

// A Dispatcher without limits, and one that queues.
func TestEngineAnswers(t *testing.T) {
	for _, c := range []Config{{}, {Admit: true, CPUs: 1, Deadline: time.Hour}} {
		t.Run(fmt.Sprintf("admit=%v", c.Admit), func(t *testing.T) {
			e := &testEngine{batch: 1}
			with, plain := engineSearchers(t, e, c)
			sc := testScratch(t, "whitespace")
			q, o := words("w1 w5"), Options{Mode: plan.ModeOr, K: 10}
			a, want := answer(t, with, sc, q, o), answer(t, plain, sc, q, o)
			if !slices.Equal(a.Hits, want.Hits) || a.Traversal != "test" || a.By != sched.GPU || a.StepsAt[sched.GPU] != 1 {
				t.Errorf("%+v, want the hits of %+v by the engine", a, want)
			}
			d := with.Dispatcher()
			s := d.Stats()
			if s.GPUSteps != 1 || s.Migrations != 1 || s.Engine == nil || s.Engine.OnCPU != 7 || d.Engine() != engine.Engine(e) {
				t.Errorf("%+v", s)
			}
			var trace plan.Trace
			p, err := with.Prepare(sc, q, o)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.RunTraced(t.Context(), sc, nil, &trace); err != nil || len(trace.Steps) == 0 {
				t.Errorf("trace %+v, %v", trace, err)
			}
			if p, err = with.Prepare(sc, words("bad"), o); err != nil {
				t.Fatal(err)
			}
			if _, err := p.Run(t.Context(), sc, nil); !errors.Is(err, base.ErrBadInput) {
				t.Errorf("a query that the engine refuses: %v", err)
			}
			e.failed = context.Canceled
			if _, err := p.Run(t.Context(), sc, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("an ended context: %v", err)
			}
		})
	}
}

func TestEngineRefusesOptions(t *testing.T) {
	with, _ := engineSearchers(t, &testEngine{batch: 1}, Config{})
	sc := testScratch(t, "whitespace")
	for _, o := range []Options{
		{Mode: plan.ModeAnd}, {Policy: PolicyCPU}, {Traversal: "wand"}, {Placement: &Placement{}},
	} {
		o.K = 1
		if _, err := with.Prepare(sc, words("w1"), o); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// textBatch is a batch of words.
type textBatch struct {
	searcher *Searcher
	texts    []string
	options  Options

	mu      sync.Mutex
	answers map[int]plan.Answer
	errs    map[int]error
}

func (b *textBatch) Len() int { return len(b.texts) }

func (b *textBatch) NewWorker() (BatchWorker, error) {
	sc, err := NewScratch("whitespace")
	return &textWorker{b, sc}, err
}

func (b *textBatch) Fail(i int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.errs[i] = err
}

type textWorker struct {
	*textBatch
	sc *Scratch
}

func (w *textWorker) Scratch() *Scratch { return w.sc }
func (w *textWorker) Release()          {}

func (w *textWorker) Prepare(i int, into *Query) (*Query, error) {
	return into, w.searcher.PrepareInto(into, w.sc, words(w.texts[i]), w.options)
}

func (w *textWorker) Complete(i int, _ *Query, a *plan.Answer) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers[i] = plan.Answer{Hits: slices.Clone(a.Hits), Traversal: a.Traversal, StepsAt: a.StepsAt}
	return nil
}

// An engine gets parts of its size, or each query alone.
func TestEngineBatches(t *testing.T) {
	for _, size := range []int{1, 4, 100} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			e := &testEngine{batch: size}
			with, plain := engineSearchers(t, e, Config{})
			rng := rand.New(rand.NewPCG(3, 3))
			var texts []string
			for range 10 {
				texts = append(texts, plantest.RandomWords(rng, 3))
			}
			texts[6] = "bad w1"
			b := &textBatch{searcher: with, texts: texts, options: Options{Mode: plan.ModeOr, K: 5}, answers: map[int]plan.Answer{}, errs: map[int]error{}}
			if err := with.Dispatcher().SearchBatch(t.Context(), b, new(BatchScratch)); err != nil {
				t.Fatal(err)
			}
			sc := testScratch(t, "whitespace")
			for i, text := range texts {
				if i == 6 {
					if !errors.Is(b.errs[i], base.ErrBadInput) {
						t.Errorf("query %d: %v", i, b.errs[i])
					}
					continue
				}
				want, got := answer(t, plain, sc, words(text), b.options), b.answers[i]
				if !slices.Equal(got.Hits, want.Hits) || got.Traversal != "test" || got.StepsAt[sched.GPU] != 1 {
					t.Errorf("query %d: %+v, want the hits of %+v", i, got, want)
				}
			}
			if len(b.answers) != 9 || len(b.errs) != 1 || with.Dispatcher().Stats().GPUSteps != 9 {
				t.Errorf("%d answers, errors %v, %+v", len(b.answers), b.errs, with.Dispatcher().Stats())
			}
			if largest := slices.Max(e.sizes); largest != min(size, 10) {
				t.Errorf("the engine got %v queries at a time", e.sizes)
			}
			e.failed = context.DeadlineExceeded
			if err := with.Dispatcher().SearchBatch(t.Context(), b, new(BatchScratch)); size > 1 && !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("an engine whose context ended: %v", err)
			}
		})
	}
}
