package griffin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/query"
)

// typedAnswers are answers of one index that read every column in several ways.
func typedAnswers(t *testing.T, dir string) (answers []string, err error) {
	t.Helper()
	ix, err := Open(dir, Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ix.Close()) }()
	for _, q := range []Query{
		{Node: &query.Range{Field: "n", From: "10", To: "60"}, Sort: json.RawMessage(`["day",{"kind":"desc"}]`)},
		{Node: &query.MatchAll{}, Filter: &query.Terms{Field: "kind", Values: []string{"k1", "k5"}}, Sort: json.RawMessage(`[{"real":"desc"},"host"]`)},
		{Text: "w1 w2", Facets: []Facet{{Field: "kind"}, {Field: "ok"}}, Collapse: "ok"},
		{Node: &query.GeoBox{Field: "at", Top: 50, Left: 0, Bottom: 0, Right: 60}, Aggregations: json.RawMessage(`{"h":{"date_histogram":{"field":"day","calendar_interval":"month"},"aggs":{"s":{"stats":{"field":"real"}}}},
			"c":{"cardinality":{"field":"host"}},"m":{"missing":{"field":"n"}},"k":{"terms":{"field":"kind","order":{"_key":"asc"}}}}`)},
		{Node: &query.Prefix{Field: "kind", Text: "k", Exact: true}, SnippetLength: 50},
		{Node: &query.Weights{Field: "model", Terms: []query.TermWeight{{Term: "a", Weight: 2}, {Term: "b", Weight: 1}}}},
	} {
		q.K, q.Count = 8, true
		r, err := ix.Search(t.Context(), q)
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal([]any{r.Hits, r.Total, r.Facets, r.Aggregations})
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, string(text))
	}
	completions, err := NewSuggester(ix).Complete(t.Context(), Complete{Text: "k", Field: "kind", Weight: "n"})
	return append(answers, fmt.Sprint(completions)), err
}

// With a damaged file, searches over columns of all types return the right answers or ErrCorrupt.
func TestDamageOfTypedFields(t *testing.T) {
	m, err := ParseMapping([]byte(`{"properties":{"n":{"type":"long"},"real":{"type":"double"},"ok":{"type":"boolean"},"day":{"type":"date"},"host":{"type":"ip"},
		"at":{"type":"geo_point"},"kind":{"type":"keyword"},"model":{"type":"sparse_vector"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "ix")
	ix, err := Create(dir, Settings{Mapping: m}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(19, 6))
	for i := range 600 {
		d := Document{ID: fmt.Sprint(i), Text: fmt.Sprintf("w%d w%d", rng.IntN(4), rng.IntN(4))}
		add := func(name, format string, values ...any) {
			if rng.IntN(4) > 0 {
				d.Fields = append(d.Fields, Field{Name: name, Value: fmt.Sprintf(format, values...)})
			}
		}
		add("n", "%d", rng.IntN(100))
		add("n", "%d", rng.IntN(100))
		add("real", "%g", float64(rng.IntN(100))/8)
		add("ok", "%v", rng.IntN(2) == 0)
		add("day", "2024-%02d-01", 1+rng.IntN(12))
		add("host", "10.0.0.%d", rng.IntN(50))
		add("at", "%d,%d", rng.IntN(80), rng.IntN(80))
		add("kind", "k%d", rng.IntN(9))
		add("kind", "k%d", rng.IntN(9))
		add("model", `{"a":%d,"b":0.5}`, 1+rng.IntN(5))
		if err := ix.Add(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if i == 300 {
			err = errors.Join(ix.Commit(t.Context()), ix.Delete(t.Context(), "7"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(ix.Commit(t.Context()), ix.Close()); err != nil {
		t.Fatal(err)
	}
	want, err := typedAnswers(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	failed := map[string]int{}
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		good, err := os.ReadFile(path)
		if err != nil || len(good) == 0 {
			return err
		}
		rounds := 4
		if entry.Name() == "columns" {
			rounds = 60
		}
		for range rounds {
			bad := slices.Clone(good)
			bad[rng.IntN(len(bad))] ^= byte(1 << rng.IntN(8))
			if rng.IntN(4) == 0 {
				bad = bad[:rng.IntN(len(bad))]
			}
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				return err
			}
			got, err := typedAnswers(t, dir)
			switch {
			case errors.Is(err, ErrCorrupt), errors.Is(err, ErrVersion), errors.Is(err, ErrNotIndex):
				failed[entry.Name()]++
			case err != nil:
				t.Errorf("%s, damaged: error %v, want ErrCorrupt", entry.Name(), err)
			case !slices.Equal(got, want):
				t.Errorf("%s, damaged: got %q, want %q", entry.Name(), got, want)
			}
		}
		return os.WriteFile(path, good, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	if failed["columns"] < 20 {
		t.Errorf("damage was found %v times", failed)
	}
}
