package reorder

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sampletest"
)

// Shuffled documents of several topics, each with its own vocabulary and a shared one.
func clustered(seed uint64, topics, docsPerTopic int) *Forward {
	rng := rand.New(rand.NewPCG(seed, 1))
	const own, shared = 60, 200
	n := topics * docsPerTopic
	docs := make([][]uint32, n)
	for i := range docs {
		topic := i / docsPerTopic
		seen := map[uint32]bool{}
		for range 15 {
			seen[uint32(shared+topic*own+rng.IntN(own))] = true
		}
		for range 10 {
			seen[uint32(rng.IntN(shared))] = true
		}
		for t := range seen {
			docs[i] = append(docs[i], t)
		}
		slices.Sort(docs[i])
	}
	rng.Shuffle(n, func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
	return forward(docs, shared+topics*own)
}

func forward(docs [][]uint32, numTerms int) *Forward {
	f := &Forward{Offsets: []uint64{0}, NumTerms: numTerms}
	for _, d := range docs {
		f.Terms = append(f.Terms, d...)
		f.Offsets = append(f.Offsets, uint64(len(f.Terms)))
	}
	return f
}

func checkPermutation(t *testing.T, order []base.DocID, n int) {
	t.Helper()
	sorted := slices.Sorted(slices.Values(order))
	if len(sorted) != n {
		t.Fatalf("%d documents in the order, want %d", len(sorted), n)
	}
	for i, d := range sorted {
		if int(d) != i {
			t.Fatalf("not a permutation: sorted[%d] = %d", i, d)
		}
	}
}

func TestBisectFindsClusters(t *testing.T) {
	f := clustered(7, 32, 128)
	order, err := Bisect(t.Context(), f, Options{})
	if err != nil {
		t.Fatal(err)
	}
	checkPermutation(t, order, f.NumDocs())
	before, after := logGapCost(f, nil), logGapCost(f, order)
	t.Logf("log gap cost: shuffled %.3f, bisected %.3f bits a posting", before, after)
	if after > 0.7*before {
		t.Errorf("cost fell from %.3f to %.3f bits only", before, after)
	}
}

func TestBisectSameForAnyThreads(t *testing.T) {
	f := clustered(3, 80, 130) // large enough for parallelism within a node
	want, err := Bisect(t.Context(), f, Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, threads := range sampletest.UnderRace([]int{2, 3, 8}, []int{8}) {
		got, err := Bisect(t.Context(), f, Options{Threads: threads})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d threads give a different order than one", threads)
		}
	}
}

func TestBisectSmallAndEmpty(t *testing.T) {
	for n := range 70 {
		docs := make([][]uint32, n)
		for i := range docs {
			if i%3 != 0 { // some documents have no terms
				docs[i] = []uint32{uint32(i % 5)}
			}
		}
		order, err := Bisect(t.Context(), forward(docs, 5), Options{LeafSize: 2})
		if err != nil {
			t.Fatalf("%d documents: %v", n, err)
		}
		checkPermutation(t, order, n)
	}
}

// Rounds maintain the halves' degrees and do not increase the cost.
func TestRoundAgainstDirectCost(t *testing.T) {
	f := clustered(11, 8, 64)
	n := f.NumDocs()
	b := &bisection{ctx: t.Context(), f: f, opts: Options{MaxRounds: 20, LeafSize: 16}}
	docs := make([]base.DocID, n)
	for i := range docs {
		docs[i] = base.DocID(i)
	}
	gain, s := make([]float32, n), newScratch(f)
	half := n / 2
	b.count(docs, half, s)
	first := partitionCost(f, docs, half)
	for round := range 20 {
		pairs := b.round(docs, gain, half, s, 1)
		for term := range f.NumTerms {
			left, right := degrees(f, docs, half, uint32(term))
			if s.terms[term].left != left || s.terms[term].right != right {
				t.Fatalf("round %d: term %d has degrees %d,%d, want %d,%d", round, term,
					s.terms[term].left, s.terms[term].right, left, right)
			}
		}
		if pairs == 0 {
			break
		}
	}
	if last := partitionCost(f, docs, half); last >= first {
		t.Errorf("partition cost went from %.0f to %.0f", first, last)
	}
}

func degrees(f *Forward, docs []base.DocID, half int, term uint32) (left, right uint32) {
	for i, d := range docs {
		if slices.Contains(f.Doc(uint32(d)), term) {
			if i < half {
				left++
			} else {
				right++
			}
		}
	}
	return left, right
}

func partitionCost(f *Forward, docs []base.DocID, half int) (bits float64) {
	for term := range f.NumTerms {
		l, r := degrees(f, docs, half, uint32(term))
		bits += float64(cost(l, log2(uint32(half))) + cost(r, log2(uint32(len(docs)-half))))
	}
	return bits
}

func TestCostWorkedNumber(t *testing.T) {
	if got := cost(3, log2(16)); got != 6 {
		t.Errorf("cost(3 of 16) = %v, want 6", got)
	}
}

func TestTermGainsAreCostDifferences(t *testing.T) {
	const nLeft, nRight = 700, 701
	ll, lr := log2(nLeft), log2(nRight)
	for left := uint32(0); left < 40; left += 3 {
		for right := uint32(0); right < 40; right += 5 {
			g := termGains(left, right, ll, lr)
			now := cost(left, ll) + cost(right, lr)
			if left > 0 {
				if want := now - (cost(left-1, ll) + cost(right+1, lr)); math.Abs(float64(g.toRight-want)) > 1e-3 {
					t.Errorf("%d,%d: toRight %v, want %v", left, right, g.toRight, want)
				}
			} else if g.toRight != 0 {
				t.Errorf("%d,%d: toRight %v, want 0", left, right, g.toRight)
			}
			if right > 0 {
				if want := now - (cost(left+1, ll) + cost(right-1, lr)); math.Abs(float64(g.toLeft-want)) > 1e-3 {
					t.Errorf("%d,%d: toLeft %v, want %v", left, right, g.toLeft, want)
				}
			}
		}
	}
}

func TestSortableKeepsOrder(t *testing.T) {
	values := []float32{float32(math.Inf(-1)), -1e9, -2, -1e-30, 0, 1e-30, 0.5, 3, 1e20, float32(math.Inf(1))}
	for i := 1; i < len(values); i++ {
		if sortable(values[i-1]) >= sortable(values[i]) {
			t.Errorf("%v does not sort before %v", values[i-1], values[i])
		}
	}
}

func TestValidate(t *testing.T) {
	for name, f := range map[string]*Forward{
		"no offsets":    {},
		"falling":       {Offsets: []uint64{0, 2, 1, 2}, Terms: []uint32{0, 0}, NumTerms: 1},
		"not spanning":  {Offsets: []uint64{0, 1}, Terms: []uint32{0, 0}, NumTerms: 1},
		"term too high": {Offsets: []uint64{0, 1}, Terms: []uint32{4}, NumTerms: 4},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Bisect(t.Context(), f, Options{}); !errors.Is(err, base.ErrBadInput) {
				t.Errorf("%s: error %v, want ErrBadInput", name, err)
			}
		})
	}
}

func TestBisectCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Bisect(ctx, clustered(1, 8, 64), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestProgressEndsAtTotal(t *testing.T) {
	var done, total int64
	f := forward(make([][]uint32, 1024), 1)
	_, err := Bisect(t.Context(), f, Options{Threads: 1, Progress: func(d, n int64) { done, total = d, n }})
	if err != nil || done != total || total == 0 {
		t.Errorf("progress ended at %d of %d (%v)", done, total, err)
	}
}

func BenchmarkBisect(b *testing.B) {
	for _, topics := range []int{64, 256} {
		f := clustered(5, topics, 128)
		b.Run(fmt.Sprintf("docs=%d/postings=%d", f.NumDocs(), len(f.Terms)), func(b *testing.B) {
			for b.Loop() {
				if _, err := Bisect(b.Context(), f, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(f.Terms)*b.N)/b.Elapsed().Seconds()/1e6, "Mpostings/s")
		})
	}
}

// The algorithm's objective, in bits per posting: the mean of log2(gap). A list's first posting
// counts from -1. nil is the natural order.
func logGapCost(f *Forward, order []base.DocID) float64 {
	last := make([]int64, f.NumTerms)
	for i := range last {
		last[i] = -1
	}
	var sum float64
	for i := range f.NumDocs() {
		doc := uint32(i)
		if order != nil {
			doc = uint32(order[i])
		}
		for _, t := range f.Doc(doc) {
			sum += math.Log2(float64(int64(i) - last[t]))
			last[t] = int64(i)
		}
	}
	return sum / float64(max(len(f.Terms), 1))
}
