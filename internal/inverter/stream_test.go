package inverter

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// A file is read a window at a time. The window grows to twice the size that does not fit, and keeps its
// memory.
func TestStreamWindows(t *testing.T) {
	file := &countingReaderAt{ReaderAt: bytes.NewReader(make([]byte, 100))}
	s := region{file: file, size: 100}
	for _, c := range []struct {
		window int
		takes  []int
		reads  []int
	}{
		{10, []int{1, 9, 1}, []int{10, 10}},
		{10, []int{10, 10}, []int{10, 10}},
		{10, []int{4, 8}, []int{10, 4}},
		{10, []int{11, 11, 1}, []int{22, 22}},
		{10, []int{5, 11}, []int{10, 17}},
		{200, []int{50, 50}, []int{100}},
	} {
		t.Run(fmt.Sprint(c.window, c.takes), func(t *testing.T) {
			file.reads = nil
			var r stream
			r.open(&s, c.window)
			for _, n := range c.takes {
				if b, err := r.take(n); err != nil || len(b) != n {
					t.Fatalf("%d of %d bytes, %v", len(b), n, err)
				}
			}
			if !slices.Equal(file.reads, c.reads) {
				t.Errorf("reads of %d bytes, want %d", file.reads, c.reads)
			}
		})
	}
	var r stream
	for _, c := range []struct{ window, want int }{{10, 10}, {10, 10}, {9, 10}, {11, 11}} {
		before := r.buf
		if r.open(&s, c.window); len(r.buf) != c.want {
			t.Errorf("window of %d bytes, want %d", len(r.buf), c.want)
		}
		if kept := len(before) > 0 && &before[0] == &r.buf[0]; kept != (len(before) == c.want) {
			t.Errorf("window of %d bytes: the memory is kept: %t", c.window, kept)
		}
	}
}

// A block's positions may be longer than a window and than a step of reading.
func TestLongPositions(t *testing.T) {
	docs := []corpus.Document{
		{ID: "a", Text: strings.Repeat("echo ", 30_000) + "other"},
		{ID: "b", Text: "echo other"},
	}
	read := func(spilled bool) (all [][]byte) {
		it := &partialLists{r: invertAll(t, docs, testSchema(), 2, spilled)[0], field: -1}
		var b segment.PostingBlock
		for it.Next() {
			for b.N = 1; b.N > 0; {
				if err := it.ReadBlock(&b); err != nil {
					t.Fatal(err)
				}
				all = append(all, bytes.Clone(b.Positions))
			}
		}
		if it.Err() != nil {
			t.Fatal(it.Err())
		}
		return all
	}
	inMemory, inFile := read(false), read(true)
	if len(inMemory) != 4 || len(inMemory[0]) < 30_000 || !reflect.DeepEqual(inMemory, inFile) {
		t.Errorf("%d blocks in memory, %d in a file, which differ or are short", len(inMemory), len(inFile))
	}
}

// Positions that end within a number are damage, even where others follow in the file.
func TestPositionsEndEarly(t *testing.T) {
	const size = 4096 // of a window
	data := append([]byte{0x80, 0x20}, slices.Repeat([]byte{1}, 3*size)...)
	r := &partial{
		schema: testSchema(), numDocs: 1, streamBuf: size,
		fields: []partialField{{
			numTerms: 1, lists: memoryRegion([]byte{0, 1, 'a', 1, 3, 0, 0x81, 0x20}), // frequency 4097
			positions: region{file: bytes.NewReader(data), size: int64(len(data))}, withPositions: true,
		}},
	}
	it := &partialLists{r: r, field: -1}
	var b segment.PostingBlock
	if !it.Next() {
		t.Fatal(it.Err())
	}
	if err := it.ReadBlock(&b); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("%d bytes of positions, error %v, want ErrCorrupt", len(b.Positions), err)
	}
}

// An unread list or its positions that pass the end are damage, although the bytes at hand
// would be a valid list.
func TestSkippedListsPassTheEnd(t *testing.T) {
	second := []byte{0, 1, 'b', 1, 1, 1}
	for name, c := range map[string]struct {
		size      byte
		positions []byte
		ok        bool
	}{
		"whole":     {size: 0, positions: []byte{1, 1, 1, 1}, ok: true},
		"list":      {size: 100, positions: []byte{1, 1, 1, 1}},
		"positions": {size: 0, positions: []byte{100, 1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			lists := append([]byte{0, 1, 'a', 1, c.size}, second...)
			r := &partial{schema: testSchema(), numDocs: 1, fields: []partialField{{numTerms: 2, lists: memoryRegion(lists), positions: memoryRegion(c.positions), withPositions: true}}}
			it := &partialLists{r: r, field: -1}
			if !it.Next() {
				t.Fatal(it.Err())
			}
			if next := it.Next(); next != c.ok || !c.ok && !errors.Is(it.Err(), base.ErrCorrupt) {
				t.Errorf("the next list is there: %t, error %v", next, it.Err())
			}
			for range 2 {
				if it.Next() || c.ok && it.Err() != nil {
					t.Errorf("after the end: term %q, error %v", it.Term(), it.Err())
				}
			}
		})
	}
}

// failingWriter fails at a write.
type failingWriter struct{ left int }

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left--; w.left == 0 {
		return 0, errInjected
	}
	return len(p), nil
}

// The first failed write ends spilling.
func TestSpillErrors(t *testing.T) {
	for at := 1; ; at++ {
		r := invertAll(t, []corpus.Document{{ID: "a", Text: "word"}}, testSchema(), 1, false)[0]
		w := &failingWriter{left: at}
		_, err := r.spill(w, nil, 0)
		if w.left > 0 {
			if err != nil || at != 1+len(r.regions()) {
				t.Errorf("%d writes of %d regions, error %v", at-1, len(r.regions()), err)
			}
			return
		}
		if !errors.Is(err, errInjected) || w.left < 0 {
			t.Errorf("write %d fails: error %v, %d more writes", at, err, -w.left)
		}
	}
}

// Weights add up to the lengths of documents, and each term has one state.
func TestWeightsAddUp(t *testing.T) {
	schema := &Schema{Analyzer: "whitespace", Fields: []string{""}, WeightScale: 2}
	v := newInverter(schema, analyzerOf(t, schema), vfs.OS, &tempNames{dir: t.TempDir()})
	vectors := [][]corpus.TermWeight{
		{{Term: "a", Weight: 1.5}, {Term: "b", Weight: 2}, {Term: "none", Weight: 0.2}},
		{},
		{{Term: "b", Weight: 0.5}, {Term: "a", Weight: 4}, {Term: "c", Weight: 10}},
	}
	for i, vector := range vectors {
		if err := v.add(&corpus.Document{ID: fmt.Sprint(i), Vector: vector}); err != nil {
			t.Fatal(err)
		}
	}
	f := &v.fields[0]
	if want := []uint32{7, 0, 29}; !slices.Equal(f.lengths, want) || f.numTokens != 36 || len(f.states) != 3 || f.table.len() != 3 {
		t.Errorf("lengths %d, sum %d, %d states of %d terms, want lengths %d and 3 terms", f.lengths, f.numTokens, len(f.states), f.table.len(), want)
	}
}

// Other fields take no part in reordering.
func TestForwardIsOfTheDefaultField(t *testing.T) {
	var docs []corpus.Document
	for i := range 60 {
		docs = append(docs, corpus.Document{ID: fmt.Sprint(i), Title: fmt.Sprint("title t", i%3), Text: fmt.Sprint("word w", i%2)})
	}
	both := &Schema{Analyzer: "whitespace", Fields: []string{"", TitleField}}
	only := &Schema{Analyzer: "whitespace", Fields: []string{""}}
	want, err := Forward(t.Context(), invertAll(t, docs, only, 60, false)[0], math.MaxInt64, 1)
	if err != nil || want.NumTerms != 5 {
		t.Fatalf("forward index %+v, error %v, want 5 terms", want, err)
	}
	got, err := Forward(t.Context(), invertAll(t, docs, both, 60, false)[0], math.MaxInt64, 1)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("with titles %+v, error %v, want %+v", got, err, want)
	}
}

// A file of stored documents that is given up belongs to no partial index.
func TestAbortOfStored(t *testing.T) {
	schema := testSchema()
	schema.Stored = true
	dir := t.TempDir()
	v := newInverter(schema, analyzerOf(t, schema), vfs.OS, &tempNames{dir: dir})
	if err := v.add(&corpus.Document{ID: "a", Text: "word"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := v.abort(); err != nil {
			t.Error(err)
		}
	}
	if name, memory, err := v.closeStored(); name != "" || memory != nil || err != nil {
		t.Errorf("file %q, memory %v, error %v, want none", name, memory, err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
		t.Errorf("files %v, error %v", names, err)
	}
}

// A list with more positions than bytes for them does not take bytes of the next list.
func TestPositionsOfOneList(t *testing.T) {
	for _, size := range []byte{1, 2} {
		r := &partial{schema: testSchema(), numDocs: 1, fields: []partialField{{
			numTerms: 1, lists: memoryRegion([]byte{0, 1, 'a', 1, 2, 0, 2}), // frequency 2
			positions: memoryRegion([]byte{size, 1, 1, 1, 1}), withPositions: true,
		}}}
		it := &partialLists{r: r, field: -1}
		if !it.Next() {
			t.Fatal(it.Err())
		}
		var b segment.PostingBlock
		if err := it.ReadBlock(&b); errors.Is(err, base.ErrCorrupt) != (size == 1) {
			t.Errorf("%d bytes for 2 positions: error %v", size, err)
		}
	}
}
