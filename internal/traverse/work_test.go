package traverse_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/postings/postingstest"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

// Golden files of exact Stats find changes that leave the hits unchanged but disable a way to
// skip work, or miscount it.
func checkGolden(t *testing.T, path string, got []string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(strings.Join(got, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d; go test ./internal/traverse -run %s -update writes them", len(got), len(want), t.Name())
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("got  %s\nwant %s", got[i], want[i])
		}
	}
}

const workColumns = "blocks decoded, skipped; postings decoded, scored; candidates"

func workOf(s *traverse.Scratch) string {
	st := &s.Stats
	return fmt.Sprintf("%d %d; %d %d; %d", st.BlocksDecoded, st.BlocksSkipped, st.PostingsDecoded, st.PostingsScored, st.Candidates)
}

// multiples has every step-th document; frequencies are 1, but high in every period-th run of
// DocIDs.
func multiples(numDocs, step, run, period int, high uint32) []postingstest.Posting {
	return listOf(0, step, (numDocs+step-1)/step, func(i int) uint32 {
		if i*step/run%period == 0 {
			return high + uint32(i%7)
		}
		return 1
	})
}

// Block bounds differ much, and all lists meet often.
func burstCollections(t testing.TB) []*collection {
	const numDocs = 30000
	rng := rand.New(rand.NewPCG(91, 1))
	twelve, rare := multiples(numDocs, 7, 900, 5, 30), multiples(numDocs, 294, 4000, 2, 9)
	third, half := multiples(numDocs, 3, 2000, 3, 20), multiples(numDocs, 2, 700, 2, 12)
	none := []postingstest.Posting{}
	all := []*collection{
		named("three lists", oneSegment(numDocs, []float64{4, 2, 1}, twelve, third, half)),
		named("a short list", oneSegment(numDocs, []float64{2, 2, 1}, rare, third, half)),
		named("one list", oneSegment(numDocs, []float64{2}, third)),
		named("a heavy long list", oneSegment(numDocs, []float64{1, 2, 3}, twelve, third, half)),
		named("an empty list", oneSegment(numDocs, []float64{2, 0.8, 2}, third, none, half)),
	}
	two := named("two segments with deletions", oneSegment(numDocs, []float64{2, 2, 1}, twelve, third, half))
	two.segments = append(two.segments, two.segments[0])
	clustered := named("clusters", oneSegment(numDocs, []float64{3, 2, 1}))
	for _, n := range []int{3000, 6000, 9000} {
		clustered.segments[0].lists = append(clustered.segments[0].lists, postingstest.RandomList(rng, postingstest.Clustered, n, numDocs, false))
	}
	equal := named("equal bounds", oneSegment(numDocs, []float64{1, 1, 1}))
	equal.linear = true
	for i := range equal.terms {
		equal.terms[i] = equal.term(1)
	}
	equal.segments[0].lists = [][]postingstest.Posting{
		multiples(numDocs, 50, 1000, 2, 20), multiples(numDocs, 5, 900, 9, 20), multiples(numDocs, 9, 5000, 3, 20),
	}
	islands := named("islands", oneSegment(numDocs, []float64{2, 3, 1}))
	for i := range 3 {
		var list []postingstest.Posting
		for at := rng.IntN(300); at+codec.BlockLen <= numDocs; at += codec.BlockLen + rng.IntN(200*(3-i)) {
			list = append(list, listOf(at, 1, codec.BlockLen, always(1+rng.Uint32N(9)))...)
		}
		islands.segments[0].lists = append(islands.segments[0].lists, list)
	}
	// In the first list's second and third block, the second list ends before the third begins: before
	// the block's last document, and in it.
	const block = codec.BlockLen
	apart := named("lists apart", oneSegment(numDocs, []float64{3, 0.5, 3},
		slices.Concat(listOf(0, 1, block, always(1)), listOf(1000, 3, block, always(50)), listOf(2000, 3, block, always(50))),
		slices.Concat(listOf(0, 1, block, always(1)), listOf(1050, 1, block, always(1)), listOf(2050, 1, 2*block, always(1))),
		slices.Concat(listOf(0, 1, block, always(1)), listOf(1200, 1, block, always(50)), listOf(2000+3*(block-1), 1, 3*block, always(50)))))
	all = append(all, two, clustered, equal, islands, apart)
	for _, x := range all {
		for i := range x.segments {
			s := &x.segments[i]
			s.lengths = make([]uint32, numDocs)
			for d := range s.lengths {
				s.lengths[d] = 45 + rng.Uint32N(10)
			}
			if x == two {
				s.live = make([]uint64, (numDocs+63)/64)
				for j := range s.live {
					s.live[j] = rng.Uint64()
					s.live[j] |= rng.Uint64()
				}
			}
		}
		x.write(t, codec.SIMDBP{})
	}
	return all
}

func named(name string, x *collection) *collection {
	x.name = name
	return x
}

// TestPruningExact runs each way to prune, with and without a threshold.
func TestPruningExact(t *testing.T) {
	got := []string{workColumns}
	for _, x := range burstCollections(t) {
		queries := x.queries(t)
		for i := range queries {
			for j := range queries[i].Legs {
				if l := &queries[i].Legs[j]; l.List.DocFreq == 0 {
					l.MaxScore = l.Scale.Upper(1 << 14)
				}
			}
		}
		copied := slices.Clone(queries)
		for i := range queries {
			queries[i].Legs = slices.Clone(queries[i].Legs)
			for j := range queries[i].Legs {
				queries[i].Legs[j].Derived = derived.List{}
			}
		}
		oracles := map[traverse.Mode][]base.Hit{traverse.Or: x.oracle(traverse.Or), traverse.And: x.oracle(traverse.And)}
		for _, tr := range allTraversals(t) {
			if !prunes(tr) {
				continue
			}
			found := oracles[tr.Mode()]
			for _, k := range []int{1, 20, 1000} {
				if k == 1000 && tr.Name() != "block-max-maxscore" {
					continue
				}
				want := found[:min(k, len(found))]
				line := fmt.Sprintf("%s, %s %s k=%d:", x.name, tr.Mode(), tr.Name(), k)
				for _, given := range [][]traverse.Query{queries, withThreshold(queries, want), copied} {
					if &given[0] == &copied[0] && tr.Name() != "block-max-pruning" {
						continue
					}
					var s traverse.Scratch
					if hits := run(t, tr, &s, given, k); !slices.Equal(hits, want) {
						t.Fatalf("%s: %s", line, difference(hits, want))
					}
					line += " (" + workOf(&s) + ")"
				}
				got = append(got, line)
			}
		}
	}
	checkGolden(t, "testdata/pruning.txt", got)
}

func prunes(tr traverse.Traversal) bool {
	switch tr.Name() {
	case "block-max-maxscore", "block-max-pruning", "block-max-wand", "variable-block-max-wand", "maxscore", "wand",
		"svs", "block-max-and", "look-up":
		return true
	}
	return false
}

func withThreshold(queries []traverse.Query, hits []base.Hit) []traverse.Query {
	with := slices.Clone(queries)
	for i := range with {
		if len(hits) > 0 {
			with[i].Threshold = hits[len(hits)-1].Score
		}
	}
	return with
}

// TestStepsExact cuts conjunctions at different places.
func TestStepsExact(t *testing.T) {
	got := []string{workColumns + ", after each step"}
	for _, x := range burstCollections(t) {
		queries := x.queries(t)
		order := make([]int, len(x.terms))
		for i := range order {
			order[i] = i
		}
		for _, cuts := range [][]int{{1}, {2}, {1, 2}, {3}} {
			if cuts[len(cuts)-1] > len(order) {
				continue
			}
			for _, all := range []bool{false, true} {
				got = append(got, stepLine(t, x, queries, order, cuts, all))
			}
		}
	}
	checkGolden(t, "testdata/steps.txt", got)
}

func stepLine(t *testing.T, x *collection, queries []traverse.Query, order, cuts []int, all bool) string {
	const k = 20
	line := fmt.Sprintf("%s, cuts %v all=%t:", x.name, cuts, all)
	want := x.oracle(traverse.And)
	want = want[:min(k, len(want))]
	if !all {
		queries = withThreshold(queries, want)
	}
	var s traverse.Scratch
	var c traverse.Candidates
	var queue topk.Queue
	queue.Reset(k)
	for i := range queries {
		from := 0
		for n, to := range cuts {
			q := part(&queries[i], order, from, to)
			step := traverse.Intersect
			if n == 0 {
				step = traverse.Begin
			}
			if err := step(t.Context(), &s, &q, &c); err != nil {
				t.Fatal(err)
			}
			line += " (" + workOf(&s) + ")"
			from = to
		}
		q := part(&queries[i], order, from, len(order))
		q.Threshold = queries[i].Threshold
		if err := traverse.Finish(t.Context(), &s, &q, &c, &queue, all); err != nil {
			t.Fatal(err)
		}
		line += " (" + workOf(&s) + ")"
	}
	if hits := queue.AppendSorted(nil); !slices.Equal(hits, want) {
		t.Fatalf("%s: %s", line, difference(hits, want))
	}
	return line
}

// TestContractedExact combines codecs, some of which decode single DocIDs, with ways to contract
// ranges.
func TestContractedExact(t *testing.T) {
	got := []string{workColumns + "; derived structures"}
	const numDocs = 12000
	rng := rand.New(rand.NewPCG(92, 1))
	x := oneSegment(
		numDocs, []float64{3, 2, 1, 1},
		append(listOf(0, 41, 290, always(2)), postingstest.Posting{DocID: numDocs - 1, Freq: 1}),
		postingstest.RandomList(rng, postingstest.Clustered, 3000, numDocs-100, false),
		postingstest.RandomList(rng, postingstest.Uniform, 6000, numDocs, false),
		postingstest.RandomList(rng, postingstest.Dense, 9000, numDocs-500, false))
	for _, spec := range []string{"simdbp", "raw", "lrc", "lrcseg", "seglrc", "hs-lrc", "hs-lrc:bucket=16"} {
		c, err := codec.Lookup(spec)
		if err != nil {
			t.Fatal(err)
		}
		x.write(t, c)
		queries := x.queries(t)
		for _, name := range []string{"interpolation", "linear-regression", "hash-segmentation-16", "hash-segmentation-256"} {
			tr, err := traverse.Lookup(traverse.And, name)
			if err != nil {
				t.Fatal(err)
			}
			var s traverse.Scratch
			kept := keep(queries[0].Legs, derived.DefaultLimit)
			if hits, want := run(t, tr, &s, queries, 1000), x.oracle(traverse.And); !slices.Equal(hits, want) {
				t.Fatalf("%s, %s: %s", spec, name, difference(hits, want))
			}
			got = append(got, fmt.Sprintf("%s, %s: (%s; %d)", spec, name, workOf(&s), kept.Stats().Entries))
		}
	}
	checkGolden(t, "testdata/contracted.txt", got)
}
