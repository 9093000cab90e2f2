package index

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// invertAll makes runs of documents, at most perRun in each, spilled if told so.
func invertAll(t testing.TB, docs []corpus.Document, opts Options, perRun int, spilled bool) []*run {
	t.Helper()
	opts, err := opts.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	analyzer, err := analysis.New(opts.Analyzer)
	if err != nil {
		t.Fatal(err)
	}
	files := &tempNames{dir: t.TempDir()}
	v := newInverter(opts.schema(), analyzer, vfs.OS, files)
	store := &runStore{fs: vfs.OS, files: files}
	if !spilled {
		store.budget = 1 << 40
	}
	t.Cleanup(func() {
		if err := store.close(); err != nil {
			t.Error(err)
		}
	})
	var layout runWriter
	var spill spillFile
	var runs []*run
	for i := range docs {
		if err := v.add(&docs[i]); err != nil {
			t.Fatal(err)
		}
		if v.numDocs() < perRun && i < len(docs)-1 {
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
			t.Fatalf("run spilled: %v, want %v", r.spilled(), spilled)
		}
		r.streamBuf = 4 << 10
		runs = append(runs, r)
		v.reset()
	}
	if err := spill.finish(); err != nil {
		t.Fatal(err)
	}
	return runs
}

// TestRunsAgainstOracle compares runs, in memory and spilled, with and without
// positions, with the slow inversion.
func TestRunsAgainstOracle(t *testing.T) {
	docs := randomDocs(1, 700, false)
	for _, positions := range []bool{false, true} {
		for _, spilled := range []bool{false, true} {
			for _, perRun := range []int{1, 13, 700} {
				t.Run(fmt.Sprintf("positions=%v/spilled=%v/run=%d", positions, spilled, perRun), func(t *testing.T) {
					opts := Options{Positions: positions, Fields: []string{"title", "author"}, NoStored: true}
					runs := invertAll(t, docs, opts, perRun, spilled)
					var got []indexedDoc
					for _, r := range runs {
						got = append(got, dumpSource(t, r, 3, positions)...)
						if r.err != nil {
							t.Fatal(r.err)
						}
					}
					sameDocs(t, got, expect(t, docs, opts))
				})
			}
		}
	}
}

// TestRunListsSkip checks that Next passes over what was not read of a list.
func TestRunListsSkip(t *testing.T) {
	docs := randomDocs(2, 900, false)
	for _, spilled := range []bool{false, true} {
		r := invertAll(t, docs, Options{Positions: true, NoStored: true}, 900, spilled)[0]
		all, some := listKeys(t, r, 1), listKeys(t, r, 3)
		if !slices.Equal(all, some) {
			t.Errorf("spilled=%v: reading a third of the lists changes the others", spilled)
		}
	}
}

// listKeys reads the first block of every n-th list and returns all terms with
// their DocFreq.
func listKeys(t *testing.T, r *run, n int) (keys []string) {
	t.Helper()
	it := &runLists{r: r, field: -1}
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

// TestRunDamage checks that a run whose bytes were cut or changed gives errors
// or other values, never a panic.
func TestRunDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	r := invertAll(t, randomDocs(3, 150, false), Options{Positions: true, NoStored: true}, 150, false)[0]
	for range 2000 {
		c := *r
		c.fields = slices.Clone(r.fields)
		f := &c.fields[rng.IntN(len(c.fields))]
		for _, s := range []*section{&f.lists, &f.positions} {
			data := bytes.Clone(s.data)
			for range rng.IntN(4) {
				data[rng.IntN(len(data))] ^= 1 << rng.IntN(8)
			}
			if rng.IntN(3) == 0 {
				data = data[:rng.IntN(len(data))]
			}
			*s = memorySection(data)
		}
		it := &runLists{r: &c, field: -1}
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

// TestSpillFileShrunk checks that a spill file that lost its end is an error.
func TestSpillFileShrunk(t *testing.T) {
	r := invertAll(t, randomDocs(3, 400, false), Options{Positions: true, NoStored: true}, 400, true)[0]
	if err := os.Truncate(r.idEnds.file.(*os.File).Name(), r.fields[0].lists.offset+100); err != nil {
		t.Fatal(err)
	}
	it := &runLists{r: r, field: -1}
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
			i := rng.IntN(len(strings)) * rng.IntN(2) // one of them is long
			v := rng.Uint32() >> rng.IntN(32)
			s.putVarint(&cs[i], v)
			for ; v >= 0x80; v >>= 7 {
				strings[i] = append(strings[i], byte(v)|0x80)
			}
			strings[i] = append(strings[i], byte(v))
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
				term[i] = byte(rng.IntN(6)) // zero bytes too
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
		keys := table.appendSorted(nil)
		if len(keys) != len(numbers) {
			t.Fatalf("%d terms, want %d", len(keys), len(numbers))
		}
		for i := 1; i < len(keys); i++ {
			if bytes.Compare(table.term(keys[i-1].number), table.term(keys[i].number)) >= 0 {
				t.Fatalf("%q is not before %q", table.term(keys[i-1].number), table.term(keys[i].number))
			}
		}
	}
}

// TestInverterAllocations: adding documents of known terms allocates nothing.
func TestInverterAllocations(t *testing.T) {
	opts, err := Options{Positions: true, NoStored: true}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	analyzer, err := analysis.New("simple")
	if err != nil {
		t.Fatal(err)
	}
	v := newInverter(opts.schema(), analyzer, vfs.OS, nil)
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

func TestPlaces(t *testing.T) {
	locations := []corpus.Location{
		{File: "a", Line: 1},
		{File: "a", Line: 2},
		{File: "b", Offset: 7},
		{},
		{File: "b", Line: 1 << 40},
		{File: "b", Offset: 1 << 50},
	}
	var w placeWriter
	for range 2 {
		w.reset()
		for _, l := range locations {
			w.add(l)
		}
		r := placeReader{bytes: w.bytes}
		for _, want := range locations {
			if got, err := r.next(); err != nil || got != want {
				t.Fatalf("%+v, %v; want %+v", got, err, want)
			}
		}
		if _, err := r.next(); err == nil {
			t.Fatal("no error after the last place")
		}
	}
}

// FuzzRunLists reads any bytes as lists and positions of a run.
func FuzzRunLists(f *testing.F) {
	r := invertAll(f, randomDocs(3, 40, false), Options{Positions: true, NoStored: true}, 40, false)[0]
	f.Add(r.fields[0].lists.data, r.fields[0].positions.data)
	f.Fuzz(func(t *testing.T, lists, positions []byte) {
		c := *r
		c.fields = []runField{{numTerms: 50, lists: memorySection(lists), positions: memorySection(positions)}}
		it := &runLists{r: &c, field: -1}
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

// FuzzPlaces reads any bytes as places of documents.
func FuzzPlaces(f *testing.F) {
	var w placeWriter
	w.add(corpus.Location{File: "a", Line: 3})
	w.add(corpus.Location{File: "b", Offset: 1 << 40})
	f.Add(w.bytes)
	f.Fuzz(func(_ *testing.T, data []byte) {
		r := placeReader{bytes: data}
		for range len(data) + 1 {
			if _, err := r.next(); err != nil {
				return
			}
		}
	})
}
