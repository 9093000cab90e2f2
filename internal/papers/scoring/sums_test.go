package scoring_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/papers/scoring"
	"github.com/griffin-search/griffin/internal/score"
)

type query struct {
	lengths []uint32
	lists   []postings
}

func randomQuery(rng *rand.Rand, numDocs int) query {
	q := query{lengths: randomLengths(rng, numDocs)}
	for range 1 + rng.IntN(4) {
		q.lists = append(q.lists, randomList(rng, 1+rng.IntN(numDocs), numDocs))
	}
	return q
}

func (q *query) wide() []uint64 {
	sums := make([]uint64, len(q.lengths))
	for i := range q.lists {
		l := &q.lists[i]
		for j, d := range l.docIDs {
			sums[d] += scoring.WideSum(l.term.Score(l.freqs[j], q.lengths[d]), 1)
		}
	}
	return sums
}

// Modulo 2^32, as in narrow accumulators.
func narrow(wide []uint64) []uint32 {
	sums := make([]uint32, len(wide))
	for i, w := range wide {
		s, _ := scoring.SplitWide(w)
		sums[i] = uint32(s)
	}
	return sums
}

// The documents common to all lists, and the indexes of their postings in each.
func (q *query) intersection() (docIDs []uint32, of [][]uint32) {
	docIDs = q.lists[0].docIDs
	of = [][]uint32{make([]uint32, len(docIDs))}
	for i := range docIDs {
		of[0][i] = uint32(i)
	}
	for _, l := range q.lists[1:] {
		var keep []uint32
		next := make([][]uint32, len(of)+1)
		for i, d := range docIDs {
			if at, found := slices.BinarySearch(l.docIDs, d); found {
				keep = append(keep, d)
				for j := range of {
					next[j] = append(next[j], of[j][i])
				}
				next[len(of)] = append(next[len(of)], uint32(at))
			}
		}
		docIDs, of = keep, next
	}
	return docIDs, of
}

// List by list and all at once.
func TestAccumulate(t *testing.T) {
	testAccumulate(t, narrow)
	testAccumulate(t, func(wide []uint64) []uint64 { return wide })
}

func testAccumulate[S scoring.Sum](t *testing.T, sums func(wide []uint64) []S) {
	b := newBench(t)
	rng := rand.New(rand.NewPCG(5, 6))
	for round := range 10 {
		numDocs := 4 * (1 + rng.IntN(1000))
		q := randomQuery(rng, numDocs)
		lengths := gputest.Upload(b.Session, q.lengths)
		accumulators, all := gputest.Alloc[S](b.Session, numDocs), gputest.Alloc[S](b.Session, numDocs)
		never := scoring.Unless{Matches: gputest.Upload(b.Session, []uint32{9}), Enough: 10}
		b.Must(scoring.Clear(b.kernels, b.Stream, accumulators, never))
		b.Must(scoring.Clear(b.kernels, b.Stream, all, scoring.Unless{}))
		var lists []scoring.List
		longest := 0
		for i := range q.lists {
			l := b.list(q.lists[i].source(b, rng.IntN(2) == 0, lengths))
			b.Must(scoring.Accumulate(b.kernels, b.Stream, &l, accumulators, never))
			lists, longest = append(lists, l), max(longest, l.NumPostings())
		}
		b.Must(scoring.AccumulateAll(b.kernels, b.Stream, gputest.Upload(b.Session, lists), longest, all, scoring.Unless{}))
		want := sums(q.wide())
		if got := gputest.Download(b.Session, accumulators); !slices.Equal(got, want) {
			t.Fatalf("round %d, lists one by one: %s", round, difference(got, want))
		}
		if got := gputest.Download(b.Session, all); !slices.Equal(got, want) {
			t.Fatalf("round %d, all lists: %s", round, difference(got, want))
		}
		// With enough matches nothing changes.
		enough := scoring.Unless{Matches: gputest.Upload(b.Session, []uint32{10}), Enough: 10}
		b.Must(scoring.Clear(b.kernels, b.Stream, all, enough))
		b.Must(scoring.Accumulate(b.kernels, b.Stream, &lists[0], all, enough))
		b.Must(scoring.AccumulateAll(b.kernels, b.Stream, gputest.Upload(b.Session, lists), longest, all, enough))
		if got := gputest.Download(b.Session, all); !slices.Equal(got, want) {
			t.Fatalf("round %d, enough matches: %s", round, difference(got, want))
		}
	}
}

func difference[T comparable](got, want []T) string {
	for i := range want {
		if got[i] != want[i] {
			return fmt.Sprintf("%d: %v, want %v", i, got[i], want[i])
		}
	}
	return "none"
}

// Term by term, with intersections, and all at once.
func TestCandidates(t *testing.T) {
	testCandidates(t, narrow)
	testCandidates(t, func(wide []uint64) []uint64 { return wide })
}

func testCandidates[S scoring.Sum](t *testing.T, sums func(wide []uint64) []S) {
	b := newBench(t)
	rng := rand.New(rand.NewPCG(7, 8))
	for round := range 12 {
		q := randomQuery(rng, 1+rng.IntN(3000))
		docIDs, of := q.intersection()
		byDoc := sums(q.wide())
		want := make([]S, len(docIDs))
		for i, d := range docIDs {
			want[i] = byDoc[d]
		}
		lengths := gputest.Upload(b.Session, q.lengths)
		candidates := scoring.Candidates{DocIDs: gputest.Upload(b.Session, docIDs)}
		scores := gputest.Alloc[S](b.Session, len(docIDs))
		var lists []scoring.List
		for i := range q.lists {
			s := q.lists[i].source(b, rng.IntN(2) == 0, lengths)
			s.Postings = gputest.Upload(b.Session, of[i])
			lists = append(lists, b.list(s))
		}
		b.Must(scoring.Score(b.kernels, b.Stream, gputest.Upload(b.Session, lists), candidates, scores))
		if got := gputest.Download(b.Session, scores); !slices.Equal(got, want) {
			t.Fatalf("round %d, all terms: %s", round, difference(got, want))
		}
		if n := len(docIDs) / 2; len(docIDs) > 0 { // the device limits their number
			b.Must(cuda.Fill(b.Stream, scores, 0xAA))
			unset := gputest.Download(b.Session, scores)[n:]
			candidates.Count = gputest.Upload(b.Session, []uint32{uint32(n)})
			b.Must(scoring.Score(b.kernels, b.Stream, gputest.Upload(b.Session, lists), candidates, scores))
			if got, counted := gputest.Download(b.Session, scores), slices.Concat(want[:n], unset); !slices.Equal(got, counted) {
				t.Fatalf("round %d, the first %d of %d: %s", round, n, len(want), difference(got, counted))
			}
		}
		if got := termByTerm[S](b, &q, lengths, rng.IntN(2) == 0); !slices.Equal(got, want) {
			t.Fatalf("round %d, term by term: %s", round, difference(got, want))
		}
	}
}

// termByTerm scores as in ding09: the candidates of the first list, then those
// that remain after each intersection. counted: only the device knows their
// number.
func termByTerm[S scoring.Sum](b *bench, q *query, lengths cuda.Buffer[uint32], counted bool) []S {
	b.Helper()
	docIDs := q.lists[0].docIDs
	var before cuda.Buffer[S]
	for i := range q.lists {
		s := q.lists[i].source(b, i%2 == 0, lengths)
		var from cuda.Buffer[uint32]
		if i > 0 {
			var keep, places, postings []uint32
			for j, d := range docIDs {
				if at, found := slices.BinarySearch(q.lists[i].docIDs, d); found {
					keep, places, postings = append(keep, d), append(places, uint32(j)), append(postings, uint32(at))
				}
			}
			docIDs = keep
			if len(docIDs) == 0 {
				return []S{}
			}
			s.Postings, from = gputest.Upload(b.Session, postings), gputest.Upload(b.Session, places)
		}
		l := b.list(s)
		c := scoring.Candidates{DocIDs: gputest.Upload(b.Session, docIDs)}
		if counted {
			c.DocIDs = gputest.Upload(b.Session, append(slices.Clone(docIDs), 0, 0, 0))
			c.Count = gputest.Upload(b.Session, []uint32{uint32(len(docIDs))})
			if i > 0 { // capacity for all candidates
				s.Postings, from = gputest.Upload(b.Session, append(gputest.Download(b.Session, s.Postings), 0, 0, 0)), gputest.Upload(b.Session, append(gputest.Download(b.Session, from), 0, 0, 0))
				l = b.list(s)
			}
		}
		sums := gputest.Alloc[S](b.Session, c.DocIDs.Len())
		b.Must(scoring.AddTerm(b.kernels, b.Stream, &l, c, from, before, sums))
		before = sums
	}
	return gputest.Download(b.Session, before.Slice(0, len(docIDs)))
}

func TestSumsOf(t *testing.T) {
	bm25 := score.DefaultBM25.NewTerm(5, 1, 100)
	tiny := score.DefaultBM25.NewTerm(0.00002, 1, 100)
	for _, tt := range []struct {
		name  string
		terms []scoring.Bounded
		want  scoring.Width
	}{
		{"none", nil, scoring.Narrow},
		{"few", []scoring.Bounded{{bm25, 5 << 16}, {bm25, 5 << 16}}, scoring.Narrow},
		{"up to 2^32-1", []scoring.Bounded{{bm25, 1 << 31}, {bm25, 1<<31 - 1}}, scoring.Narrow},
		{"2^32", []scoring.Bounded{{bm25, 1 << 31}, {bm25, 1 << 31}}, scoring.Wide},
		{"far above", []scoring.Bounded{{bm25, 1 << 63}, {bm25, 1 << 63}}, scoring.Wide},
		{"contributions of 0", []scoring.Bounded{{bm25, 5 << 16}, {tiny, 2}}, scoring.Wide},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := scoring.SumsOf(tt.terms, 1000); got != tt.want {
				t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
			}
		})
	}
}

// If SumsOf returns Narrow, no contribution is 0 and no maximal sum overflows.
func TestSumsOfIsRight(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	numNarrow := 0
	for range 20000 {
		term := randomTerm(rng)
		term.Weight *= float32(rng.ExpFloat64()) * 0x1p-12
		maxLength := rng.Uint32() >> rng.IntN(32)
		if scoring.SumsOf([]scoring.Bounded{{Term: term, MaxScore: base.Score(term.Weight) + 1}}, maxLength) == scoring.Wide {
			continue
		}
		numNarrow++
		for range 20 {
			if freq, length := randomFreq(rng, 16), rng.Uint32N(maxLength/2+1)*2; term.Score(freq, min(length, maxLength)) == 0 {
				t.Fatalf("%+v: freq %d, length %d of at most %d: 0", term, freq, length, maxLength)
			}
		}
	}
	if numNarrow < 1000 {
		t.Errorf("narrow for %d of 20000", numNarrow)
	}
}

func TestScoringAllocatesNothing(t *testing.T) {
	b := newBench(t)
	rng := rand.New(rand.NewPCG(11, 12))
	q := randomQuery(rng, 400)
	l := b.list(q.lists[0].source(b, true, gputest.Upload(b.Session, q.lengths)))
	n := l.NumPostings()
	sums, accumulators := gputest.Alloc[uint32](b.Session, n), gputest.Upload(b.Session, make([]uint32, 400))
	candidates := scoring.Candidates{DocIDs: gputest.Upload(b.Session, q.lists[0].docIDs)}
	lists := gputest.Upload(b.Session, []scoring.List{l})
	for name, put := range map[string]func() error{
		"AddTerm": func() error {
			return scoring.AddTerm(b.kernels, b.Stream, &l, candidates, cuda.Buffer[uint32]{}, cuda.Buffer[uint32]{}, sums)
		},
		"Score":      func() error { return scoring.Score(b.kernels, b.Stream, lists, candidates, sums) },
		"Clear":      func() error { return scoring.Clear(b.kernels, b.Stream, accumulators, scoring.Unless{}) },
		"Accumulate": func() error { return scoring.Accumulate(b.kernels, b.Stream, &l, accumulators, scoring.Unless{}) },
		"AccumulateAll": func() error {
			return scoring.AccumulateAll(b.kernels, b.Stream, lists, n, accumulators, scoring.Unless{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := gputest.AllocsPerRun(2, func() { b.Must(put()) }); got != 0 {
				t.Errorf("%s: %v allocations", name, got)
			}
		})
	}
}
