package traverse_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/simd/simdtest"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

func part(q *traverse.Query, order []int, from, to int) traverse.Query {
	p := traverse.Query{NumDocs: q.NumDocs, Live: q.Live, Base: q.Base}
	for _, i := range order[from:to] {
		p.Legs = append(p.Legs, q.Legs[i])
	}
	return p
}

func wide(q *traverse.Query) bool {
	var sum base.Score
	for i := range q.Legs {
		sum += q.Legs[i].MaxScore
	}
	return sum > 1<<32-1
}

// The lists are in the given order, cut before each of the cuts; the last step is Finish.
func inSteps(t testing.TB, s *traverse.Scratch, queries []traverse.Query, order, cuts []int, k int, all bool) []base.Hit {
	t.Helper()
	var queue topk.Queue
	queue.Reset(k)
	var c traverse.Candidates
	for i := range queries {
		from := 0
		for n, to := range cuts {
			q := part(&queries[i], order, from, to)
			step := traverse.Intersect
			if n == 0 {
				step = traverse.Begin
			}
			if err := step(t.Context(), s, &q, &c); err != nil {
				t.Fatal(err)
			}
			if !slices.IsSorted(c.DocIDs) {
				t.Fatal("the candidates' DocIDs do not increase")
			}
			from = to
		}
		q := part(&queries[i], order, from, len(order))
		if err := traverse.Finish(t.Context(), s, &q, &c, &queue, all); err != nil {
			t.Fatal(err)
		}
	}
	return queue.AppendSorted(nil)
}

// Any order, cuts, codec and SIMD level.
func TestStepsAgree(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(81, 1))
		var s traverse.Scratch
		checked := 0
		for n := 0; n < numCases; n += caseStep() {
			c, err := codec.Lookup(codec.Names()[n%len(codec.Names())])
			if err != nil {
				t.Fatal(err)
			}
			o, deleted := caseOf(n)
			x := randomCollection(t, rng, c, o, deleted)
			queries := x.queries(t)
			if len(x.terms) == 0 || slices.ContainsFunc(queries, func(q traverse.Query) bool { return wide(&q) }) {
				continue
			}
			found := x.oracle(traverse.And)
			for _, k := range []int{1, 10, 1000} {
				order := rng.Perm(len(x.terms))
				var cuts []int
				for at := 1; at <= len(order); at++ {
					if at == 1 || rng.IntN(2) == 0 {
						cuts = append(cuts, at)
					}
				}
				cuts = cuts[rng.IntN(len(cuts)):] // the first step may have several lists
				all := rng.IntN(2) == 0
				got, want := inSteps(t, &s, queries, order, cuts, k, all), found[:min(k, len(found))]
				if !slices.Equal(got, want) {
					t.Fatalf("%s: k=%d, order %v, cuts %v, all %t: %s", x.name, k, order, cuts, all, difference(got, want))
				}
				checked += len(got)
			}
		}
		if checked < 100 {
			t.Errorf("only %d hits were compared", checked)
		}
	})
}

// Sums are exact. With all set, Finish leaves exactly the matches.
func TestCandidatesAreExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(82, 1))
	for range 20 {
		x := withLegs(t, rng, 2)
		queries := x.queries(t)
		var s traverse.Scratch
		for upTo := 1; upTo <= len(x.terms); upTo++ {
			sub := *x
			sub.terms = x.terms[:upTo]
			sub.segments = slices.Clone(x.segments)
			for i := range sub.segments {
				sub.segments[i].lists = sub.segments[i].lists[:upTo]
			}
			var want, began, finished []base.Hit
			want = sub.oracle(traverse.And)
			order := []int{}
			for i := range upTo {
				order = append(order, i)
			}
			for i := range queries {
				if wide(&queries[i]) {
					continue
				}
				var c traverse.Candidates
				var queue topk.Queue
				queue.Reset(1)
				q := part(&queries[i], order, 0, upTo)
				if err := traverse.Begin(t.Context(), &s, &q, &c); err != nil {
					t.Fatal(err)
				}
				began = append(began, hitsOf(&q, &c)...)
				q = part(&queries[i], order, 0, 1)
				if err := traverse.Begin(t.Context(), &s, &q, &c); err != nil {
					t.Fatal(err)
				}
				q = part(&queries[i], order, 1, upTo)
				if err := traverse.Finish(t.Context(), &s, &q, &c, &queue, true /* all */); err != nil {
					t.Fatal(err)
				}
				finished = append(finished, hitsOf(&q, &c)...)
			}
			if slices.ContainsFunc(queries, func(q traverse.Query) bool { return wide(&q) }) {
				break
			}
			for name, got := range map[string][]base.Hit{"Begin": began, "Finish": finished} {
				t.Run(name, func(t *testing.T) {
					slices.SortFunc(got, func(a, b base.Hit) int {
						if a.Before(b) {
							return -1
						}
						return 1
					})
					if !slices.Equal(got, want) {
						t.Fatalf("%s, %d lists: %s leaves something else: %s", x.name, upTo, name, difference(got, want))
					}
				})
			}
		}
	}
}

func hitsOf(q *traverse.Query, c *traverse.Candidates) []base.Hit {
	var hits []base.Hit
	for i, d := range c.DocIDs {
		hits = append(hits, base.Hit{DocID: q.Base + base.DocID(d), Score: base.Score(c.Scores[i])})
	}
	return hits
}

func TestStepsDoNotAllocate(t *testing.T) {
	x := withLegs(t, rand.New(rand.NewPCG(83, 1)), 4)
	queries := x.queries(t)
	order := []int{0, 1, 2, 3}
	first, next, last := part(&queries[0], order, 0, 2), part(&queries[0], order, 2, 3), part(&queries[0], order, 3, 4)
	var s traverse.Scratch
	var c traverse.Candidates
	var queue topk.Queue
	if n := testing.AllocsPerRun(5, func() {
		queue.Reset(100)
		err := errors.Join(
			traverse.Begin(t.Context(), &s, &first, &c),
			traverse.Intersect(t.Context(), &s, &next, &c),
			traverse.Finish(t.Context(), &s, &last, &c, &queue, false /* all */))
		if err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a query", n)
	}
}

// With a threshold, Finish scores fewer postings.
func TestFinishPrunes(t *testing.T) {
	rng := rand.New(rand.NewPCG(84, 1))
	for {
		x := withLegs(t, rng, 3)
		if len(x.oracle(traverse.And)) < 2000 {
			continue
		}
		queries := x.queries(t)
		order := []int{0, 1, 2}
		scored := map[bool]int64{}
		for _, all := range []bool{false, true} {
			var s traverse.Scratch
			inSteps(t, &s, queries, order, []int{1}, 10, all)
			scored[all] = s.Stats.PostingsScored
		}
		if scored[false] >= scored[true] {
			t.Errorf("%s: %d postings scored with pruning, %d without", x.name, scored[false], scored[true])
		}
		return
	}
}

func TestStepsRefuse(t *testing.T) {
	x := withLegs(t, rand.New(rand.NewPCG(85, 1)), 2)
	q := x.queries(t)[0]
	var s traverse.Scratch
	var queue topk.Queue
	queue.Reset(10)
	for name, c := range map[string]traverse.Candidates{
		"beyond the segment": {DocIDs: []uint32{uint32(q.NumDocs)}, Scores: []uint32{1}},
		"without scores":     {DocIDs: []uint32{0}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := traverse.Intersect(t.Context(), &s, &q, &c); !errors.Is(err, base.ErrCorrupt) {
				t.Errorf("Intersect of candidates %s: %v", name, err)
			}
			if err := traverse.Finish(t.Context(), &s, &q, &c, &queue, false /* all */); !errors.Is(err, base.ErrCorrupt) {
				t.Errorf("Finish of candidates %s: %v", name, err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	long := longQuery(t)
	var c traverse.Candidates
	if err := traverse.Begin(ctx, &s, &long, &c); !errors.Is(err, context.Canceled) {
		t.Errorf("Begin after the end of the context: %v", err)
	}
	c = traverse.Candidates{DocIDs: []uint32{1, 2}, Scores: []uint32{0, 0}}
	if err := traverse.Intersect(ctx, &s, &long, &c); !errors.Is(err, context.Canceled) {
		t.Errorf("Intersect after the end of the context: %v", err)
	}
	c = traverse.Candidates{DocIDs: []uint32{1, 2}, Scores: []uint32{0, 0}}
	if err := traverse.Finish(ctx, &s, &long, &c, &queue, false /* all */); !errors.Is(err, context.Canceled) {
		t.Errorf("Finish after the end of the context: %v", err)
	}
}

func longQuery(t testing.TB) traverse.Query {
	rng := rand.New(rand.NewPCG(86, 1))
	for {
		x := withLegs(t, rng, 2)
		for i, q := range x.queries(t) {
			if q.Legs[0].List.DocFreq > 100 && q.Legs[1].List.DocFreq > 100 {
				return part(&x.queries(t)[i], []int{0, 1}, 0, 2)
			}
		}
	}
}

// Steps compared with a traversal of all lists at once, by the ratio of lengths.
func BenchmarkSteps(b *testing.B) {
	rng := rand.New(rand.NewPCG(87, 1))
	for _, shorter := range []int{200, 2000, 20000} {
		x := pairCollection(b, rng, shorter, 20000)
		queries := x.queries(b)
		q := &queries[0]
		order := []int{0, 1}
		b.Run(fmt.Sprintf("shorter=%d/way=svs", shorter), func(b *testing.B) {
			var s traverse.Scratch
			var queue topk.Queue
			tr := traverse.Default(traverse.And)
			for b.Loop() {
				queue.Reset(1000)
				if err := tr.Run(b.Context(), &s, q, &queue); err != nil {
					b.Fatal(err)
				}
			}
		})
		first, last := part(q, order, 0, 1), part(q, order, 1, 2)
		b.Run(fmt.Sprintf("shorter=%d/way=steps", shorter), func(b *testing.B) {
			var s traverse.Scratch
			var queue topk.Queue
			var c traverse.Candidates
			for b.Loop() {
				queue.Reset(1000)
				if err := errors.Join(
					traverse.Begin(b.Context(), &s, &first, &c),
					traverse.Finish(b.Context(), &s, &last, &c, &queue, false /* all */)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func pairCollection(t testing.TB, rng *rand.Rand, shorter, longer int) *collection {
	for {
		x := withLegs(t, rng, 2)
		if len(x.terms) != 2 || len(x.segments) != 1 || x.linear {
			continue
		}
		if len(x.segments[0].lists[1]) < longer/2 || len(x.segments[0].lengths) < longer {
			continue
		}
		list := x.segments[0].lists[1]
		x.segments[0].lists[0] = slices.Clone(list[:min(shorter, len(list))])
		x.segments[0].live = nil
		x.write(t, codec.SIMDBP{})
		return x
	}
}
