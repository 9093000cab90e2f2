package plan

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/query"
)

// matching returns the DocIDs of Plan.Matches, and checks that all segments are visited in order.
func matching(t testing.TB, p *Plan, sc *Scratch) []base.DocID {
	t.Helper()
	var docs []base.DocID
	next := 0
	err := p.Matches(t.Context(), sc, func(segment int, words []uint64) error {
		view := &p.planner.snapshot.Segments[segment]
		if segment != next || len(words) != (view.NumDocs()+63)/64 {
			t.Fatalf("segment %d with %d words, want segment %d of %d documents", segment, len(words), next, view.NumDocs())
		}
		next++
		for d := range base.DocID(64 * len(words)) {
			if words[d/64]>>(d%64)&1 != 0 {
				docs = append(docs, view.Base+d)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", p.query, err)
	}
	if next != len(p.planner.snapshot.Segments) {
		t.Fatalf("%d segments of %d", next, len(p.planner.snapshot.Segments))
	}
	return docs
}

func docIDs(hits []base.Hit) []base.DocID {
	docs := make([]base.DocID, len(hits))
	for i, h := range hits {
		docs[i] = h.DocID
	}
	slices.Sort(docs)
	return docs
}

// The matches of random queries are the documents that a search finds, whichever way they are
// computed: by bitmaps, by iterators, by impact-ordered lists.
func TestMatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(41, 1))
	ix := plantest.RandomIndex(t, rng, 700, 3, true)
	if _, err := ix.BuildImpacts(t.Context(), index.ImpactOptions{}); err != nil {
		t.Fatal(err)
	}
	s := New(indextest.Snapshot(t, ix), nil)
	sc := testScratch(t, "whitespace")
	for range 400 {
		mode := Mode(rng.IntN(4))
		var q query.Node = &query.Words{Text: plantest.RandomWords(rng, 1+rng.IntN(4)), Boost: 1}
		if mode != ModeSaat {
			q = plantest.RandomNode(rng, 3)
		}
		k := []int{0, 1, 40, 1000}[rng.IntN(4)]
		p, err := s.Prepare(sc, q, Options{Mode: mode, K: k, Count: true})
		if err != nil {
			t.Fatal(err)
		}
		a, err := p.RunCPU(t.Context(), sc, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := docIDs(answer(t, s, sc, q, Options{Mode: a.Mode, K: 1000}).Hits)
		got := matching(t, p, sc)
		if !slices.Equal(got, want) || a.Matches != int64(len(want)) {
			t.Fatalf("%s in mode %s, k=%d: %d matches, counted %d, want %d:\n%v\n%v", q, mode, k, len(got), a.Matches, len(want), got, want)
		}
	}
}

// A conjunction with one rare word reads few postings of the frequent ones.
func TestMatchesOfRareWords(t *testing.T) {
	docs := make([]corpus.Document, 20_000)
	for i := range docs {
		docs[i].Text = "common"
		if i%5000 == 77 {
			docs[i].Text += " rare"
		}
		docs[i].ID = string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676))
	}
	s := New(indextest.Snapshot(t, indexOf(t, docs, 1)), nil)
	sc := testScratch(t, "whitespace")
	for text, want := range map[string]int64{"+common +rare": 4, "+rare -common": 0, "+rare +(common other)": 4} {
		a := answer(t, s, sc, plantest.Parse(t, text), Options{K: 0, Count: true})
		if a.Matches != want || a.Work.PostingsDecoded > 2000 {
			t.Errorf("%s: %d matches, want %d; %d postings decoded", text, a.Matches, want, a.Work.PostingsDecoded)
		}
	}
}

var errStop = errors.New("enough")

func TestMatchesEnds(t *testing.T) {
	rng := rand.New(rand.NewPCG(42, 1))
	s := New(indextest.Snapshot(t, plantest.RandomIndex(t, rng, 300, 3, false)), nil)
	sc := testScratch(t, "whitespace")
	for _, text := range []string{"w0 w1", "+w0 -w1", `"w0 w1"`} {
		p, err := s.Prepare(sc, plantest.Parse(t, text), Options{K: 10})
		if err != nil {
			t.Fatal(err)
		}
		calls := 0
		if err := p.Matches(t.Context(), sc, func(int, []uint64) error { calls++; return errStop }); !errors.Is(err, errStop) || calls != 1 {
			t.Errorf("%s: error %v after %d calls", text, err, calls)
		}
		for after := range 3 {
			ctx := &countedContext{Context: t.Context(), left: after}
			if err := p.Matches(ctx, sc, func(int, []uint64) error { return nil }); err == nil {
				t.Errorf("%s: not cancelled at check %d", text, after+1)
			}
		}
	}
}
