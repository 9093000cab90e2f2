package griffin

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func mergeTestDoc(rng *rand.Rand, id int) Document {
	var words []string
	for range 5 + rng.IntN(40) {
		words = append(words, fmt.Sprintf("w%d", rng.IntN(1+rng.IntN(60))))
	}
	return Document{ID: fmt.Sprint(id), Title: words[0] + " " + words[1], Text: strings.Join(words[2:], " ")}
}

// After replacements and deletions, an index ranks like a new index of its documents, before and
// after a merge.
func TestMergeRanks(t *testing.T) {
	rng := rand.New(rand.NewPCG(70, 71))
	var docs []Document
	for i := range 400 {
		docs = append(docs, mergeTestDoc(rng, i))
	}
	ix := newTestIndex(t, docs[:200])
	live := slices.Clone(docs[:200])
	change := func(add []Document, remove string) {
		for _, d := range add {
			live = slices.DeleteFunc(live, func(o Document) bool { return o.ID == d.ID })
		}
		live = append(slices.DeleteFunc(live, func(o Document) bool { return o.ID == remove }), add...)
		if err := errors.Join(ix.Delete(t.Context(), remove), ix.Add(t.Context(), add...), ix.Commit(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	change(docs[200:300], "7")
	var again []Document
	for i := range 50 {
		again = append(again, mergeTestDoc(rng, 3*i))
	}
	change(append(again, docs[300:]...), "299")
	fresh := newTestIndex(t, live)

	queries := []string{"w1", "w3 w17 w40", `"w0 w1"`, "title:w2 w5", "+w9 -w4 w50", "w0 w1 w2 w3 w4 w5"}
	answers := func(ix *Index) (out []string) {
		for _, q := range queries {
			for _, mode := range []Mode{ModeOr, ModeAnd} {
				r, err := ix.Search(t.Context(), Query{Text: q, Mode: mode, K: 50})
				if err != nil {
					t.Fatal(err)
				}
				answer := fmt.Sprintf("%s %s:", q, mode)
				for _, h := range r.Hits {
					answer += fmt.Sprintf(" %s %v", h.ID, h.Score)
				}
				out = append(out, answer)
			}
		}
		return out
	}
	want := answers(fresh)
	for i, got := range answers(ix) {
		if got != want[i] {
			t.Errorf("before the merge:\ngot  %s\nwant %s", got, want[i])
		}
	}
	plan, err := ix.Merge(t.Context(), MergeOptions{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	report, err := ix.Merge(t.Context(), MergeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r := report; !r.Changed || r.Before != plan.Before || r.Before.Segments < 2 || r.Before.Deleted == 0 || r.After.Docs != len(live) || r.After.Segments != 1 {
		t.Errorf("report %+v, dry run %+v", report, plan)
	}
	for i, got := range answers(ix) {
		if got != want[i] {
			t.Errorf("after the merge\n got %s\nwant %s", got, want[i])
		}
	}
}
