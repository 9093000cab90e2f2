package inverter

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter/invertertest"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// TestPartialsErr: the error of any partial index is reported, and its ids are empty.
func TestPartialsErr(t *testing.T) {
	p := &Partials{list: invertAll(t, invertertest.RandomDocs(21, 300, false), testSchema(), 100, true)}
	if p.Spilled() != 3 || p.NumDocs() != 300 || len(p.Sources()) != 3 {
		t.Fatalf("%d spilled of %d, %d documents", p.Spilled(), len(p.Sources()), p.NumDocs())
	}
	for _, src := range p.Sources() {
		for d := range src.NumDocs() {
			if len(src.ID(d)) == 0 {
				t.Fatalf("document %d has no id", d)
			}
		}
	}
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(p.list[1].idBytes.file.(interface{ Name() string }).Name(), p.list[1].idBytes.offset+1); err != nil {
		t.Fatal(err)
	}
	for d, r := range []segment.Source{p.list[0], p.list[1]} {
		if len(r.ID(5)) > 0 != (d == 0) {
			t.Errorf("partial index %d: id %q", d, r.ID(5))
		}
	}
	if p.Err() == nil {
		t.Error("no error of ids that were cut off")
	}
}

func TestWindowBytes(t *testing.T) {
	for _, c := range []struct {
		budget int64
		n      int
		want   int
	}{
		{0, 1, 4 << 10},
		{100 << 10, 5, 10 << 10},
		{100 << 10, 0, 50 << 10},
		{100 << 10, 100, 4 << 10},
		{1 << 40, 5, 256 << 10},
	} {
		if got := new(partialStore).windowBytes(c.budget, c.n); got != c.want {
			t.Errorf("%d bytes for %d sections: windows of %d, want %d", c.budget, c.n, got, c.want)
		}
	}
	p := &Partials{list: []*partial{{fields: make([]partialField, 2)}, {fields: make([]partialField, 3)}}}
	p.setWindows(100 << 10)
	for i, r := range p.list {
		if r.streamBuf != 10<<10 {
			t.Errorf("partial index %d: window of %d", i, r.streamBuf)
		}
	}
}

// TestStoreBudget: partial indexes stay in memory while their sum is within the budget.
func TestStoreBudget(t *testing.T) {
	s := partialStore{budget: 100}
	for i, c := range []struct {
		size int64
		kept bool
	}{{60, true}, {41, false}, {40, true}, {1, false}, {0, true}} {
		if got := s.reserve(c.size); got != c.kept {
			t.Errorf("%d: %d bytes are kept: %t, want %t", i, c.size, got, c.kept)
		}
	}
}

func TestCheckVector(t *testing.T) {
	texts, weights := Schema{}, Schema{WeightScale: 2}
	of := func(weights ...float64) *corpus.Document {
		d := &corpus.Document{Vector: []corpus.TermWeight{}}
		for i, w := range weights {
			d.Vector = append(d.Vector, corpus.TermWeight{Term: fmt.Sprint(i), Weight: w})
		}
		return d
	}
	term := func(n int) *corpus.Document {
		return &corpus.Document{Vector: []corpus.TermWeight{{Term: strings.Repeat("x", n), Weight: 1}}}
	}
	most := float64(maxWeight) / 2 // 2^16-1 divides 2^32-1
	full := slices.Repeat([]float64{most}, math.MaxUint32/int(maxWeight))
	for name, c := range map[string]struct {
		schema *Schema
		doc    *corpus.Document
		want   string // part of the error; "" is none
	}{
		"text":               {&texts, &corpus.Document{}, ""},
		"vector among texts": {&texts, of(1), "the index is one of texts"},
		"text among vectors": {&weights, &corpus.Document{}, "has no vector"},
		"no terms":           {&weights, of(), ""},
		"weights":            {&weights, of(0, 1, most), ""},
		"rounds to the most": {&weights, of(most + 0.2), ""},
		"negative":           {&weights, of(1, -1e-9), "is negative"},
		"not a number":       {&weights, of(math.NaN()), "is negative"},
		"too great":          {&weights, of(most + 0.25), "passes 65535"},
		"empty term":         {&weights, term(0), "term of 0 bytes"},
		"longest term":       {&weights, term(maxTermBytes), ""},
		"term too long":      {&weights, term(maxTermBytes + 1), "term of 32769 bytes"},
		"greatest sum":       {&weights, of(full...), ""},
		"sum too great":      {&weights, of(append(full, 0.5)...), "sum to 4.294967296e+09"},
	} {
		err := c.schema.checkVector(c.doc)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// duplicate is a call of report.
type duplicate struct {
	id             string
	earlier, later corpus.Location
}

// TestDropDuplicates compares the dropped documents and their reports with a model.
func TestDropDuplicates(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 1))
	docs := invertertest.RandomDocs(22, 400, false)
	last := map[string]int{}
	for i := range docs {
		docs[i].ID = fmt.Sprint(rng.IntN(250))
		last[docs[i].ID] = i
	}
	var want []duplicate
	for i := range docs {
		if later := last[docs[i].ID]; later != i {
			want = append(want, duplicate{docs[i].ID, docs[i].Source, docs[later].Source})
		}
	}
	for _, spilled := range []bool{false, true} {
		for _, most := range []int{1, 13, 400} {
			p := &Partials{list: invertAll(t, docs, testSchema(), most, spilled)}
			var got []duplicate
			n, err := p.DropDuplicates(func(id string, earlier, later corpus.Location) {
				got = append(got, duplicate{id, earlier, later})
			})
			if err != nil || n != len(want) || !slices.Equal(got, want) || p.NumDocs() != int64(len(last)) {
				t.Errorf("spilled=%t, most=%d: %d dropped, %d left, %v; want %d and %d", spilled, most, n, p.NumDocs(), err, len(want), len(last))
			}
			for id, doc := range last {
				partial, doc := doc/most, doc%most
				if got, found, err := p.list[partial].find(id); err != nil || !found || int(got) != doc {
					t.Errorf("spilled=%t, most=%d: id %s is document %d, %t, %v; want %d", spilled, most, id, got, found, err, doc)
				}
				if p.list[partial].Dropped().Has(doc) {
					t.Errorf("spilled=%t, most=%d: the last document with id %s is dropped", spilled, most, id)
				}
			}
			if _, found, err := p.list[0].find("none"); found || err != nil {
				t.Errorf("an unknown id is found: %t, %v", found, err)
			}
		}
	}
}

// idSource is a source of ids only.
type idSource struct {
	segment.Source
	ids     []string
	dropped *segment.Bitmap
}

func (s *idSource) NumDocs() int             { return len(s.ids) }
func (s *idSource) ID(doc int) []byte        { return []byte(s.ids[doc]) }
func (s *idSource) Dropped() *segment.Bitmap { return s.dropped }

// TestDropDuplicatesOfSource: a document that is already dropped counts neither as a
// duplicate nor as a later one, and the source does not change.
func TestDropDuplicatesOfSource(t *testing.T) {
	src := &idSource{ids: []string{"a", "b", "a", "c", "b", "a", "c"}}
	for _, c := range []struct {
		dropped  []int
		want     []int
		reported []string
	}{
		{nil, []int{0, 1, 2, 3}, []string{"a", "a", "b", "c"}},
		{[]int{5, 0, 6}, []int{0, 1, 5, 6}, []string{"b"}},
		{[]int{0, 2, 4, 6}, []int{0, 2, 4, 6}, nil},
	} {
		src.dropped = nil
		if c.dropped != nil {
			src.dropped = segment.NewBitmap(len(src.ids))
			for _, d := range c.dropped {
				src.dropped.Set(d)
			}
		}
		var reported []string
		got, err := DropDuplicates(src, func(id string, _, _ corpus.Location) { reported = append(reported, id) })
		if err != nil {
			t.Fatal(err)
		}
		for d := range src.ids {
			if got.Dropped().Has(d) != slices.Contains(c.want, d) {
				t.Errorf("dropped before %d: document %d is dropped: %t", c.dropped, d, got.Dropped().Has(d))
			}
		}
		if slices.Sort(reported); !slices.Equal(reported, c.reported) || src.dropped.Count() != len(c.dropped) {
			t.Errorf("dropped before %d: reported %q, want %q; the source has %d dropped", c.dropped, reported, c.reported, src.dropped.Count())
		}
		if _, err := DropDuplicates(src, nil); err != nil {
			t.Error(err)
		}
	}
	for n, ok := range map[int]bool{0: false, 1: true, MaxIDBytes: true, MaxIDBytes + 1: false} {
		_, err := DropDuplicates(&idSource{ids: []string{strings.Repeat("x", n)}}, nil)
		if ok && err != nil || !ok && !errors.Is(err, base.ErrBadInput) {
			t.Errorf("id of %d bytes: %v", n, err)
		}
	}
}

func TestTermTableUsedBytes(t *testing.T) {
	var table termTable
	table.reset()
	length := 0
	for i := range 1000 {
		term := fmt.Sprint(i % 600)
		if _, isNew := table.insert([]byte(term)); isNew {
			length += len(term)
		}
	}
	// A term takes its bytes, their end, and two slots of 8 bytes on average.
	if want := int64(600*20 + length); table.usedBytes() != want {
		t.Errorf("%d bytes, want %d", table.usedBytes(), want)
	}
}

// TestInvertWindows: the partial indexes of Invert are read through windows of an eighth of
// the memory.
func TestInvertWindows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "docs.jsonl")
	if err := os.WriteFile(path, []byte(`{"id":"a","text":"some words"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := corpus.Open([]string{path}, corpus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const memory = 1 << 20
	schema := testSchema()
	p, err := Invert(t.Context(), reader, Options{Schema: schema, FS: vfs.OS, Dir: t.TempDir(), MemoryBytes: memory, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if want := p.store.windowBytes(memory/8, len(schema.Fields)); p.Len() != 1 || p.list[0].streamBuf != want || want != 32<<10 {
		t.Errorf("%d partial indexes, the first with a window of %d bytes, want %d", p.Len(), p.list[0].streamBuf, want)
	}
}
