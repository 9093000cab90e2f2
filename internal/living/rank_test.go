package living

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
	"github.com/griffin-search/griffin/query"
)

// sameRanking compares the answers to random queries with a new index of the live documents.
func (m *model) sameRanking(t testing.TB, rng *rand.Rand, ix *index.Index) {
	t.Helper()
	fresh, err := index.Create(vfstest.NewMem(), "fresh", ix.Options())
	check(t, err)
	w, err := fresh.Writer(index.WriterOptions{})
	check(t, err)
	for _, id := range m.ids() {
		check(t, w.Add(m.states[id].doc))
	}
	check(t, errors.Join(w.Commit(t.Context()), w.Close()))
	fields := append([]string{""}, ix.Options().Fields...)
	for _, mode := range []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr} {
		words := make([]string, 1+rng.IntN(4))
		for i := range words {
			words[i] = word(rng)
		}
		options := plan.Options{Mode: mode, K: []int{1, 3, 10, 100}[rng.IntN(4)], Count: true}
		for i := range words {
			if field := fields[rng.IntN(len(fields))]; field != "" {
				words[i] = field + ":" + words[i]
			}
		}
		text := strings.Join(words, " ")
		if got, want := ranking(t, ix, text, options), ranking(t, fresh, text, options); got != want {
			t.Fatalf("%q, %+v:\ngot  %s\nwant %s", text, options, got, want)
		}
	}
	check(t, fresh.Close())
}

func ranking(t testing.TB, ix *index.Index, text string, options plan.Options) string {
	t.Helper()
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	sc, err := plan.NewScratch(s.Options.Analyzer)
	check(t, err)
	planner := plan.New(s, nil)
	tree, err := query.Parse(text, planner.Fields())
	check(t, err)
	p, err := planner.Prepare(sc, tree, options)
	check(t, err)
	a, err := p.RunCPU(t.Context(), sc, nil, nil)
	check(t, err)
	answer := fmt.Sprintf("%d matches:", a.Matches)
	for _, h := range a.Hits {
		for i := range s.Segments {
			if v := &s.Segments[i]; h.DocID >= v.Base && int(h.DocID-v.Base) < v.NumDocs() {
				id, err := v.ID(h.DocID - v.Base)
				check(t, err)
				answer += fmt.Sprintf(" %s %v", id, h.Score)
			}
		}
	}
	return answer
}
