package inverter

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/segment"
)

func analyzerOf(t *testing.T, s *Schema) analysis.Analyzer {
	t.Helper()
	a, err := analysis.New(s.Analyzer)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Terms that are too long for a dictionary do not count, the longest does.
func TestTermLimits(t *testing.T) {
	f := &fieldInverter{withPositions: true, lengths: []uint32{0}}
	f.table.reset()
	term := func(n int) analysis.Token { return analysis.Token{Term: []byte(strings.Repeat("x", n)), Position: 3} }
	f.addTokens(0, []analysis.Token{term(0), term(maxTermBytes), term(maxTermBytes + 1)}, 10)
	if f.table.len() != 1 || f.lengths[0] != 1 || f.numTokens != 1 || len(f.states) != 1 || f.last != 13 {
		t.Errorf("%d terms, length %d, %d tokens, last position %d", f.table.len(), f.lengths[0], f.numTokens, f.last)
	}
}

func TestFull(t *testing.T) {
	some := make([]byte, 3)
	for _, c := range []struct {
		f    fieldInverter
		want bool
	}{
		{fieldInverter{}, false},
		{fieldInverter{docs: chains{some[:2]}, positions: chains{some[:2]}, table: termTable{bytes: some[:2]}}, false},
		{fieldInverter{docs: chains{some}}, true},
		{fieldInverter{positions: chains{some}}, true},
		{fieldInverter{table: termTable{bytes: some}}, true},
	} {
		if got := c.f.full(2); got != c.want {
			t.Errorf("%d, %d and %d bytes: full %t", len(c.f.docs.slab), len(c.f.positions.slab), len(c.f.table.bytes), got)
		}
	}
	for _, c := range []struct {
		docs, bytes int
		want        bool
	}{{1, 2, false}, {2, 0, true}, {0, 3, true}} {
		d := docTable{idEnds: make([]uint32, c.docs), idBytes: some[:c.bytes]}
		if got := d.full(2, 2); got != c.want {
			t.Errorf("%d ids of %d bytes: full %t", c.docs, c.bytes, got)
		}
	}
}

func TestUsedBytes(t *testing.T) {
	for _, positions := range []bool{false, true} {
		schema := &Schema{Analyzer: "whitespace", Fields: []string{""}, Positions: positions}
		v := newInverter(schema, analyzerOf(t, schema), nil, nil)
		empty := v.usedBytes()
		if empty != 0 {
			t.Errorf("%d bytes without documents", empty)
		}
		for _, id := range []string{"a", "bc"} {
			if err := v.add(&corpus.Document{ID: id, Text: "two words", Source: corpus.Location{File: "f", Line: 1}}); err != nil {
				t.Fatal(err)
			}
		}
		const (
			docs       = 3 + 2*4 + 2*16 // ids, their ends, hashes
			places     = (1 + 1 + 1 + 1) + 2
			table      = 2*20 + len("twowords")
			states     = 2 * 32
			slab       = 2 * minSliceBytes // the first document's postings
			lengths    = 2 * 4
			positional = 2*20 + 2*minSliceBytes
		)
		want := int64(docs + places + table + states + slab + lengths)
		if positions {
			want += positional
		}
		if got := v.usedBytes(); got != want {
			t.Errorf("positions: %t: %d bytes, want %d", positions, got, want)
		}
		v.reset()
		if got := v.usedBytes(); got != 0 {
			t.Errorf("%d bytes after reset", got)
		}
	}
}

func TestGrowth(t *testing.T) {
	for size, want := range map[uint32]uint32{0: 16, 8: 16, 16: 32, 1024: 2048, 2048: 2048} {
		if got := nextSliceBytes(size); got != want {
			t.Errorf("after a slice of %d bytes one of %d, want %d", size, got, want)
		}
	}
	var table termTable
	table.reset()
	var term [2]byte
	for i := range minTermSlots*5/8 + 1 {
		if len(table.slots) != minTermSlots {
			t.Fatalf("%d slots for %d terms", len(table.slots), i)
		}
		binary.LittleEndian.PutUint16(term[:], uint16(i))
		table.insert(term[:])
	}
	if len(table.slots) != 2*minTermSlots {
		t.Errorf("%d slots", len(table.slots))
	}
}

func TestDocumentLimits(t *testing.T) {
	half := string(make([]byte, maxDocBytes/2))
	for name, c := range map[string]struct {
		doc corpus.Document
		ok  bool
	}{
		"longest":         {corpus.Document{ID: "a", Title: half, Text: half}, true},
		"longest with id": {corpus.Document{ID: strings.Repeat("x", MaxIDBytes), Title: half, Text: half}, true},
		"id too long":     {corpus.Document{ID: strings.Repeat("x", MaxIDBytes+1)}, false},
		"no id":           {corpus.Document{}, false},
		"title too long":  {corpus.Document{ID: "a", Title: half, Text: half[1:], Extra: []corpus.Field{{Value: "xy"}}}, false},
		"value fits":      {corpus.Document{ID: "a", Title: half, Text: half[1:], Extra: []corpus.Field{{Name: "long", Value: "x"}}}, true},
		"values too long": {corpus.Document{ID: "a", Title: half, Extra: []corpus.Field{{Value: half}, {Value: "x"}}}, false},
		"vector too long": {corpus.Document{ID: "a", Vector: []corpus.TermWeight{{Term: half}, {Term: half}, {Term: "x"}}}, false},
		"vector not too":  {corpus.Document{ID: "a", Vector: []corpus.TermWeight{{Term: half}, {Term: half}}}, true},
	} {
		if err := checkDocument(&c.doc); c.ok && err != nil || !c.ok && !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A list that is cut anywhere gives an error, not a shorter list; so do numbers out of range.
func TestCutLists(t *testing.T) {
	head := []byte{0, 2, 'a', 'b', 2, 3}
	list := append(head, 0<<1|1, 0<<1, 5)
	read := func(data []byte, numDocs int) (next bool, b segment.PostingBlock, err error) {
		r := &partial{schema: &Schema{Fields: []string{""}}, numDocs: numDocs, fields: []partialField{{numTerms: 1, lists: memoryRegion(data)}}}
		it := &partialLists{r: r, field: -1}
		if !it.Next() {
			return false, b, it.Err()
		}
		return true, b, it.ReadBlock(&b)
	}
	if next, b, err := read(list, 2); !next || err != nil || b.N != 2 || b.DocIDs[1] != 1 || b.Freqs[1] != 5 {
		t.Fatalf("whole: %t, %d postings, %v", next, b.N, err)
	}
	for n := range list {
		if next, b, err := read(list[:n], 2); next != (n >= len(head)) || !errors.Is(err, base.ErrCorrupt) || b.N != 0 {
			t.Errorf("cut after %d bytes: Next %t, %d postings, error %v", n, next, b.N, err)
		}
	}
	uvarints := func(numbers ...uint64) (b []byte) {
		for _, n := range numbers {
			b = binary.AppendUvarint(b, n)
		}
		return b
	}
	for name, c := range map[string]struct {
		data []byte
		next bool
	}{
		"shares more than the former term": {append([]byte{1, 1, 'a'}, 2, 3, 1, 0, 5), false},
		"suffix too long":                  {uvarints(0, math.MaxInt32+1), false},
		"no documents":                     {append([]byte{0, 1, 'a'}, uvarints(0, 3)...), false},
		"too many documents":               {append([]byte{0, 1, 'a'}, uvarints(3, 3)...), false},
		"largest list":                     {append([]byte{0, 1, 'a'}, uvarints(2, math.MaxInt64)...), true},
		"list too large":                   {append([]byte{0, 1, 'a'}, uvarints(2, math.MaxInt64+1)...), false},
		"postings behind the list":         {append([]byte{0, 1, 'a'}, 2, 2, 1, 0, 5), true},
	} {
		if next, _, err := read(c.data, 2); next != c.next || !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("%s: Next %t, error %v", name, next, err)
		}
	}
	if v, n := uvarint32(uvarints(math.MaxUint32)); v != math.MaxUint32 || n != 5 {
		t.Errorf("%d of %d bytes", v, n)
	}
	if _, n := uvarint32(uvarints(math.MaxUint32 + 1)); n > 0 {
		t.Error("33 bits are accepted")
	}
	if v, n := uvarint32([]byte{0x7f}); v != 0x7f || n != 1 {
		t.Errorf("%d of %d bytes", v, n)
	}
	if _, n := uvarint32(nil); n != 0 {
		t.Errorf("%d bytes of none", n)
	}
}

// Memory and files give the same bytes and errors.
func TestRegions(t *testing.T) {
	data := []byte("0123456789")
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, append([]byte("before"), data...), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for what, s := range map[string]region{"memory": memoryRegion(data), "file": {file: file, offset: 6, size: 10}} {
		for _, c := range []struct {
			from, n int64
			want    string
			ok      bool
		}{{0, 10, "0123456789", true}, {3, 4, "3456", true}, {10, 0, "", true}, {11, 0, "", false}, {3, 8, "", false}, {0, 11, "", false}} {
			got, err := s.bytes(c.from, c.n)
			if string(got) != c.want || c.ok != (err == nil) || !c.ok && !errors.Is(err, base.ErrCorrupt) {
				t.Errorf("%s: %d bytes from %d: %q, %v", what, c.n, c.from, got, err)
			}
		}
		if got, err := s.load(); string(got) != "0123456789" || err != nil {
			t.Errorf("%s: %q, %v", what, got, err)
		}
		for window := range 12 {
			for skip := range int64(12) {
				var r stream
				r.open(&s, window)
				one, err := r.take(1)
				if err != nil || string(one) != "0" {
					t.Fatalf("%s: %q, %v", what, one, err)
				}
				err = r.skip(skip)
				if skip > 9 {
					if !errors.Is(err, base.ErrCorrupt) && err == nil {
						t.Errorf("%s, window %d: skip of %d bytes: %v", what, window, skip, err)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s, window %d: skip of %d bytes: %v", what, window, skip, err)
				}
				rest, err := r.take(int(9 - skip))
				if string(rest) != string(data[1+skip:]) || err != nil {
					t.Errorf("%s, window %d: after %d bytes %q, %v", what, window, skip, rest, err)
				}
				if _, err := r.take(1); !errors.Is(err, base.ErrCorrupt) {
					t.Errorf("%s, window %d: past the end: %v", what, window, err)
				}
				if _, err := r.uvarint(); !errors.Is(err, base.ErrCorrupt) {
					t.Errorf("%s, window %d: number past the end: %v", what, window, err)
				}
			}
		}
	}
}
