package inverter

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// keptIDs returns the ids of the documents that were not dropped, in order.
func keptIDs(p *Partials) (ids []string) {
	for _, s := range p.Sources() {
		for doc := range s.NumDocs() {
			id := string(s.ID(doc))
			if !s.Dropped().Has(doc) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// A Crew keeps the documents that a Batch keeps, however it cuts them into chunks.
func TestCrewEqualsBatch(t *testing.T) {
	schema := &Schema{Analyzer: "whitespace", Fields: []string{""}, Stored: true}
	const memory, size = 64 << 20, 450_000 // 10 documents are a chunk, and from 3 on two at the end
	several := 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 5))
		mem := vfstest.NewMem()
		if err := mem.MkdirAll("tmp"); err != nil {
			t.Fatal(err)
		}
		crew, err := NewCrew(schema, 1+rng.IntN(3))
		if err != nil {
			t.Fatal(err)
		}
		options := Options{Schema: schema, FS: mem, Dir: "tmp", MemoryBytes: memory}
		c, b := crew.NewBatch(options), NewBatch(options, analyzerOf(t, schema))
		for seq := range 1 + rng.IntN(40) {
			id := fmt.Sprint(rng.IntN(12))
			switch rng.IntN(8) {
			case 0, 1:
				c.Delete(id)
				b.Delete(id)
			case 2:
				c.Dispatch()
			default:
				d, v := corpus.Document{ID: id, Text: "text " + id}, segment.Version{Seq: uint64(seq) + 1, Number: 1}
				c.Add(&d, v, size)
				if err := b.AddVersion(&d, v); err != nil {
					t.Fatal(err)
				}
			}
		}
		got, err := c.Partials()
		if err != nil {
			t.Fatal(err)
		}
		want, err := b.Partials()
		if err != nil {
			t.Fatal(err)
		}
		if got.Len() > 3 {
			several++
		}
		if g, w := keptIDs(got), keptIDs(want); !slices.Equal(g, w) {
			t.Errorf("seed %d: %d partial indexes have documents %q, want %q", seed, got.Len(), g, w)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if several < 50 {
		t.Errorf("%d batches have more than 3 partial indexes", several)
	}
}
