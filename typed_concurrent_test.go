package griffin_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/query"
)

// Searches over columns agree with themselves while documents are written, replaced and merged.
func TestTypedSearchesBesideWrites(t *testing.T) {
	m, err := griffin.ParseMapping([]byte(`{"properties":{"n":{"type":"long"},"kind":{"type":"keyword","normalizer":"lowercase"},"day":{"type":"date"},"at":{"type":"geo_point"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	ix, err := griffin.Create(filepath.Join(t.TempDir(), "ix"), griffin.Settings{Analyzer: "simple", Mapping: m}, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := ix.Writer(t.Context(), griffin.WriterOptions{RefreshInterval: 5 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	const rounds = 60
	done := make(chan struct{})
	var group sync.WaitGroup
	for seed := range uint64(3) {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 6))
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				if err := searchTyped(t, ix, rng); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	rng := rand.New(rand.NewPCG(19, 7))
	for i := range rounds {
		var writes []griffin.Write
		for range 20 {
			n := rng.IntN(100)
			d := griffin.Document{ID: fmt.Sprint(rng.IntN(400)), Text: fmt.Sprintf("w%d", n%4), Fields: []griffin.Field{
				{Name: "n", Value: fmt.Sprint(n)}, {Name: "kind", Value: fmt.Sprintf("K%d", n%7)}, {Name: "day", Value: fmt.Sprintf("2024-01-%02d", 1+n%28)}, {Name: "at", Value: fmt.Sprintf("%d,%d", n%80, n)},
			}}
			if rng.IntN(10) == 0 {
				d.Fields = d.Fields[2:]
			}
			writes = append(writes, griffin.Write{Document: d})
		}
		if _, err := w.Apply(t.Context(), writes...); err != nil {
			t.Fatal(err)
		}
		if i%20 == 19 {
			if err := w.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	close(done)
	group.Wait()
	if err := errors.Join(w.Refresh(t.Context()), w.Close(t.Context()), ix.Close()); err != nil {
		t.Fatal(err)
	}
}

// searchTyped checks that the parts of an answer are of the same documents.
func searchTyped(t *testing.T, ix *griffin.Index, rng *rand.Rand) error {
	from := rng.IntN(60)
	nodes := []query.Node{
		&query.Range{Field: "n", From: fmt.Sprint(from), To: fmt.Sprint(from + 30)}, &query.Terms{Field: "kind", Values: []string{"K1", "k3"}},
		&query.GeoBox{Field: "at", Top: float64(from + 20), Bottom: float64(from), Left: 0, Right: 90}, &query.MatchAll{},
	}
	q := griffin.Query{
		Node: nodes[rng.IntN(4)], K: 20, Sort: json.RawMessage(`[{"n":"desc"}]`), Count: true,
		Aggregations: json.RawMessage(`{"kinds":{"terms":{"field":"kind","size":100}},"none":{"missing":{"field":"kind"}},"n":{"stats":{"field":"n"}},"all":{"value_count":{"field":"day"}}}`),
	}
	if rng.IntN(2) == 0 {
		q.Filter = &query.Term{Text: "w1"}
	}
	r, err := ix.Search(t.Context(), q)
	if err != nil {
		return err
	}
	var a struct {
		Kinds struct {
			Buckets []struct {
				Count int64 `json:"doc_count"`
			} `json:"buckets"`
		} `json:"kinds"`
		None struct {
			Count int64 `json:"doc_count"`
		} `json:"none"`
		N struct {
			Max *float64 `json:"max"`
		} `json:"n"`
		All struct {
			Value int64 `json:"value"`
		} `json:"all"`
	}
	text, err := json.Marshal(r.Aggregations)
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		return err
	}
	sum := a.None.Count
	for _, b := range a.Kinds.Buckets {
		sum += b.Count
	}
	var first []*float64
	if len(r.Hits) > 0 {
		if err := json.Unmarshal(r.Hits[0].Sort, &first); err != nil {
			return err
		}
	}
	switch {
	case sum != r.Total.Value || a.All.Value != r.Total.Value || len(r.Hits) != int(min(r.Total.Value, 20)):
		return fmt.Errorf("%s: %d hits of %d, %s", q.Node, len(r.Hits), r.Total.Value, text)
	case len(r.Hits) > 0 && (first[0] == nil) != (a.N.Max == nil) || len(r.Hits) > 0 && first[0] != nil && *first[0] != *a.N.Max:
		return fmt.Errorf("%s: the first hit has %s, %s", q.Node, r.Hits[0].Sort, text)
	}
	return nil
}
