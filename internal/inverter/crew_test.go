package inverter

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
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

// A Crew makes the same lists and stored documents as a Batch, in memory and in files.
func TestCrewStoresAndSpills(t *testing.T) {
	s := &Schema{Analyzer: "simple", Fields: []string{"", "own", "title", "other", "body"}, Positions: true, Stored: true}
	crew, err := NewCrew(s, 2)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(12) {
		docs := mirrorDocs(rand.New(rand.NewPCG(seed, 6)), 100, seed%3 > 0)
		dirs := []string{t.TempDir(), t.TempDir()}
		memory := int64(64 << 20)
		if seed%2 == 1 {
			memory = 1 << 10
		}
		c := crew.NewBatch(Options{Schema: s, FS: vfs.OS, Dir: dirs[0], MemoryBytes: memory})
		b := NewBatch(Options{Schema: s, FS: vfs.OS, Dir: dirs[1], MemoryBytes: 64 << 20}, analyzerOf(t, s))
		b.inverter.accepted = true
		for i := range docs {
			v := segment.Version{Seq: uint64(i) + 1, Number: 1}
			c.Add(&docs[i], v, 100)
			if err := b.AddVersion(&docs[i], v); err != nil {
				t.Fatal(err)
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
		if got.Len() != 1 || want.Len() != 1 || got.Spilled() != int(seed%2) {
			t.Fatalf("seed %d: %d partial indexes, %d in files, want %d", seed, got.Len(), got.Spilled(), want.Len())
		}
		files, err := vfs.OS.ReadDir(dirs[0])
		if err != nil {
			t.Fatal(err)
		}
		if stored := slices.ContainsFunc(files, func(name string) bool { return strings.HasPrefix(name, "stored") }); stored != (seed%2 == 1) {
			t.Errorf("seed %d: files %v", seed, files)
		}
		if g, w := listTexts(t, got.list[0]), listTexts(t, want.list[0]); !slices.Equal(g, w) {
			t.Errorf("seed %d: other lists", seed)
		}
		if g, w := storedTexts(t, got.list[0]), storedTexts(t, want.list[0]); len(g) != len(docs) || !slices.Equal(g, w) {
			t.Errorf("seed %d: stored documents %q, want %q", seed, g, w)
		}
		if err := errors.Join(c.Close(), b.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

func storedTexts(t *testing.T, s segment.Source) (all []string) {
	t.Helper()
	r, err := s.Stored()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var d segment.StoredDoc
	for i := range r.NumDocs() {
		if err := r.Get(base.DocID(i), &d); err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s %s %v", d.Title, d.Text, len(d.Extra)))
	}
	return all
}
