package inverter

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter/invertertest"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

func testSchema() *Schema {
	return &Schema{Analyzer: "english", Fields: []string{"", TitleField}, Positions: true}
}

// Partial indexes of at most most documents, in files if spilled.
func invertAll(t testing.TB, docs []corpus.Document, schema *Schema, most int, spilled bool) []*partial {
	t.Helper()
	analyzer, err := analysis.New(schema.Analyzer)
	if err != nil {
		t.Fatal(err)
	}
	files := &tempNames{dir: t.TempDir()}
	v := newInverter(schema, analyzer, vfs.OS, files)
	store := &partialStore{fs: vfs.OS, files: files}
	if !spilled {
		store.budget = 1 << 40
	}
	t.Cleanup(func() {
		if err := store.close(); err != nil {
			t.Error(err)
		}
	})
	var layout partialWriter
	var spill spillFile
	var partials []*partial
	for i := range docs {
		if err := v.add(&docs[i]); err != nil {
			t.Fatal(err)
		}
		if v.numDocs() < most && i < len(docs)-1 {
			continue
		}
		r, err := layout.finish(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.keep(r, &spill); err != nil {
			t.Fatal(err)
		}
		if r.spilled() != spilled {
			t.Fatalf("spilled: %v, want %v", r.spilled(), spilled)
		}
		r.streamBuf = 4 << 10
		partials = append(partials, r)
		v.reset()
	}
	if err := spill.finish(); err != nil {
		t.Fatal(err)
	}
	return partials
}

// In memory and in files, with and without positions.
func TestPartialsAgainstOracle(t *testing.T) {
	docs := invertertest.RandomDocs(1, 700, false)
	for _, positions := range []bool{false, true} {
		for _, spilled := range []bool{false, true} {
			for _, most := range []int{1, 13, 700} {
				t.Run(fmt.Sprintf("positions=%v/spilled=%v/most=%d", positions, spilled, most), func(t *testing.T) {
					opts := invertertest.Options{Analyzer: "english", Positions: positions, Fields: []string{"title", "author"}, NoStored: true}
					schema := &Schema{Analyzer: opts.Analyzer, Fields: append([]string{""}, opts.Fields...), Positions: positions}
					partials := invertAll(t, docs, schema, most, spilled)
					var got []invertertest.Doc
					for _, r := range partials {
						got = append(got, invertertest.DumpSource(t, r, 3, positions)...)
						if r.err != nil {
							t.Fatal(r.err)
						}
					}
					invertertest.SameDocs(t, got, invertertest.Expect(t, docs, opts))
				})
			}
		}
	}
}

// Next skips a list's unread rest.
func TestPartialListsSkip(t *testing.T) {
	docs := invertertest.RandomDocs(2, 900, false)
	for _, spilled := range []bool{false, true} {
		r := invertAll(t, docs, testSchema(), 900, spilled)[0]
		all, some := listKeys(t, r, 1), listKeys(t, r, 3)
		if !slices.Equal(all, some) {
			t.Errorf("spilled=%v: reading a third of the lists changes the others", spilled)
		}
	}
}

// The first block of every n-th list is read; all terms with DocFreq are returned.
func listKeys(t *testing.T, r *partial, n int) (keys []string) {
	t.Helper()
	it := &partialLists{r: r, field: -1}
	var block segment.PostingBlock
	for i := 0; it.Next(); i++ {
		keys = append(keys, fmt.Sprintf("%d %s %d", it.Field(), it.Term(), it.DocFreq()))
		if i%n == 0 {
			if err := it.ReadBlock(&block); err != nil {
				t.Fatal(err)
			}
		}
	}
	if it.Err() != nil {
		t.Fatal(it.Err())
	}
	return keys
}

// Cut or changed bytes give errors or other values, no panic.
func TestPartialDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	r := invertAll(t, invertertest.RandomDocs(3, 150, false), testSchema(), 150, false)[0]
	for range 2000 {
		c := *r
		c.fields = slices.Clone(r.fields)
		f := &c.fields[rng.IntN(len(c.fields))]
		for _, s := range []*region{&f.lists, &f.positions} {
			data := bytes.Clone(s.data)
			for range rng.IntN(4) {
				data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
			}
			if rng.IntN(3) == 0 {
				data = data[:rng.IntN(len(data))]
			}
			*s = memoryRegion(data)
		}
		it := &partialLists{r: &c, field: -1}
		var block segment.PostingBlock
		for it.Next() {
			for {
				if err := it.ReadBlock(&block); err != nil || block.N == 0 {
					break
				}
			}
		}
	}
}

func TestSpillFileShrunk(t *testing.T) {
	r := invertAll(t, invertertest.RandomDocs(3, 400, false), testSchema(), 400, true)[0]
	if err := os.Truncate(r.idEnds.file.(interface{ Name() string }).Name(), r.fields[0].lists.offset+100); err != nil {
		t.Fatal(err)
	}
	it := &partialLists{r: r, field: -1}
	for it.Next() {
	}
	if it.Err() == nil {
		t.Error("no error from a spill file that was cut")
	}
}

func TestChains(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var s chains
	for round := range 3 {
		s.reset()
		strings := make([][]byte, 50)
		cs := make([]chain, len(strings))
		for range 40_000 {
			i := rng.IntN(len(strings)) * rng.IntN(2)
			v := rng.Uint32() >> rng.IntN(32)
			s.putVarint(&cs[i], v)
			for ; v >= 0x80; v >>= 7 {
				strings[i] = append(strings[i], byte(v)|0x80)
			}
			strings[i] = append(strings[i], byte(v))
		}
		var empty chain
		if got := s.appendTo(nil, &empty); len(got) > 0 || s.size(&empty) != 0 {
			t.Fatalf("an empty chain has %d bytes (size %d)", len(got), s.size(&empty))
		}
		for i := range strings {
			if got := s.appendTo(nil, &cs[i]); !bytes.Equal(got, strings[i]) || s.size(&cs[i]) != len(strings[i]) {
				t.Fatalf("round %d: chain %d has %d bytes (size %d), want %d", round, i, len(got), s.size(&cs[i]), len(strings[i]))
			}
		}
	}
}

func TestTermTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	var table termTable
	for range 2 {
		table.reset()
		numbers := map[string]uint32{}
		for range 60_000 {
			term := make([]byte, 1+rng.IntN(3)*rng.IntN(10))
			for i := range term {
				term[i] = byte(rng.IntN(6))
			}
			number, isNew := table.insert(term)
			want, known := numbers[string(term)]
			if !known {
				want = uint32(len(numbers))
				numbers[string(term)] = want
			}
			if number != want || isNew == known {
				t.Fatalf("insert(%q) = %d, %v; want %d, %v", term, number, isNew, want, !known)
			}
		}
		keys := table.appendSorted(nil, new(termSorter))
		if len(keys) != len(numbers) {
			t.Fatalf("%d terms, want %d", len(keys), len(numbers))
		}
		for i := 1; i < len(keys); i++ {
			if bytes.Compare(table.term(keys[i-1].Number), table.term(keys[i].Number)) >= 0 {
				t.Fatalf("%q is not before %q", table.term(keys[i-1].Number), table.term(keys[i].Number))
			}
		}
	}
}

// Documents with known terms do not allocate.
func TestInverterAllocations(t *testing.T) {
	analyzer, err := analysis.New("simple")
	if err != nil {
		t.Fatal(err)
	}
	v := newInverter(testSchema(), analyzer, vfs.OS, nil)
	d := corpus.Document{ID: "id", Title: "moby dick", Text: "call me ishmael some years ago never mind how long precisely"}
	for range 50_000 {
		if err := v.add(&d); err != nil {
			t.Fatal(err)
		}
	}
	v.reset()
	if n := testing.AllocsPerRun(1000, func() {
		if err := v.add(&d); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a document", n)
	}
}

func TestLocations(t *testing.T) {
	locations := []corpus.Location{
		{File: "a", Line: 1},
		{File: "a", Line: 2},
		{File: "b", Offset: 7},
		{},
		{File: "b", Line: 1 << 40},
		{File: "b", Offset: 1 << 50},
	}
	var w locationWriter
	for range 2 {
		w.reset()
		for _, l := range locations {
			w.add(l)
		}
		r := locationReader{bytes: w.bytes}
		for _, want := range locations {
			if got, err := r.next(); err != nil || got != want {
				t.Fatalf("%+v, %v; want %+v", got, err, want)
			}
		}
		if _, err := r.next(); err == nil {
			t.Fatal("no error after the last location")
		}
	}
}

func FuzzPartialLists(f *testing.F) {
	r := invertAll(f, invertertest.RandomDocs(3, 40, false), testSchema(), 40, false)[0]
	f.Add(r.fields[0].lists.data, r.fields[0].positions.data)
	f.Fuzz(func(t *testing.T, lists, positions []byte) {
		c := *r
		c.fields = []partialField{{numTerms: 50, lists: memoryRegion(lists), positions: memoryRegion(positions)}}
		it := &partialLists{r: &c, field: -1}
		var block segment.PostingBlock
		for it.Next() {
			for {
				if err := it.ReadBlock(&block); err != nil || block.N == 0 {
					break
				}
				for i := 1; i < block.N; i++ {
					if block.DocIDs[i] <= block.DocIDs[i-1] {
						t.Fatal("DocIDs fall")
					}
				}
			}
		}
	})
}

func FuzzLocations(f *testing.F) {
	var w locationWriter
	w.add(corpus.Location{File: "a", Line: 3})
	w.add(corpus.Location{File: "b", Offset: 1 << 40})
	f.Add(w.bytes)
	f.Fuzz(func(_ *testing.T, data []byte) {
		r := locationReader{bytes: data}
		for range len(data) + 1 {
			if _, err := r.next(); err != nil {
				return
			}
		}
	})
}
