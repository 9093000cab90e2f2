package saat

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/simd/simdtest"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type lists struct {
	index *impact.Index
	terms []string
	plain map[string][]impact.Posting
}

// Lists have all densities and impacts up to maxImpact.
func randomLists(t testing.TB, rng *rand.Rand, numDocs, n, maxImpact int, o impact.Options) *lists {
	t.Helper()
	fs := vfstest.NewMem()
	o.NumDocs, o.Ranking.Name = numDocs, impact.RankingExternal
	w, err := impact.Create(fs, "impacts", o)
	check(t, err)
	l := &lists{plain: map[string][]impact.Posting{}}
	for i := range n {
		term := fmt.Sprintf("%04d", i)
		gap, top := 1+rng.IntN(1<<rng.IntN(8)), 1+rng.IntN(maxImpact)
		var postings []impact.Posting
		for d := rng.IntN(gap); d < numDocs; d += 1 + rng.IntN(gap) {
			postings = append(postings, impact.Posting{DocID: base.DocID(d), Impact: uint8(1 + rng.IntN(top))})
		}
		check(t, w.Add([]byte(term), postings))
		l.terms = append(l.terms, term)
		l.plain[term] = postings
	}
	check(t, w.Close())
	l.index, err = impact.Open(fs, "impacts")
	check(t, err)
	t.Cleanup(func() { check(t, l.index.Close()) })
	return l
}

func (l *lists) query(t testing.TB, k int, weights map[string]uint32) *Query {
	t.Helper()
	q := &Query{Index: l.index, K: k}
	for _, term := range l.terms {
		if w := weights[term]; w > 0 {
			found := Term{Weight: w}
			ok, err := l.index.Find([]byte(term), &found.List)
			check(t, err)
			if ok {
				q.Terms = append(q.Terms, found)
			}
		}
	}
	return q
}

func (l *lists) oracle(k int, weights map[string]uint32) []base.Hit {
	sums := map[base.DocID]base.Score{}
	for term, w := range weights {
		for _, p := range l.plain[term] {
			sums[p.DocID] += base.Score(w) * base.Score(p.Impact)
		}
	}
	return best(sums, k)
}

func best(sums map[base.DocID]base.Score, k int) []base.Hit {
	hits := make([]base.Hit, 0, len(sums))
	for d, s := range sums {
		hits = append(hits, base.Hit{DocID: d, Score: s})
	}
	slices.SortFunc(hits, func(a, b base.Hit) int {
		if a.Before(b) {
			return -1
		}
		return 1
	})
	return hits[:min(k, len(hits))]
}

func randomWeights(rng *rand.Rand, l *lists, maxWeight uint32) map[string]uint32 {
	weights := map[string]uint32{}
	for range 1 + rng.IntN(6) {
		weights[l.terms[rng.IntN(len(l.terms))]] = 1 + rng.Uint32N(maxWeight)
	}
	return weights
}

func variants() []Variant {
	var out []Variant
	for _, name := range Accumulators() {
		v := Variant{Accumulators: name}
		if !v.heaped() {
			out = append(out, v)
			continue
		}
		for heap := 1; heap <= 2; heap++ {
			for _, outlined := range []bool{false, true} {
				for _, counted := range []bool{false, true} {
					out = append(out, Variant{Accumulators: name, Heap: heap, Outlined: outlined, Counted: counted})
				}
			}
		}
	}
	return out
}

// Small windows: small collections have several.
func newEngine(t testing.TB, v Variant) *Engine {
	t.Helper()
	e, err := New(v)
	check(t, err)
	e.windowBytes = 1024
	return e
}

// Each collection has a random codec, form, k and weights (hence widths).
func TestAllVariants(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	engines := map[string]*Engine{}
	for _, v := range variants() {
		engines[v.String()] = newEngine(t, v)
	}
	codecs := codec.Names()
	for round := range 3 * len(codecs) {
		o := impact.Options{Codec: codecs[round%len(codecs)]}
		switch rng.IntN(3) {
		case 0:
			o.RawBelow, o.BitmapBits = -1, -1
		case 1:
			o.BitmapBits = 200
		}
		l := randomLists(t, rng, 1+rng.IntN(9000), 8, 1+rng.IntN(255), o)
		for range 4 {
			weights := randomWeights(rng, l, []uint32{1, 3, 40, 100000}[rng.IntN(4)])
			k := []int{0, 1, 2, 10, 100, 20000}[rng.IntN(6)]
			q, want := l.query(t, k, weights), l.oracle(k, weights)
			for name, e := range engines {
				r, err := e.Search(t.Context(), q, nil)
				if err != nil {
					t.Fatalf("round %d, %s: %v", round, name, err)
				}
				if !slices.Equal(r.Hits, want) {
					t.Fatalf("round %d, %s, codec %s, k=%d, weights %v:\n got %v\nwant %v", round, name, o.Codec, k, weights, r.Hits, want)
				}
				if !r.Complete || r.Missed != 0 || r.PostingsLeft != 0 {
					t.Fatalf("%s: not complete: %+v", name, r.Stats)
				}
			}
		}
	}
}

// Weights need each width of accumulators.
func TestLevelsAndWidths(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(12, 2))
		l := randomLists(t, rng, 5000, 8, 60, impact.Options{})
		for _, accumulators := range []string{Windowed, Flat} {
			e := newEngine(t, Variant{Accumulators: accumulators})
			for _, maxWeight := range []uint32{1, 100, 100000} {
				widths := map[int]bool{}
				for range 10 {
					weights := randomWeights(rng, l, maxWeight)
					k := []int{1, 10, 1000}[rng.IntN(3)]
					r, err := e.Search(t.Context(), l.query(t, k, weights), nil)
					check(t, err)
					if want := l.oracle(k, weights); !slices.Equal(r.Hits, want) {
						t.Fatalf("%s, k=%d, weights %v, %d bits: got %v, want %v", accumulators, k, weights, r.Width, r.Hits, want)
					}
					widths[r.Width] = true
				}
				if want := map[uint32]int{1: 8, 100: 16, 100000: 32}[maxWeight]; !widths[want] {
					t.Errorf("weights up to %d: widths %v, want %d among them", maxWeight, widths, want)
				}
			}
		}
	})
}

// A bound of 255 takes 8 bits, of 256 takes 16.
func TestWidthIsTheNarrowestThatHolds(t *testing.T) {
	fs := vfstest.NewMem()
	w, err := impact.Create(fs, "impacts", impact.Options{NumDocs: 100, Ranking: impact.Ranking{Name: impact.RankingExternal}})
	check(t, err)
	check(t, w.Add([]byte("a"), []impact.Posting{{DocID: 1, Impact: 255}, {DocID: 7, Impact: 3}}))
	check(t, w.Add([]byte("b"), []impact.Posting{{DocID: 1, Impact: 1}}))
	check(t, w.Close())
	x, err := impact.Open(fs, "impacts")
	check(t, err)
	defer x.Close()
	for _, c := range []struct {
		a, b  uint32
		width int
		score base.Score
	}{
		{1, 0, 8, 255},
		{1, 1, 16, 256},
		{256, 255, 16, 65535},
		{256, 256, 32, 65536},
		{1 << 24, 0, 32, 255 << 24},
	} {
		q := &Query{Index: x, K: 1}
		for term, weight := range map[string]uint32{"a": c.a, "b": c.b} {
			t.Run(term, func(t *testing.T) {
				if weight == 0 {
					return
				}
				tm := Term{Weight: weight}
				_, err := x.Find([]byte(term), &tm.List)
				check(t, err)
				q.Terms = append(q.Terms, tm)
			})
		}
		for _, accumulators := range Accumulators() {
			e := newEngine(t, Variant{Accumulators: accumulators})
			r, err := e.Search(t.Context(), q, nil)
			check(t, err)
			width := c.width
			if e.heaped != nil {
				width = max(width, 16)
			}
			if want := (base.Hit{DocID: 1, Score: c.score}); r.Width != width || !slices.Equal(r.Hits, []base.Hit{want}) {
				t.Errorf("%s, weights %d, %d: %d bits, %v; want %d bits, %v", accumulators, c.a, c.b, r.Width, r.Hits, width, want)
			}
		}
	}
	tooMuch := Term{Weight: 1 << 31}
	_, err = x.Find([]byte("a"), &tooMuch.List)
	check(t, err)
	if _, err := newEngine(t, Variant{}).Search(t.Context(), &Query{Index: x, K: 1, Terms: []Term{tooMuch}}, nil); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("scores past 32 bits: %v", err)
	}
}

// Segments within rho postings.
func (l *lists) partial(t testing.TB, q *Query, weights map[string]uint32, rho int64) (sums map[base.DocID]base.Score) {
	t.Helper()
	type piece struct {
		score  uint32
		term   int
		docIDs []base.DocID
	}
	var pieces []piece
	for i := range q.Terms {
		segments, err := q.Terms[i].List.AppendSegments(nil)
		check(t, err)
		for j := range segments {
			docIDs, err := l.index.AppendDocIDs(nil, &segments[j])
			check(t, err)
			pieces = append(pieces, piece{q.Terms[i].Weight * uint32(segments[j].Impact), i, docIDs})
		}
	}
	slices.SortStableFunc(pieces, func(a, b piece) int { return int(b.score) - int(a.score) })
	sums = map[base.DocID]base.Score{}
	for _, p := range pieces {
		if rho -= int64(len(p.docIDs)); rho < 0 {
			break
		}
		for _, d := range p.docIDs {
			sums[d] += base.Score(p.score)
		}
	}
	return sums
}

func TestBudget(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 3))
	l := randomLists(t, rng, 4000, 8, 30, impact.Options{})
	for _, v := range variants() {
		e := newEngine(t, v)
		for range 12 {
			weights := randomWeights(rng, l, 2)
			q := l.query(t, 10, weights)
			total := int64(0)
			for _, term := range q.Terms {
				total += int64(term.List.DocFreq)
			}
			q.Postings = 1 + rng.Int64N(total+total/4)
			r, err := e.Search(t.Context(), q, nil)
			check(t, err)
			sums := l.partial(t, q, weights, q.Postings)
			if want := best(sums, 10); !slices.Equal(r.Hits, want) {
				t.Fatalf("%v, rho %d of %d: got %v, want %v", v, q.Postings, total, r.Hits, want)
			}
			if r.Postings > q.Postings || r.Postings+r.PostingsLeft != total || r.Complete != (r.PostingsLeft == 0) {
				t.Fatalf("%v, rho %d of %d: %+v", v, q.Postings, total, r)
			}
			worst := base.Score(0)
			for _, h := range l.oracle(4000, weights) {
				worst = max(worst, h.Score-sums[h.DocID])
			}
			if worst > r.Missed || r.Complete && r.Missed != 0 {
				t.Fatalf("%v, rho %d of %d: missed %d, want at most %d", v, q.Postings, total, worst, r.Missed)
			}
		}
	}
}

func TestBudgetOfTime(t *testing.T) {
	l := randomLists(t, rand.New(rand.NewPCG(14, 4)), 4000, 8, 30, impact.Options{})
	weights := map[string]uint32{"0001": 1, "0002": 1}
	for _, v := range []Variant{{}, {Accumulators: Array}} {
		e := newEngine(t, v)
		q := l.query(t, 10, weights)
		q.Time = time.Nanosecond
		r, err := e.Search(t.Context(), q, nil)
		check(t, err)
		if r.Complete || r.Missed == 0 {
			t.Errorf("%v: complete in a nanosecond", v)
		}
		q.Time = time.Hour
		r, err = e.Search(t.Context(), q, nil)
		check(t, err)
		if want := l.oracle(10, weights); !r.Complete || !slices.Equal(r.Hits, want) {
			t.Errorf("%v: not complete in an hour", v)
		}
	}
}

// Top k is a prefix of top k+1.
func TestPrefix(t *testing.T) {
	l := randomLists(t, rand.New(rand.NewPCG(15, 5)), 3000, 8, 4, impact.Options{})
	weights := map[string]uint32{"0000": 1, "0003": 2, "0005": 1}
	for _, v := range variants() {
		e := newEngine(t, v)
		var before []base.Hit
		for k := 1; k < 60; k++ {
			r, err := e.Search(t.Context(), l.query(t, k, weights), nil)
			check(t, err)
			if !slices.Equal(r.Hits[:min(len(before), len(r.Hits))], before) {
				t.Fatalf("%v: top %d does not begin with top %d", v, k, k-1)
			}
			before = r.Hits
		}
	}
}

func TestCounters(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 6))
	l := randomLists(t, rng, 4000, 8, 20, impact.Options{})
	for _, name := range []string{Dynamic, Array, Paged, PagedArray} {
		e1 := newEngine(t, Variant{Accumulators: name, Heap: 1, Counted: true})
		e2 := newEngine(t, Variant{Accumulators: name, Heap: 2, Counted: true})
		postings := uint64(0)
		for range 20 {
			q := l.query(t, 10, randomWeights(rng, l, 2))
			r, err := e1.Search(t.Context(), q, nil)
			check(t, err)
			_, err = e2.Search(t.Context(), q, nil)
			check(t, err)
			postings += uint64(r.Postings)
		}
		c1, c2 := e1.Counters(), e2.Counters()
		// Only the comparisons of the algorithms differ.
		if c1 != c2 {
			t.Errorf("%s: Algorithm 1 counts %+v, Algorithm 2 %+v", name, c1, c2)
		}
		if sum := c1.Filled + c1.FilledBefore + c1.Updated + c1.Inserted + c1.Tied + c1.Below; sum != postings || c1.Below == 0 || c1.Inserted == 0 || c1.Updated == 0 {
			t.Errorf("%s: %+v of %d postings", name, c1, postings)
		}
		plain := newEngine(t, Variant{Accumulators: name})
		_, err := plain.Search(t.Context(), l.query(t, 10, map[string]uint32{"0001": 1}), nil)
		check(t, err)
		if plain.Counters() != (Counters{}) {
			t.Errorf("%s counts without being asked", name)
		}
	}
}

func TestSearchDoesNotAllocate(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 7))
	l := randomLists(t, rng, 4000, 8, 30, impact.Options{})
	q := l.query(t, 100, map[string]uint32{"0000": 1, "0002": 3, "0004": 1, "0007": 1})
	limited := *q
	limited.Postings = 1000
	for _, v := range variants() {
		e := newEngine(t, v)
		hits := make([]base.Hit, 0, 100)
		if n := testing.AllocsPerRun(10, func() {
			for _, q := range []*Query{q, &limited} {
				if _, err := e.Search(t.Context(), q, hits); err != nil {
					t.Fatal(err)
				}
			}
		}); n > 0 {
			t.Errorf("%v: %v allocations", v, n)
		}
	}
}

type endingContext struct {
	context.Context
	left int
}

func (c *endingContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// A failed query does not affect the next.
func TestSearchAfterFailure(t *testing.T) {
	rng := rand.New(rand.NewPCG(18, 8))
	l := randomLists(t, rng, 4000, 8, 30, impact.Options{})
	for _, v := range variants() {
		e := newEngine(t, v)
		for left := range 5 {
			weights := randomWeights(rng, l, 2)
			if _, err := e.Search(&endingContext{t.Context(), left}, l.query(t, 10, weights), nil); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			weights = randomWeights(rng, l, 2)
			r, err := e.Search(t.Context(), l.query(t, 10, weights), nil)
			check(t, err)
			if want := l.oracle(10, weights); !slices.Equal(r.Hits, want) {
				t.Fatalf("%v: after a failure: got %v, want %v", v, r.Hits, want)
			}
		}
	}
}

func TestSearchRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 9))
	l := randomLists(t, rng, 100, 2, 30, impact.Options{})
	if _, err := newEngine(t, Variant{}).Search(t.Context(), &Query{Index: l.index, K: -1}, nil); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("k=-1: %v", err)
	}
	fs := vfstest.NewMem()
	w, err := impact.Create(fs, "impacts", impact.Options{NumDocs: MaxStaticDocs, Ranking: impact.Ranking{Name: impact.RankingExternal}})
	check(t, err)
	check(t, w.Add([]byte("a"), []impact.Posting{{DocID: 5, Impact: 1}}))
	check(t, w.Close())
	x, err := impact.Open(fs, "impacts")
	check(t, err)
	defer x.Close()
	q := &Query{Index: x, K: 3, Terms: []Term{{Weight: 1}}}
	_, err = x.Find([]byte("a"), &q.Terms[0].List)
	check(t, err)
	for _, name := range []string{Array, PagedArray} {
		if _, err := newEngine(t, Variant{Accumulators: name}).Search(t.Context(), q, nil); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNewQuery(t *testing.T) {
	l := randomLists(t, rand.New(rand.NewPCG(20, 1)), 500, 4, 30, impact.Options{})
	q, err := NewQuery(l.index, []string{"0001", "none", "0000", "0001"}, 7)
	check(t, err)
	if q.K != 7 || len(q.Terms) != 2 || q.Terms[0].Weight != 2 || q.Terms[1].Weight != 1 {
		t.Fatalf("%+v", q)
	}
	r, err := newEngine(t, Variant{}).Search(t.Context(), &q, nil)
	check(t, err)
	if want := l.oracle(7, map[string]uint32{"0001": 2, "0000": 1}); !slices.Equal(r.Hits, want) {
		t.Errorf("got %v, want %v", r.Hits, want)
	}
}

func TestPageSize(t *testing.T) {
	// Jia, Trotman and O'Keefe's page size for .GOV2 is 4096.
	for numDocs, want := range map[int]uint32{1: 0, 3: 0, 4: 1, 15: 1, 16: 2, 750000: 9, 25205179: 12} {
		if got := pageShift(numDocs); got != want {
			t.Errorf("%d documents: pages of 2^%d, want 2^%d", numDocs, got, want)
		}
	}
	if pages := (MaxStaticDocs-1)>>pageShift(MaxStaticDocs-1) + 1; pages > maxStaticPages {
		t.Errorf("%d pages", pages)
	}
}

func TestVariantText(t *testing.T) {
	for _, v := range variants() {
		got, err := ParseVariant(v.String())
		if err != nil || got != v {
			t.Errorf("%+v becomes %q, which is read as %+v, %v", v, v.String(), got, err)
		}
	}
	for _, text := range []string{"none", "array:", "array:heap=3", "array:heap", "windowed:heap=1", "flat:counted", ":heap=1"} {
		if _, err := ParseVariant(text); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if v, err := ParseVariant(""); err != nil || v.Accumulators != Windowed {
		t.Errorf("the default is %+v, %v", v, err)
	}
	if _, err := New(Variant{Accumulators: Array, Heap: 7}); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("heap 7: %v", err)
	}
}
