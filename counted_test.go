package griffin_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/query"
)

// facetIndex has three commits of documents with a keyword of one value of some kinds or none, one of several, and a number, some of
// them deleted.
func facetIndex(t *testing.T, rng *rand.Rand, r *griffin.Runtime, kinds int) *griffin.Index {
	t.Helper()
	m, err := griffin.ParseMapping([]byte(`{"properties":{"kind":{"type":"keyword"},"tags":{"type":"keyword"},"n":{"type":"long"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	ix, err := griffin.Create(filepath.Join(t.TempDir(), "index"), griffin.Settings{Mapping: m}, griffin.Options{Runtime: r})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	})
	for i := range 600 {
		d := griffin.Document{ID: fmt.Sprint("d", i), Text: fmt.Sprintf("w%d w%d w%d", rng.IntN(4), rng.IntN(4), rng.IntN(20))}
		d.Fields = append(d.Fields, griffin.Field{Name: "n", Value: fmt.Sprint(rng.IntN(100))})
		if rng.IntN(5) > 0 {
			d.Fields = append(d.Fields, griffin.Field{Name: "kind", Value: fmt.Sprint("k", rng.IntN(kinds))})
		}
		for range rng.IntN(4) {
			d.Fields = append(d.Fields, griffin.Field{Name: "tags", Value: fmt.Sprint("t", rng.IntN(12))})
		}
		if err := ix.Add(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if i%200 == 199 {
			for range 10 {
				if err := ix.Delete(t.Context(), fmt.Sprint("d", rng.IntN(i))); err != nil && !strings.Contains(err.Error(), "no document") {
					t.Fatal(err)
				}
			}
			if err := ix.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	return ix
}

// somePlace returns the sort values of a hit, or other values at times, nil if there is no hit.
func somePlace(t *testing.T, rng *rand.Rand, ix *griffin.Index, q griffin.Query) json.RawMessage {
	t.Helper()
	q.Policy, q.K, q.Facets, q.Aggregations = griffin.PolicyCPU, 1+rng.IntN(600), nil, nil
	r, err := ix.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Hits) == 0 {
		return nil
	}
	place := string(r.Hits[len(r.Hits)-1].Sort)
	if rng.IntN(4) == 0 { // values that no document has
		place = strings.NewReplacer(`"k1`, `"k1x`, `"k2"`, `"a"`, `"k3"`, `"z"`, "[1", "[-1", "[2", "[2000").Replace(place)
	}
	return json.RawMessage(place)
}

func gpuRuntime(t *testing.T) *griffin.Runtime {
	t.Helper()
	t.Setenv(libraryVariable, gputest.Library(t).Path())
	runtime, err := griffin.NewRuntime(griffin.RuntimeOptions{
		GPU: griffin.GPUOptions{Device: "0", Memory: griffin.MemorySize{Bytes: 4 << 20}}, Policy: griffin.PolicyGPU, CostDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := runtime.Close(); err != nil {
			t.Error(err)
		}
	})
	return runtime
}

// Facets and terms aggregations that a GPU counts, and hits that it sorts by a field, equal the results of the
// CPU, with the same matches. Results.CountedBy names the processor.
func TestFacetsOnGPU(t *testing.T) {
	rng := rand.New(rand.NewPCG(98, 1))
	runtime := gpuRuntime(t)
	ix := facetIndex(t, rng, runtime, 30)
	onGPU := 0
	for range sampletest.Rounds(40, 400) {
		q := griffin.Query{Text: fmt.Sprintf("w%d w%d", rng.IntN(4), rng.IntN(20)), K: []int{1, 10}[rng.IntN(2)], Mode: []griffin.Mode{griffin.ModeOr, griffin.ModeAnd, griffin.ModeAndOr}[rng.IntN(3)]}
		if rng.IntN(2) == 0 {
			q.Filter = &query.Range{Field: "n", From: fmt.Sprint(rng.IntN(100))}
		}
		switch rng.IntN(4) {
		case 0: // the CPU finds the matches
			q.Text, q.Mode = []string{"*:*", "w1 (w2 -w3) w4", `"w1 w2" w3`}[rng.IntN(3)], griffin.ModeOr
		case 1:
			q.PostFilter = &query.Range{Field: "n", To: fmt.Sprint(rng.IntN(100))}
		}
		if rng.IntN(2) == 0 {
			q.Facets = []griffin.Facet{{Field: "kind", Size: 1 + rng.IntN(40)}, {Field: "tags"}}
		}
		aggregations := map[string]string{
			"kinds": `{"terms":{"field":"kind","size":7,"missing":"none","order":{"_key":"desc"}}}`,
			"tags":  `{"terms":{"field":"tags","include":"t1.*","min_doc_count":0}}`,
			"stats": `{"stats":{"field":"n"}}`,
			"deep":  `{"terms":{"field":"kind"},"aggs":{"n":{"max":{"field":"n"}}}}`,
		}
		sorts := []string{`"n"`, `[{"n":"desc"}]`, `[{"kind":{"order":"desc","missing":"_first"}}]`, `["n","kind"]`, `[{"kind":"asc"},{"n":"desc"}]`, `["tags"]`, `["_score","n"]`}
		q.Sort = json.RawMessage(sorts[rng.IntN(len(sorts))])
		if rng.IntN(2) == 0 {
			q.Sort = nil
		}
		asked := map[string]json.RawMessage{}
		for _, name := range slices.Sorted(maps.Keys(aggregations)) {
			if rng.IntN(3) == 0 {
				asked[name] = json.RawMessage(aggregations[name])
			}
		}
		if len(asked) > 0 {
			q.Aggregations, _ = json.Marshal(asked)
		}
		if len(asked)+len(q.Facets)+len(q.Sort) == 0 {
			continue
		}
		if len(q.Sort) > 0 && rng.IntN(2) == 0 {
			q.SearchAfter = somePlace(t, rng, ix, q)
		}
		got, err := ix.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		q.Policy = griffin.PolicyCPU
		want, err := ix.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		values := asked["stats"] == nil && asked["deep"] == nil && len(asked)+len(q.Facets) > 0
		order := string(q.Sort) != `["tags"]` && string(q.Sort) != `["_score","n"]` && len(q.Sort) > 0
		flat := q.PostFilter == nil && strings.HasPrefix(q.Text, "w") && !strings.Contains(q.Text, "(")
		counts := values || order && flat && len(asked)+len(q.Facets) == 0
		if (got.CountedBy == "gpu") != (counts && got.CountedBy != "cpu: there is nothing to look for") || !strings.HasPrefix(want.CountedBy, "cpu: ") {
			t.Fatalf("%+v, %s: counted by %q, and with the policy cpu by %q", q, q.Aggregations, got.CountedBy, want.CountedBy)
		}
		if (got.CountTook > 0) != (got.CountedBy == "gpu") || want.CountTook > 0 {
			t.Fatalf("counted by %q in %v, by %q in %v", got.CountedBy, got.CountTook, want.CountedBy, want.CountTook)
		}
		if got.CountedBy == "gpu" {
			onGPU++
		}
		if !reflect.DeepEqual(got.Facets, want.Facets) || !reflect.DeepEqual(got.Hits, want.Hits) || got.Total != want.Total || got.Matches != want.Matches || got.Mode != want.Mode {
			t.Fatalf("%+v: the GPU has\n%+v, the CPU\n%+v", q, got, want)
		}
		gotJSON, err1 := json.Marshal(got.Aggregations)
		wantJSON, err2 := json.Marshal(want.Aggregations)
		if err1 != nil || err2 != nil || string(gotJSON) != string(wantJSON) {
			t.Fatalf("%s: the GPU has\n%s, the CPU\n%s", q.Aggregations, gotJSON, wantJSON)
		}
	}
	if onGPU < 5 {
		t.Errorf("%d searches were counted by the GPU", onGPU)
	}
}

// Pages of hits in the order of two keys are the CPU's, where more documents have a value of the first than the GPU is asked for
// at first: from the beginning, and from the last documents with a value.
func TestPagesOfTiesOnGPU(t *testing.T) {
	rng := rand.New(rand.NewPCG(99, 1))
	ix := facetIndex(t, rng, gpuRuntime(t), 2)
	for _, sort := range []string{`["kind","n"]`, `[{"kind":"desc"},{"n":"desc"}]`} {
		q := griffin.Query{Text: "w0 w1 w2", K: 600, Sort: json.RawMessage(sort), Policy: griffin.PolicyCPU}
		all, err := ix.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		kind := func(i int) string {
			value, _, _ := strings.Cut(string(all.Hits[i].Sort), ",")
			return value
		}
		places := []json.RawMessage{nil}
		for i := range len(all.Hits) - 4 {
			if kind(i) == kind(i+3) && kind(i) != kind(i+4) {
				places = append(places, all.Hits[i].Sort)
			}
		}
		if len(places) != 3 { // two kinds, and none
			t.Fatalf("%d places", len(places))
		}
		q.K = 10
		for _, place := range places {
			q.SearchAfter = place
			for page := range 3 {
				want, err := ix.Search(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				onGPU := q
				onGPU.Policy = ""
				got, err := ix.Search(t.Context(), onGPU)
				if err != nil {
					t.Fatal(err)
				}
				if got.CountedBy != "gpu" {
					t.Fatalf("%s, page %d after %s: counted by %q", sort, page, place, got.CountedBy)
				}
				if len(want.Hits) != q.K || !reflect.DeepEqual(got.Hits, want.Hits) || got.Matches != want.Matches {
					t.Fatalf("%s, page %d after %s: the GPU has\n%+v, the CPU\n%+v", sort, page, place, got.Hits, want.Hits)
				}
				q.SearchAfter = want.Hits[q.K-1].Sort
			}
		}
	}
}
