package plan

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
)

// foundIndex has words of all frequencies, deleted documents, and long ones with positions of several bytes. reordered: a
// merge has put similar documents side by side.
func foundIndex(t testing.TB, rng *rand.Rand, reordered bool) *Planner {
	id := 0
	ix := indextest.Write(t, index.Options{Analyzer: "whitespace", Positions: true}, func(w *indextest.Writer) {
		for _, n := range []int{4000, 700, 30} {
			for range n {
				text := []string{plantest.RandomWords(rng, 1+rng.IntN(30))}
				if rng.IntN(50) == 0 {
					text = append(text, plantest.RandomWords(rng, 1000))
				}
				for p := range 12 {
					if rng.IntN(1<<(p+1)) == 0 {
						text = append(text, fmt.Sprintf("p%d", p))
					}
				}
				w.Add(&corpus.Document{ID: fmt.Sprint(id), Text: strings.Join(text, " ")})
				id++
			}
			for range n / 20 {
				w.Delete(rng.IntN(id))
			}
			w.Commit()
		}
	})
	if reordered {
		plantest.Reorder(t, ix)
		w, err := ix.Writer(index.WriterOptions{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		for range id / 20 {
			if err := w.Delete(fmt.Sprint(rng.IntN(id))); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Commit(t.Context()), w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return New(indextest.Snapshot(t, ix), nil)
}

// Matches that are found before they are ranked give the hits of iterators over all documents, and their number.
func TestMatchesFirst(t *testing.T) {
	for _, reordered := range []bool{false, true} {
		t.Run(fmt.Sprintf("reordered=%v", reordered), func(t *testing.T) { testMatchesFirst(t, reordered) })
	}
}

func testMatchesFirst(t *testing.T, reordered bool) {
	t.Helper()
	rng := rand.New(rand.NewPCG(71, 1))
	s, sc := foundIndex(t, rng, reordered), testScratch(t, "whitespace")
	word := func() string {
		if rng.IntN(2) == 0 {
			return plantest.RandomWord(rng)
		}
		return fmt.Sprintf("p%d", rng.IntN(12))
	}
	phrase := func() string {
		if p := rng.IntN(10); rng.IntN(2) == 0 {
			return fmt.Sprintf(`"p%d p%d"`, p, p+1)
		}
		return fmt.Sprintf(`"%s"`, plantest.RandomWords(rng, 2+rng.IntN(2)))
	}
	ways := map[string]int{}
	for i := range 600 {
		text := []func() string{
			phrase,
			func() string { return "+" + phrase() + " +" + word() },
			func() string { return "+" + phrase() + " +" + phrase() + " " + word() },
			func() string { return "+" + phrase() + " -" + word() + " " + phrase() },
			func() string { return "+" + word() + " -" + word() },
			func() string { return "+" + word() + " +" + word() },
			func() string { return "+" + word() + " +" + word() + " -" + phrase() },
			func() string { return "+" + word() + " +(" + word() + " " + phrase() + ")" },
			func() string { return "+" + word() + " +" + word() + " +" + word() + "^=2" },
			func() string { return "+" + phrase() + "~2 +" + word() },
		}[i%10]()
		counts := rng.IntN(2) == 0
		p := prepare(t, s, sc, text, Options{K: []int{1, 10, 100, 10_000}[rng.IntN(4)], Count: counts})
		st := &p.stages[0]
		p.ResetHits(sc)
		r := sc.stage(p, st, t.Context())
		for j := range s.Snapshot().Segments {
			var w Work
			if err := r.tree(j, &w); err != nil {
				t.Fatal(err)
			}
		}
		want := slices.Clone(sc.AppendHits(nil))
		st.addOffset(want)
		matches, err := CountMatches(t.Context(), p, sc)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.RunCPU(t.Context(), sc, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Hits, want) {
			t.Fatalf("%s, %+v: hits\n%v\nwant\n%v", text, p.k, got.Hits, want)
		}
		if len(want) < p.k && matches != int64(len(want)) || counts && got.Matches != matches {
			t.Fatalf("%s: %d matches are counted, %d with the hits, want %d", text, matches, got.Matches, len(want))
		}
		for j := range s.Snapshot().Segments {
			ways[r.wayOf(t, j, counts)]++
		}
	}
	for _, way := range []string{"phrase", "look-up", "mask", "visit few", "visit many", "many", "not first"} {
		if ways[way] < 3 {
			t.Errorf("%d segments were searched in the way %s: %v", ways[way], way, ways)
		}
	}
}

// wayOf is the way in which the last run of a query searched a segment.
func (r *stageRun) wayOf(t *testing.T, segment int, counts bool) string {
	r.countWith(r.sc.unknownMatches(r.plan))
	r.plan.ResetHits(r.sc)
	if !r.matchesFirst(segment) {
		return "not first"
	}
	if r.st.root == node(nil) {
		t.Fatal("no root")
	}
	if _, ok := r.st.root.(*leaf); ok {
		return "phrase"
	}
	m := r.sc.begin(&r.plan.words, segment, r.stop)
	found, err := narrower{m}.documentsOf(counted(r.st.root))
	if err != nil {
		t.Fatal(err)
	}
	name, _, ranked, err := r.rankMatches(segment)
	switch {
	case err != nil:
		t.Fatal(err)
	case counts && r.matched[segment] < 0:
		t.Errorf("the matches of segment %d are not counted", segment)
	case !ranked:
		return "many"
	case found.count == 0:
		return "none"
	case r.st.flat && found.words == nil && name != "look-up":
		t.Errorf("few matches are ranked by %s", name)
	case r.st.flat && found.words == nil:
		return "look-up"
	case r.st.flat:
		return "mask"
	case found.words == nil:
		return "visit few"
	}
	return "visit many"
}
