package griffin_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/query"
)

// checkInner compares the documents of the groups of a collapse with loops.
func (l *textHistory) checkInner(t *testing.T) {
	t.Helper()
	field := []string{"shelf", "row"}[l.rng.IntN(2)]
	key := func(d *historyDoc) string {
		if field == "shelf" {
			return d.shelf
		}
		return d.row
	}
	size, from := l.rng.IntN(5), l.rng.IntN(2)
	q := griffin.Query{Node: &query.MatchAll{}, K: 1 + l.rng.IntN(6), Offset: l.rng.IntN(2), Collapse: field, Load: griffin.LoadIDs}
	if l.rng.IntN(2) == 0 {
		q.Node = &query.Term{Text: l.typo()}
	}
	if l.rng.IntN(3) == 0 {
		q.PostFilter = &query.Exists{Field: "sold"}
	}
	q.InnerHits = []griffin.InnerHits{
		{Name: "sorted", Options: json.RawMessage(fmt.Sprintf(`{"size":%d,"from":%d,"sort":[{"row":"desc"},"_doc"]}`, size, from))}, {Name: "best"},
	}
	r, err := l.ix.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("%s: %v", q.Node, err)
	}
	all, err := l.ix.Search(t.Context(), griffin.Query{Node: q.Node, PostFilter: q.PostFilter, K: 1000, Load: griffin.LoadIDs})
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string][]griffin.Hit{} // by score
	doc := func(id string) *historyDoc { return &l.live[l.place(id)] }
	for _, h := range all.Hits {
		k := key(doc(h.ID))
		groups[k] = append(groups[k], h)
	}
	if want := min(max(len(groups)-q.Offset, 0), q.K); len(r.Hits) != want {
		t.Fatalf("%s: %d hits, want %d", q.Node, len(r.Hits), want)
	}
	for _, h := range r.Hits {
		group := groups[key(doc(h.ID))]
		best, sorted := h.InnerHits["best"], h.InnerHits["sorted"]
		if best.Total != int64(len(group)) || sorted.Total != best.Total || group[0].ID != h.ID {
			t.Fatalf("%s: hit %s has %d documents, want %d, the first %s", q.Node, h.ID, best.Total, len(group), group[0].ID)
		}
		same := func(a, b griffin.Hit) bool { return a.ID == b.ID && a.Score == b.Score }
		if want := group[:min(3, len(group))]; !slices.EqualFunc(best.Hits, want, same) {
			t.Fatalf("%s: hit %s has %v, want %v", q.Node, h.ID, best.Hits, want)
		}
		want := slices.Clone(group)
		slices.SortFunc(want, func(a, b griffin.Hit) int {
			x, y := doc(a.ID).row, doc(b.ID).row
			if (x == "") != (y == "") {
				return cmp.Compare(len(y), len(x)) // those without are last
			}
			return cmp.Or(cmp.Compare(len(y), len(x)), strings.Compare(y, x), l.place(a.ID)-l.place(b.ID))
		})
		want = want[min(from, len(want)):]
		want = want[:min(size, len(want))]
		if !slices.EqualFunc(sorted.Hits, want, func(a, b griffin.Hit) bool { return a.ID == b.ID && a.NoScore }) {
			t.Fatalf("%s: hit %s has by row %v, want %v", q.Node, h.ID, sorted.Hits, want)
		}
	}
}

func (l *textHistory) place(id string) int {
	return slices.IndexFunc(l.live, func(d historyDoc) bool { return d.id == id })
}

// TestInnerHits compares inner hits with loops over the live documents of random indexes.
func TestInnerHits(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			l := newTextHistory(t, 200+seed)
			for range 60 {
				l.checkInner(t)
			}
		})
	}
}

func TestInnerHitsErrors(t *testing.T) {
	l := newTextHistory(t, 7)
	for _, q := range []griffin.Query{
		{Node: &query.MatchAll{}, InnerHits: []griffin.InnerHits{{Name: "a"}}},
		{Node: &query.MatchAll{}, Collapse: "shelf", InnerHits: []griffin.InnerHits{{}}},
		{Node: &query.MatchAll{}, Collapse: "shelf", InnerHits: []griffin.InnerHits{{Name: "a"}, {Name: "a"}}},
		{Node: &query.MatchAll{}, Collapse: "shelf", InnerHits: []griffin.InnerHits{{Name: "a", Options: json.RawMessage(`{"size":101}`)}}},
		{Node: &query.MatchAll{}, Collapse: "shelf", InnerHits: []griffin.InnerHits{{Name: "a", Options: json.RawMessage(`{"highlight":{}}`)}}},
		{Node: &query.IDs{}, Collapse: "shelf", InnerHits: []griffin.InnerHits{{Name: "a", Options: json.RawMessage(`{"highlight":{}}`)}}},
	} {
		if _, err := l.ix.Search(t.Context(), q); err == nil || !strings.Contains(err.Error(), "inner hits") {
			t.Errorf("%+v: %v", q.InnerHits, err)
		}
	}
}
