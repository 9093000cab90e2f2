package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
)

// collection is an index of several segments with deleted documents, and its Segments for a
// View.
type collection struct {
	dir      string
	snapshot *index.Snapshot
	segments []Segment
}

// r0 is in nearly all documents; each further word is in about two thirds of the documents of
// the previous one.
const numWords = 12

func newCollection(tb testing.TB, numDocs, commits int, codecName string) *collection {
	tb.Helper()
	rng := rand.New(rand.NewPCG(3, uint64(numDocs)))
	return newCollectionOf(tb, rng, numDocs, commits, codecName, func(int) string { return collectionText(rng) })
}

func newCollectionOf(tb testing.TB, rng *rand.Rand, numDocs, commits int, codecName string, text func(doc int) string) *collection {
	tb.Helper()
	ix := indextest.Write(tb, index.Options{Analyzer: "whitespace", NoStored: true, Codec: codecName}, func(w *indextest.Writer) {
		for i := range numDocs {
			w.AddText(i, text(i))
			if (i+1)%(numDocs/commits) != 0 {
				continue
			}
			if commits > 1 {
				for range 20 {
					w.Delete(rng.IntN(i))
				}
			}
			w.Commit()
		}
	})
	s := indextest.Snapshot(tb, ix)
	c := &collection{dir: ix.Dir(), snapshot: s}
	for i := range s.Segments {
		v := &s.Segments[i]
		c.segments = append(c.segments, Segment{Key: v.Name, NumDocs: v.NumDocs(), Base: v.Base, Live: v.Live.Words(), Segment: v.Segment})
	}
	if len(c.segments) != commits {
		tb.Fatalf("%d segments of %d commits", len(c.segments), commits)
	}
	return c
}

func collectionText(rng *rand.Rand) string {
	var text strings.Builder
	share := 0.95
	for word := range numWords {
		if rng.Float64() < share {
			for range 1 + rng.IntN(4) {
				fmt.Fprintf(&text, "r%d ", word)
			}
		}
		share *= 0.66
	}
	return text.String()
}

func (c *collection) attach(tb testing.TB, e *Engine) *View {
	tb.Helper()
	v, err := e.Attach(c.segments)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// filters returns random filters: of all documents, of none, and of 0.1 % to 99 %.
func (c *collection) filters(rng *rand.Rand) []Filter {
	filters := make([]Filter, len(c.segments))
	for s := range filters {
		share := []float64{-1, 0, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99}[rng.IntN(8)]
		if share < 0 {
			continue
		}
		f := &filters[s]
		f.ID, f.Words = rng.Uint64(), make([]uint64, (c.segments[s].NumDocs+63)/64)
		for d := range c.segments[s].NumDocs {
			if rng.Float64() < share {
				f.Words[d/64] |= 1 << (d % 64)
				f.NumDocs++
			}
		}
	}
	return filters
}

// allowedBy returns the words of a filter, which may be nil.
func allowedBy(tb testing.TB, f *Filter, numDocs int) []uint64 {
	tb.Helper()
	if f == nil || len(f.Ranges) == 0 {
		if f == nil {
			return nil
		}
		return f.Words
	}
	words := make([]uint64, (numDocs+63)/64)
	if err := f.Ranges[0].Column.Range(f.Ranges[0].Lo, f.Ranges[0].Hi, words); err != nil {
		tb.Fatal(err)
	}
	return words
}

// ranges returns filters that are ranges of a column, other ones for each number.
func (c *collection) ranges(tb testing.TB, number int) []Filter {
	tb.Helper()
	filters := make([]Filter, len(c.segments))
	for s := range filters {
		var out bytes.Buffer
		w := column.NewWriter(&out, c.segments[s].NumDocs, column.Temp{})
		n, err := w.Numbers("n")
		for d := 0; d < c.segments[s].NumDocs && err == nil; d++ {
			err = n.Add(base.DocID(d), []int64{int64(d*7919) % 1000})
		}
		if err = errors.Join(err, n.Close(), w.Close()); err != nil {
			tb.Fatal(err)
		}
		set, err := column.Open(column.Memory(out.Bytes()), c.segments[s].NumDocs)
		if err != nil {
			tb.Fatal(err)
		}
		r := ColumnRange{Lo: int64(number), Hi: int64(number) + 500}
		r.Column, _ = set.Column("n")
		f := &filters[s]
		*f = Filter{ID: uint64(1000*s + number), Ranges: []ColumnRange{r}}
		f.Compute = func() ([]uint64, error) { return allowedBy(tb, f, c.segments[s].NumDocs), nil }
	}
	return filters
}

// The words are rarest first.
func (c *collection) query(tb testing.TB, conjunctive bool, words ...int) *Query {
	tb.Helper()
	n := len(words)
	q := &Query{K: 10, Conjunctive: conjunctive, Count: true, NumTerms: n, Legs: make([]Leg, n*len(c.segments))}
	avg := c.snapshot.Fields[0].AvgLen()
	for j, word := range words {
		docFreq := uint32(0)
		for s := range c.segments {
			leg := &q.Legs[s*n+j]
			leg.List = new(postings.List)
			if _, err := c.segments[s].Segment.Find(0, fmt.Appendf(nil, "r%d", word), leg.List); err != nil {
				tb.Fatal(err)
			}
			docFreq += leg.DocFreq()
		}
		for s := range c.segments {
			leg := &q.Legs[s*n+j]
			leg.Term = c.snapshot.Options.BM25.NewTerm(score.IDF(uint64(c.snapshot.NumDocs), uint64(docFreq)), 1, avg)
			leg.Scale = score.NewScale(leg.Term, c.segments[s].Segment.Meta().Fields[0].AvgLen, avg)
		}
	}
	return q
}

// oracle decodes all lists of a query. It returns the best hits, and all candidates by segment.
func (c *collection) oracle(tb testing.TB, q *Query) (hits []base.Hit, candidates *Candidates) {
	tb.Helper()
	candidates = new(Candidates)
	candidates.Reset(len(c.segments))
	for s := range c.segments {
		seg := &c.segments[s]
		sums, counts := make([]base.Score, seg.NumDocs), make([]int, seg.NumDocs)
		for j := range q.NumTerms {
			addPostings(tb, &q.Legs[s*q.NumTerms+j], seg.Segment.Lengths(0), sums, counts)
		}
		allowed := allowedBy(tb, filter(q.Filters, s), seg.NumDocs)
		for d := range seg.NumDocs {
			dead := seg.Live != nil && seg.Live[d/64]>>(d%64)&1 == 0
			if allowed != nil && allowed[d/64]>>(d%64)&1 == 0 {
				continue
			}
			if dead || counts[d] == 0 || q.Conjunctive && counts[d] < q.NumTerms {
				continue
			}
			hits = append(hits, base.Hit{DocID: seg.Base + base.DocID(d), Score: sums[d]})
			to := &candidates.Segments[s]
			to.DocIDs, to.Scores = append(to.DocIDs, uint32(d)), append(to.Scores, uint32(sums[d]))
		}
	}
	slices.SortFunc(hits, func(a, b base.Hit) int {
		if a.Before(b) {
			return -1
		}
		return 1
	})
	return hits[:min(q.K, len(hits))], candidates
}

func addPostings(tb testing.TB, leg *Leg, lengths []uint32, sums []base.Score, counts []int) {
	tb.Helper()
	if leg.DocFreq() == 0 {
		return
	}
	var docIDs, freqs [codec.BlockLen]uint32
	for i := range leg.List.NumBlocks() {
		size, err := leg.List.DecodeDocIDs(i, &docIDs)
		if err != nil {
			tb.Fatal(err)
		}
		if err := leg.List.DecodeFreqs(i, size, &freqs); err != nil {
			tb.Fatal(err)
		}
		for j := range leg.List.BlockSize(i) {
			sums[docIDs[j]] += leg.Term.Score(freqs[j], lengths[docIDs[j]])
			counts[docIDs[j]]++
		}
	}
}

func (c *collection) check(tb testing.TB, v *View, q *Query, trace *Trace) {
	tb.Helper()
	results := make([]Result, 1)
	if err := v.Run(tb.Context(), []*Query{q}, results, nil, trace); err != nil {
		tb.Fatal(err)
	}
	c.compare(tb, q, &results[0])
	v.WaitForPromotions()
}

func (c *collection) compare(tb testing.TB, q *Query, r *Result) {
	tb.Helper()
	want, candidates := c.oracle(tb, q)
	if r.Err != nil || !slices.Equal(r.Hits, want) || q.Count && r.Matches != int64(candidates.Len()) {
		tb.Errorf("%d terms, conjunctive %t, path %s: error %v, %d matches, hits %v;\nwant %d, %v",
			q.NumTerms, q.Conjunctive, q.Path, r.Err, r.Matches, r.Hits, candidates.Len(), want)
	}
}
