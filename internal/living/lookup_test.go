package living

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/vfs"
)

// A large group finds the ids of segments, of deleted documents, of documents that are not visible yet, and of its own
// operations before.
func TestLookUp(t *testing.T) {
	ix := create(t, vfs.OS, t.TempDir()+"/index")
	defer ix.Close()
	s := open(t, vfs.OS, ix, Options{RefreshInterval: time.Hour})
	defer func() { check(t, s.Close(t.Context())) }()
	apply := func(kind Kind, from, to int) map[Outcome]int {
		t.Helper()
		var ops []Op
		for i := from; i < to; i++ {
			ops = append(ops, Op{Kind: kind, Doc: &corpus.Document{ID: fmt.Sprint(i), Text: "red ink"}})
		}
		results, err := s.Apply(t.Context(), ops)
		check(t, err)
		outcomes := map[Outcome]int{}
		for _, r := range results {
			check(t, r.Err)
			outcomes[r.Outcome]++
		}
		return outcomes
	}
	want := func(got map[Outcome]int, of Outcome, n int) {
		t.Helper()
		if got[of] != n {
			t.Errorf("outcomes %v, want %d of %v", got, n, of)
		}
	}
	for _, from := range []int{0, 100, 200} { // a segment each
		want(apply(Index, from, from+100), Created, 100)
		check(t, s.Refresh(t.Context()))
	}
	want(apply(Delete, 50, 150), Deleted, 100)
	want(apply(Index, 300, 350), Created, 50)
	mixed := apply(Index, 0, 400)
	want(mixed, Updated, 250)
	want(mixed, Created, 150)
	check(t, s.Refresh(t.Context()))
	want(apply(Index, 0, 400), Updated, 400)
	var ops []Op
	for range 20 {
		ops = append(ops, Op{Kind: Create, Doc: &corpus.Document{ID: "again", Text: "blue ink"}})
	}
	results, err := s.Apply(t.Context(), ops)
	check(t, err)
	for i, r := range results {
		if (r.Outcome == Created) != (i == 0) || i > 0 && !errors.Is(r.Err, ErrConflict) {
			t.Errorf("operation %d with one id: %v, %v", i, r.Outcome, r.Err)
		}
	}
}
