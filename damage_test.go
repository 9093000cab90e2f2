package griffin

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// With a damaged file, a search returns the right answer or ErrCorrupt.
func TestDamage(t *testing.T) {
	var docs []Document
	for _, d := range animals {
		for range 60 {
			d.ID += "+"
			docs = append(docs, d)
		}
	}
	ix := newTestIndex(t, docs)
	dir := ix.ix.Dir()
	queries := []string{"cat dog", "+dog -fox", `"lazy dog" OR mat`, "title:fox"}
	ask := func(query string) ([]Hit, error) {
		ix, err := Open(dir, Options{})
		if err != nil {
			return nil, err
		}
		defer ix.Close()
		r, err := ix.Search(t.Context(), Query{Text: query, SnippetLength: DefaultSnippetLength, K: 5})
		if err != nil {
			return nil, err
		}
		return r.Hits, nil
	}
	want := map[string][]Hit{}
	for _, q := range queries {
		hits, err := ask(q)
		if err != nil || len(hits) == 0 {
			t.Fatalf("%s: %d hits, %v", q, len(hits), err)
		}
		want[q] = hits
	}
	rng := rand.New(rand.NewPCG(8, 8))
	failed := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		good, err := os.ReadFile(path)
		if err != nil || len(good) == 0 {
			return err
		}
		for range 12 {
			bad := append([]byte(nil), good...)
			bad[rng.IntN(len(bad))] ^= byte(1 << rng.IntN(8))
			if rng.IntN(4) == 0 {
				bad = bad[:rng.IntN(len(bad))]
			}
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				return err
			}
			for _, q := range queries {
				hits, err := ask(q)
				switch {
				case errors.Is(err, ErrCorrupt), errors.Is(err, ErrVersion), errors.Is(err, ErrNotIndex):
					failed++
				case err != nil:
					t.Errorf("%s, damaged: %s: error %v, want ErrCorrupt", entry.Name(), q, err)
				case !reflect.DeepEqual(hits, want[q]):
					t.Errorf("%s, damaged: %s: got %+v, want %+v", entry.Name(), q, hits, want[q])
				}
			}
		}
		return os.WriteFile(path, good, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	if failed == 0 {
		t.Error("no search found any damage")
	}
}
