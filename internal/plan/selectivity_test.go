package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/query"
)

const selectMapping = `{"properties": {"random": {"type": "long"}, "place": {"type": "long"}, "words": {"type": "long"}}}`

// selectIndex has documents with a number at random, one that rises with the DocID, and the number of words. In a
// segment with deletions, about one document of ten is deleted.
func selectIndex(t *testing.T, rng *rand.Rand, numDocs, commits int, deletions bool) *Planner {
	t.Helper()
	m, err := mapping.Parse([]byte(selectMapping))
	if err != nil {
		t.Fatal(err)
	}
	ix := indextest.Write(t, index.Options{Analyzer: "whitespace", Positions: true, Mapping: m}, func(w *indextest.Writer) {
		for i := range numDocs {
			n := 1 + rng.IntN(20)
			w.Add(&corpus.Document{ID: fmt.Sprint(i), Text: plantest.RandomWords(rng, n), Extra: []corpus.Field{
				{Name: "random", Value: strconv.Itoa(rng.IntN(10_000))},
				{Name: "place", Value: strconv.Itoa(10_000 * i / numDocs)},
				{Name: "words", Value: strconv.Itoa(n*500 + rng.IntN(500))},
			}})
			if (i+1)%(numDocs/commits) == 0 {
				w.Commit()
			}
		}
		if deletions {
			for i := range numDocs {
				if rng.IntN(10) == 0 {
					w.Delete(i)
				}
			}
			w.Commit()
		}
	})
	return New(indextest.Snapshot(t, ix), nil)
}

// With filters of all selectivities, correlated with the query or not, every traversal returns the unfiltered
// ranking without the documents that the filter drops.
func TestSelectivities(t *testing.T) {
	rng := rand.New(rand.NewPCG(63, 1))
	shares := []float64{0.001, 0.01, 0.03, 0.1, 0.5, 0.9, 0.99}
	sc := testScratch(t, "whitespace")
	queries := 12
	if sampletest.All() {
		queries = 400
	}
	looked := 0
	for _, commits := range []int{1, 3} {
		for _, deletions := range []bool{false, true} {
			s := selectIndex(t, rng, 12_000, commits, deletions)
			for range queries {
				words := plantest.RandomWords(rng, 1+rng.IntN(6))
				mode := []Mode{ModeOr, ModeAnd}[rng.IntN(2)]
				k := []int{1, 10, 100, 1000}[rng.IntN(4)]
				ranking := answer(t, s, sc, &query.Words{Text: words}, Options{Mode: mode, K: 12_000}).Hits
				for _, share := range shares {
					field := []string{"random", "place", "words"}[rng.IntN(3)]
					from := rng.IntN(int(10_000*(1-share)) + 1)
					filter := &query.Range{Field: field, From: strconv.Itoa(from), To: strconv.Itoa(from + int(10_000*share) - 1)}
					with := bitsOf(answer(t, s, sc, filter, Options{K: 12_000}).Hits)
					var want []base.Hit
					for _, h := range ranking {
						if with[h.DocID] && len(want) < k {
							want = append(want, h)
						}
					}
					q := &query.Boolean{Clauses: []query.Clause{{Occur: query.Must, Node: &query.Words{Text: words}}, {Occur: query.Filter, Node: filter}}}
					for _, name := range append(Traversals(mode), "", "") { // unnamed: with the documents computed, and kept
						p, err := s.Prepare(sc, q, Options{Mode: mode, K: k, Traversal: name})
						if err != nil {
							t.Fatal(err)
						}
						var trace Trace
						a, err := p.RunCPU(t.Context(), sc, nil, &trace)
						if err != nil {
							t.Fatal(err)
						}
						if name == "" && trace.Steps[0].Traversal == "look-up" {
							looked++
						}
						if !slices.Equal(a.Hits, want) {
							t.Fatalf("%s by %q, k=%d, %d segments, deletions %v:\ngot  %v\nwant %v", q, name, k, commits, deletions, a.Hits, want)
						}
					}
				}
			}
		}
	}
	if looked < 2*queries {
		t.Errorf("documents were looked up for %d queries of %d", looked, 8*len(shares)*queries)
	}
}

// Phrases in the documents of a filter have the scores that they have alone, and are counted.
func TestFilteredPhrases(t *testing.T) {
	rng := rand.New(rand.NewPCG(66, 1))
	sc := testScratch(t, "whitespace")
	narrowed := 0
	for _, deletions := range []bool{false, true} {
		s := selectIndex(t, rng, 6000, 2, deletions)
		for range 60 {
			var phrase query.Node = &query.Phrase{Text: plantest.RandomWords(rng, 2+rng.IntN(2)), Slop: rng.IntN(3)}
			if rng.IntN(3) == 0 {
				phrase = query.Any(phrase, &query.Term{Text: plantest.RandomWord(rng)})
			}
			ranking := answer(t, s, sc, phrase, Options{K: 6000}).Hits
			filter := &query.Range{Field: "random", From: "0", To: strconv.Itoa([]int{20, 500, 5000}[rng.IntN(3)])}
			with := bitsOf(answer(t, s, sc, filter, Options{K: 6000}).Hits)
			word := &query.Term{Text: plantest.RandomWord(rng)}
			withWord := bitsOf(answer(t, s, sc, word, Options{K: 6000}).Hits)
			var want, wantBoth []base.Hit
			for _, h := range ranking {
				if with[h.DocID] {
					want = append(want, h)
				}
				if with[h.DocID] && withWord[h.DocID] {
					wantBoth = append(wantBoth, h)
				}
			}
			clauses := []query.Clause{{Occur: query.Must, Node: phrase}, {Occur: query.Filter, Node: filter}}
			for _, q := range []*query.Boolean{{Clauses: clauses}, {Clauses: append(clauses[:2:2], query.Clause{Occur: query.Filter, Node: word})}} {
				p, err := s.Prepare(sc, q, Options{K: 6000, Count: true})
				if err != nil {
					t.Fatal(err)
				}
				a, err := p.RunCPU(t.Context(), sc, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(a.Hits, want) || a.Matches != int64(len(want)) {
					t.Fatalf("%s:\ngot  %v, %d matches\nwant %v", q, a.Hits, a.Matches, want)
				}
				if g, ok := p.stages[0].root.(*group); ok && sc.begin(&p.words, 0, t.Context()).narrowsPhrases(g.required) {
					narrowed++
				}
				want = wantBoth
			}
		}
	}
	if narrowed < 20 {
		t.Errorf("%d phrases were searched in the documents of a filter only", narrowed)
	}
}

func bitsOf(hits []base.Hit) map[base.DocID]bool {
	out := make(map[base.DocID]bool, len(hits))
	for _, h := range hits {
		out[h.DocID] = true
	}
	return out
}

// Lists and bits of documents behave alike.
func TestDocuments(t *testing.T) {
	const numDocs = 700
	rng := rand.New(rand.NewPCG(64, 1))
	s := selectIndex(t, rng, numDocs, 1, false)
	for range 2000 {
		random := func() []uint64 {
			words := cleared(nil, numDocs)
			for n := rng.IntN(numDocs + 1); n > 0; n-- {
				d := rng.IntN(numDocs)
				words[d/64] |= 1 << (d % 64)
			}
			return words
		}
		form := func(words []uint64) documents {
			if rng.IntN(2) == 0 {
				return documents{words: words, count: int(ones(words))}
			}
			docs := appendBits(nil, words, 0)
			return documents{docs: docs, count: len(docs)}
		}
		a, b := random(), random()
		x, y := form(a), form(b)
		m := &matcher{words: &words{planner: s}, in: wholeSegment(numDocs)}
		both := m.both(x, y)
		got := cleared(nil, numDocs)
		both.addTo(got)
		want := slices.Clone(a)
		and(want, b)
		if !slices.Equal(got, want) || both.count != int(ones(want)) {
			t.Fatalf("%d documents %b and %b: %b", numDocs, a, b, got)
		}
		if x.words == nil {
			and := documents{docs: selected(nil, x.docs, b, false)}
			not := documents{docs: selected(nil, x.docs, b, true)}
			for d := range uint32(numDocs) {
				in, with := a[d/64]>>(d%64)&1 != 0, b[d/64]>>(d%64)&1 != 0
				if and.has(d) != (in && with) || not.has(d) != (in && !with) {
					t.Fatalf("document %d of %b, selected by %b", d, a, b)
				}
			}
		}
		docs := docsIterator{docs: appendBits(nil, a, 0), doc: base.NoDocID}
		bits := bitsIterator{words: a, doc: base.NoDocID}
		for target := base.DocID(0); target != base.NoDocID; target += base.DocID(rng.IntN(40)) {
			got, want := docs.NextGEQ(target), bits.NextGEQ(target)
			if got != want || docs.DocID() != got {
				t.Fatalf("from %d of %b: %d, want %d", target, a, got, want)
			}
			if target = got; got == base.NoDocID {
				break
			}
		}
	}
}
