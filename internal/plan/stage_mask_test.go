package plan

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/query"
)

// The masks of a stage, live documents and the documents of its words together are the matches. The index keeps
// masks; whatever has the same filters and exclusions, in any order, shares them.
func TestStageMasks(t *testing.T) {
	rng := rand.New(rand.NewPCG(63, 1))
	s := New(indextest.Snapshot(t, plantest.RandomIndex(t, rng, 400, 2, true)), nil)
	sc := testScratch(t, "whitespace")
	clause := func(o query.Occur, n query.Node) query.Clause { return query.Clause{Occur: o, Node: n} }
	some := func() query.Node {
		if rng.IntN(2) == 0 {
			return &query.Term{Text: plantest.RandomWord(rng)}
		}
		return query.Any(&query.Term{Text: plantest.RandomWord(rng)}, &query.Prefix{Text: "w2"})
	}
	masked := 0
	for round := range 100 {
		words := clause(query.Must, plantest.Words(rng, 1+rng.IntN(3)))
		parts := []query.Clause{clause(query.Filter, some()), clause(query.Filter, some()), clause(query.MustNot, some())}[rng.IntN(3):]
		p, err := s.Prepare(sc, &query.Boolean{Clauses: append([]query.Clause{words}, parts...)}, Options{K: 10})
		if err != nil {
			t.Fatal(err)
		}
		if st := p.Stage(0); !st.IsFlat() || !st.Excludes() {
			continue
		}
		plain, err := s.Prepare(sc, words.Node, Options{K: 10})
		if err != nil {
			t.Fatal(err)
		}
		if round == 0 && MaskTime(p, sc, 0, MaskOptions{}) == 0 {
			t.Errorf("%s: no time is predicted", p.query)
		}
		masks, err := StageMasks(t.Context(), p, sc, 0, MaskOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if MaskTime(p, sc, 0, MaskOptions{}) != 0 {
			t.Errorf("%s: masks that the index keeps are predicted to take %v", p.query, MaskTime(p, sc, 0, MaskOptions{}))
		}
		matches := allMatches(t, p, sc)
		for i, words := range allMatches(t, plain, sc) {
			if masks[i] != nil {
				masked++
				and(words, masks[i].Words)
				if int(ones(masks[i].Words)) != masks[i].Count {
					t.Errorf("%s: a count of %d", p.query, masks[i].Count)
				}
			}
			if !slices.Equal(words, matches[i]) {
				t.Fatalf("%s: segment %d: %x, want %x", p.query, i, words, matches[i])
			}
		}
		slices.Reverse(parts)
		again, err := s.Prepare(sc, &query.Boolean{Clauses: append(parts, clause(query.Must, plantest.Words(rng, 2)))}, Options{K: 10})
		if err != nil {
			t.Fatal(err)
		}
		if !again.Stage(0).Excludes() {
			t.Fatalf("%s is not flat", again.query)
		}
		shared, err := StageMasks(t.Context(), again, sc, 0, MaskOptions{LeaveOut: []int{0}})
		if err != nil || shared[0] != nil || shared[1] != masks[1] {
			t.Errorf("%s: %v; other masks than of %s", again.query, err, p.query)
		}
	}
	if masked < 50 {
		t.Errorf("%d masks", masked)
	}
}

func allMatches(t *testing.T, p *Plan, sc *Scratch) (all [][]uint64) {
	t.Helper()
	err := p.Matches(t.Context(), sc, func(_ int, words []uint64) error {
		all = append(all, slices.Clone(words))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// heldContext is of a query that is held when it first looks at it, and is cancelled then.
type heldContext struct {
	context.Context
	once         sync.Once
	held, cancel chan struct{}
}

func (c *heldContext) Err() error {
	c.once.Do(func() {
		close(c.held)
		<-c.cancel
	})
	return context.Canceled
}

// A query that is interrupted while it computes a mask, or a set, does not interrupt the queries that wait for
// these.
func TestInterruptedMasks(t *testing.T) {
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rand.New(rand.NewPCG(64, 1)), 300, 1, false))
	s := New(snapshot, nil)
	many := make([]string, 100) // enough for a look at the context
	for i := range many {
		many[i] = fmt.Sprintf("w%d", i)
	}
	node := &query.Boolean{Clauses: []query.Clause{
		{Occur: query.Must, Node: &query.Term{Text: "w1"}}, {Occur: query.Filter, Node: &query.Terms{Values: many}},
	}}
	for name, compute := range map[string]func(ctx context.Context) error{
		"mask": func(ctx context.Context) error {
			sc := testScratch(t, "whitespace")
			p, err := s.Prepare(sc, node, Options{K: 10})
			if err == nil {
				_, err = StageMasks(ctx, p, sc, 0, MaskOptions{})
			}
			return err
		},
		"set": func(ctx context.Context) error {
			sc := testScratch(t, "whitespace")
			p, err := s.Prepare(sc, node, Options{K: 10})
			if err == nil {
				m := sc.begin(&p.words, 0, ctx)
				_, _, err = m.find(p.stages[0].filters[0].(*constant).child, "")
			}
			return err
		},
	} {
		snapshot.Segments[0].Derived = derived.NewCache(1 << 20).NewSegment()
		if name == "set" { // it is kept from its second use on
			if err := compute(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		ctx := &heldContext{Context: t.Context(), held: make(chan struct{}), cancel: make(chan struct{})}
		errs := make(chan error, 2)
		go func() { errs <- compute(ctx) }()
		<-ctx.held
		waiting := make(chan struct{})
		go func() {
			close(waiting)
			errs <- compute(t.Context())
		}()
		<-waiting
		time.Sleep(5 * time.Millisecond) // it most likely waits
		close(ctx.cancel)
		cancelled := 0
		for range 2 {
			if err := <-errs; errors.Is(err, context.Canceled) {
				cancelled++
			} else if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if cancelled != 1 {
			t.Errorf("%s: %d of two queries are cancelled, want the one", name, cancelled)
		}
	}
}
