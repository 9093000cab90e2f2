package plan

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/query"
)

// FuzzQuery runs any text. Hits are sorted, a smaller k gives a prefix, and Explain agrees.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		`w0 "w1 w2" -w3`, `+(w0 OR w1^3) title:(w2 AND NOT w4) w0`, `(w0 -(w1 "w2 w0")) OR +w5 w0^0.001`, "-w1", `"w0 w0 w0"^900 w\ 1`,
	} {
		f.Add(seed, uint8(3))
	}
	snapshot := indextest.Snapshot(f, plantest.RandomIndex(f, rand.New(rand.NewPCG(9, 9)), 150, 2, true))
	s := New(snapshot, nil)
	f.Fuzz(func(t *testing.T, text string, k uint8) {
		sc := testScratch(t, "whitespace")
		q, _ := query.ParseLenient(text, s.Fields())
		if k%2 == 1 {
			q = query.Across(q, []query.FieldWeight{{Name: "title"}, {}})
		}
		for _, mode := range []Mode{ModeOr, ModeAnd} {
			few, err := s.Prepare(sc, q, Options{Mode: mode, K: int(k)})
			if err != nil {
				if !errors.Is(err, base.ErrBadInput) {
					t.Fatalf("%q: %v", text, err)
				}
				return
			}
			many, err := s.Prepare(sc, q, Options{Mode: mode, K: snapshot.NumDocs})
			if err != nil {
				t.Fatal(err)
			}
			a, err := few.RunCPU(context.Background(), sc, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			b, err := many.RunCPU(context.Background(), sc, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(a.Hits) != min(int(k), len(b.Hits)) {
				t.Fatalf("%q: %d of %d hits with k = %d", text, len(a.Hits), len(b.Hits), k)
			}
			for i, h := range b.Hits {
				if i < len(a.Hits) && a.Hits[i] != h {
					t.Fatalf("%q: hit %d is %v with k = %d, else %v", text, i, a.Hits[i], k, h)
				}
				if i > 0 && !b.Hits[i-1].Before(h) {
					t.Fatalf("%q: hits %v and %v out of order", text, b.Hits[i-1], h)
				}
			}
			if len(b.Hits) > 0 {
				checkExplanations(t, many, sc, snapshot, Answer{Hits: b.Hits[:1]})
			}
		}
	})
}
