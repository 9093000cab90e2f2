package griffin_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/codec"
)

// randomVector mimics learned models: mostly small weights, with a few terms in nearly all
// documents, so bounds are weak.
func randomVector(rng *rand.Rand, terms int) map[string]float64 {
	v := map[string]float64{}
	for range terms {
		term := fmt.Sprintf("##t%d", int(math.Exp(rng.Float64()*5)))
		v[term] = math.Round(rng.ExpFloat64()*40) / 100
	}
	return v
}

func jsonVector(v map[string]float64) string {
	var parts []string
	for term, w := range v {
		parts = append(parts, fmt.Sprintf("%q: %g", term, w))
	}
	slices.Sort(parts)
	return "{" + strings.Join(parts, ", ") + "}"
}

// Weighted queries use copies of lists only if the cache holds them. Answers are equal.
func TestCacheDecidesTraversal(t *testing.T) {
	ctx, rng := context.Background(), rand.New(rand.NewPCG(3, 4))
	dir := filepath.Join(t.TempDir(), "index")
	ix, err := griffin.Create(dir, griffin.Settings{WeightScale: 100}, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3000 {
		if err := ix.Add(ctx, griffin.Document{ID: fmt.Sprint(i), Vector: randomVector(rng, 40)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(ix.Commit(ctx), ix.Close()); err != nil {
		t.Fatal(err)
	}
	query := jsonVector(randomVector(rng, 25))
	var want []griffin.Hit
	for _, test := range []struct {
		traversal string
		cache     int64
	}{
		{"windowed-taat", 0},
		{"block-max-maxscore", -1},
		{"block-max-maxscore", 4096},
		{"windowed-taat", 1 << 20},
	} {
		runtime, err := griffin.NewRuntime(griffin.RuntimeOptions{CacheBytes: test.cache, CostDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		ix, err := griffin.Open(dir, griffin.Options{Runtime: runtime})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			r, err := ix.Search(ctx, griffin.Query{Text: query})
			if err != nil {
				t.Fatal(err)
			}
			if want == nil {
				want = r.Hits
			}
			if r.Traversal != test.traversal || !slices.EqualFunc(r.Hits, want, func(a, b griffin.Hit) bool { return a.ID == b.ID && a.Score == b.Score }) {
				t.Errorf("%d hits by %s, want %d by %s", len(r.Hits), r.Traversal, len(want), test.traversal)
			}
		}
		if err := errors.Join(ix.Close(), runtime.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// Scores are the dot products for every traversal, with segments and deletions.
func TestWeightsAgainstDotProduct(t *testing.T) {
	ctx, rng := context.Background(), rand.New(rand.NewPCG(1, 1))
	for _, codecName := range []string{codec.Default, "raw"} {
		ix, err := griffin.Create(filepath.Join(t.TempDir(), "index"), griffin.Settings{WeightScale: 100, Codec: codecName}, griffin.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer ix.Close()
		vectors := map[string]map[string]float64{}
		for segment := range 3 {
			for i := range 700 {
				id := fmt.Sprintf("%d-%d", segment, i)
				vectors[id] = randomVector(rng, rng.IntN(40))
				if err := ix.Add(ctx, griffin.Document{ID: id, Text: "stored only", Vector: vectors[id]}); err != nil {
					t.Fatal(err)
				}
			}
			if err := ix.Commit(ctx); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 50 {
			id := fmt.Sprintf("1-%d", i*3)
			if err := ix.Delete(ctx, id); err != nil {
				t.Fatal(err)
			}
			delete(vectors, id)
		}
		if err := ix.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		for q := range 30 {
			query := randomVector(rng, 1+rng.IntN(25))
			for _, name := range append(griffin.Traversals(griffin.ModeOr), "") {
				checkWeighted(t, ix, vectors, query, 1+q*7%40, name)
			}
		}
	}
}

func checkWeighted(t *testing.T, ix *griffin.Index, vectors map[string]map[string]float64, query map[string]float64, k int, traversal string) {
	t.Helper()
	type hit struct {
		id    string
		score float64
	}
	var want []hit
	for id, v := range vectors {
		sum := 0.0
		for term, w := range query {
			sum += w * v[term]
		}
		if sum > 0 {
			want = append(want, hit{id, sum})
		}
	}
	slices.SortFunc(want, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	results, err := ix.Search(context.Background(), griffin.Query{Text: jsonVector(query), K: k, Traversal: traversal})
	if err != nil {
		t.Fatal(err)
	}
	if len(results.Hits) != min(k, len(want)) {
		t.Fatalf("%s: %d hits, want %d of %d", traversal, len(results.Hits), min(k, len(want)), len(want))
	}
	for i, h := range results.Hits {
		sum := 0.0
		for term, w := range query {
			sum += w * vectors[h.ID][term]
		}
		// Ties, and scores within 2^-16 per term, may change places.
		if math.Abs(h.Score-sum) > 1e-3 || math.Abs(h.Score-want[i].score) > 1e-3 {
			t.Fatalf("%s: hit %d of %q is %s with %g, its dot product is %g; %g expected", traversal, i, jsonVector(query), h.ID, h.Score, sum, want[i].score)
		}
	}
}

func TestWeightsBadInput(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "index")
	ix, err := griffin.Create(dir, griffin.Settings{WeightScale: 100}, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	for _, d := range []griffin.Document{
		{ID: "no vector", Text: "x"},
		{ID: "negative", Vector: map[string]float64{"a": -1}},
		{ID: "NaN", Vector: map[string]float64{"a": math.NaN()}},
		{ID: "large", Vector: map[string]float64{"a": 656}},
		{ID: "empty term", Vector: map[string]float64{"": 1}},
	} {
		if err := ix.Add(ctx, d); !errors.Is(err, griffin.ErrBadInput) {
			t.Errorf("Add of %q: %v", d.ID, err)
		}
	}
	if err := ix.Add(ctx, griffin.Document{ID: "good", Vector: map[string]float64{"a": 600, "b": 1}}); err != nil {
		t.Fatal(err)
	}
	if err := ix.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{`{"a": -1}`, `{"a": "1"}`, `{"a": 1`, `{"a": 999}`, `{"a": 1001}`, `{"a": 1, "a": 2}`, `{"": 1}`} {
		if _, err := ix.Search(ctx, griffin.Query{Text: q}); !errors.Is(err, griffin.ErrBadInput) {
			t.Errorf("Search for %s: %v", q, err)
		}
	}
	results, err := ix.Search(ctx, griffin.Query{Text: "b a"}) // each word has weight 1
	if err != nil || len(results.Hits) != 1 || results.Hits[0].Score != 601 {
		t.Errorf("Search for two words: %+v, %v", results, err)
	}
	if _, err := griffin.Open(dir, griffin.Options{BM25: &griffin.BM25{K1: 1, B: 1}}); !errors.Is(err, griffin.ErrBadInput) {
		t.Errorf("Open with BM25: %v", err)
	}
}

// Searches share derived structures and impact-ordered lists; each sees one commit, in which
// all weights are equal.
func TestWeightsWhileTheIndexChanges(t *testing.T) {
	const numDocs = 200
	ctx := t.Context()
	ix, err := griffin.Create(filepath.Join(t.TempDir(), "index"), griffin.Settings{WeightScale: 1}, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	commit := func(weight float64) error {
		for i := range numDocs {
			vector := map[string]float64{"all": weight, fmt.Sprintf("t%d", i%5): 1}
			if err := ix.Add(ctx, griffin.Document{ID: fmt.Sprint(i), Vector: vector}); err != nil {
				return err
			}
		}
		return ix.Commit(ctx)
	}
	if err := commit(1); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var group sync.WaitGroup
	queries := []griffin.Query{{Mode: griffin.ModeSaat}}
	for _, name := range []string{"block-max-pruning", "windowed-taat", "variable-block-max-wand"} {
		queries = append(queries, griffin.Query{Traversal: name})
	}
	for _, name := range []string{"linear-regression", "hash-segmentation-16"} {
		queries = append(queries, griffin.Query{Mode: griffin.ModeAnd, Traversal: name})
	}
	for _, q := range queries {
		q.Text, q.K = `{"all": 2, "t1": 1}`, numDocs
		group.Go(func() {
			for searched := false; ; {
				select {
				case <-done:
					if searched {
						return
					}
					time.Sleep(time.Millisecond)
				case <-time.After(time.Millisecond): // yields to the commits
				}
				r, err := ix.Search(ctx, q)
				switch {
				case errors.Is(err, griffin.ErrNoImpacts):
					continue
				case err != nil:
					t.Errorf("%v", err)
					return
				}
				best, rest := r.Hits[0].Score, r.Hits[len(r.Hits)-1].Score
				if n := len(r.Hits); r.Mode == griffin.ModeAnd && n != numDocs/5 || r.Mode != griffin.ModeAnd && (n != numDocs || best != rest+1) {
					t.Errorf("%s: %d hits from %g to %g", r.Traversal, n, best, rest)
				}
				searched = true
			}
		})
	}
	for i := range 5 {
		if err := commit(float64(2 + i)); err != nil {
			t.Error(err)
		}
		if _, err := ix.BuildImpacts(ctx, griffin.ImpactOptions{}); err != nil {
			t.Error(err)
		}
	}
	close(done)
	group.Wait()
}
