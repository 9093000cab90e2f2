package inverter

import (
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter/invertertest"
)

// collidingIDs returns different ids of 16 bytes with the same hash. XXH3 adds the first half
// with its bytes reversed, the second half, and their product, after it has masked both. In
// each id one masked half is 0, so the product is 0 and the other half decides.
func collidingIDs(t *testing.T) (a, b string) {
	t.Helper()
	const (
		maskLow  = 0x1f67b3b7a4a44072 ^ 0x78e5c0cc4ee679cb
		maskHigh = 0x2172ffcc7dd05a82 ^ 0x8e2443f7744608b8
		sum      = 0x0123456789abcdef
	)
	id := func(low, high uint64) string {
		half := binary.LittleEndian.AppendUint64(nil, low^maskLow)
		return string(binary.LittleEndian.AppendUint64(half, high^maskHigh))
	}
	a, b = id(0, sum), id(bits.ReverseBytes64(sum), 0)
	if a == b || hashID([]byte(a)) != hashID([]byte(b)) {
		t.Fatalf("ids %q and %q have hashes %x and %x", a, b, hashID([]byte(a)), hashID([]byte(b)))
	}
	return a, b
}

// Documents whose ids differ are no duplicates, although their hashes are equal.
func TestCollidingIDs(t *testing.T) {
	a, b := collidingIDs(t)
	for name, c := range map[string]struct {
		ids     []string
		dropped []int
	}{
		"different":   {[]string{a, b}, nil},
		"first again": {[]string{a, b, a}, []int{0}},
		"both again":  {[]string{a, b, b, a}, []int{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var told []string
			src, err := DropDuplicates(&idSource{ids: c.ids}, func(id string, _, _ corpus.Location) { told = append(told, id) })
			if err != nil || len(told) != len(c.dropped) {
				t.Fatalf("told of %q, error %v", told, err)
			}
			var docs []corpus.Document
			for d, id := range c.ids {
				if got, want := src.Dropped().Has(d), slices.Contains(c.dropped, d); got != want {
					t.Errorf("document %d is dropped: %t", d, got)
				}
				docs = append(docs, corpus.Document{ID: id, Text: "word"})
			}
			for _, most := range []int{1, len(docs)} {
				p := &Partials{list: invertAll(t, docs, testSchema(), most, false)}
				if n, err := p.DropDuplicates(nil); n != len(c.dropped) || err != nil {
					t.Errorf("at most %d documents: %d dropped, error %v", most, n, err)
				}
				for _, d := range c.dropped {
					if !p.list[d/most].Dropped().Has(d % most) {
						t.Errorf("at most %d documents: document %d is not dropped", most, d)
					}
				}
			}
		})
	}
	only := invertAll(t, []corpus.Document{{ID: a, Text: "word"}}, testSchema(), 1, false)[0]
	for id, want := range map[string]bool{a: true, b: false} {
		if _, found, err := only.find(id); found != want || err != nil {
			t.Errorf("id %q is found: %t, error %v", id, found, err)
		}
	}
}

// duplicateIDs has three partial indexes of two documents, with one duplicate.
func duplicateIDs(t *testing.T) *Partials {
	t.Helper()
	docs := invertertest.RandomDocs(50, 6, false)
	docs[5].ID = docs[0].ID
	return &Partials{list: invertAll(t, docs, testSchema(), 2, false)}
}

// Damaged ids or locations fail the search for duplicates or its report.
func TestDropDuplicatesOfDamage(t *testing.T) {
	for name, c := range map[string]struct {
		damage   func(r *partial)
		want     error
		unneeded bool // without a report
	}{
		"ids":             {func(r *partial) { r.idBytes = memoryRegion(nil) }, base.ErrCorrupt, false},
		"no locations":    {func(r *partial) { r.locations = memoryRegion(nil) }, base.ErrCorrupt, true},
		"cut locations":   {func(r *partial) { r.locations = memoryRegion(r.locations.data[:1]) }, base.ErrCorrupt, true},
		"unreadable file": {func(r *partial) { r.locations = region{file: failingReaderAt{}, size: 9} }, errInjected, true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, at := range []int{0, 2} {
				p := duplicateIDs(t)
				c.damage(p.list[at])
				told := 0
				_, err := p.DropDuplicates(func(string, corpus.Location, corpus.Location) { told++ })
				if !errors.Is(err, c.want) || told != 0 {
					t.Errorf("damaged partial index %d: error %v, want %v; told of %d", at, err, c.want, told)
				}
				p = duplicateIDs(t)
				c.damage(p.list[at])
				if n, err := p.DropDuplicates(nil); (err == nil) != c.unneeded || c.unneeded && n != 1 {
					t.Errorf("without a report: %d dropped, error %v", n, err)
				}
			}
		})
	}
	p := duplicateIDs(t)
	found, err := dropDuplicates(p.list)
	if err != nil || len(found) != 1 {
		t.Fatalf("%d duplicates, error %v", len(found), err)
	}
	p.list[0].idBytes = memoryRegion(nil)
	told := 0
	err = reportDuplicates(p.list, found, func(string, corpus.Location, corpus.Location) { told++ })
	if !errors.Is(err, base.ErrCorrupt) || told != 0 {
		t.Errorf("ids damaged before the report: error %v, told of %d", err, told)
	}
}

type failingReaderAt struct{}

func (failingReaderAt) ReadAt([]byte, int64) (int, error) { return 0, errInjected }

// countingReaderAt records the lengths of reads.
type countingReaderAt struct {
	io.ReaderAt
	reads []int
}

func (r *countingReaderAt) ReadAt(p []byte, offset int64) (int, error) {
	r.reads = append(r.reads, len(p))
	return r.ReaderAt.ReadAt(p, offset)
}

// The locations of a partial index are read once for all of its documents.
func TestLocationsAreReadOnce(t *testing.T) {
	docs := invertertest.RandomDocs(51, 6, false)
	list := invertAll(t, docs, testSchema(), 3, true)
	var files []*countingReaderAt
	var refs []docRef
	for i, r := range list {
		file := &countingReaderAt{ReaderAt: r.locations.file}
		files, r.locations.file = append(files, file), file
		refs = append(refs, makeRef(i, 0), makeRef(i, 2))
	}
	found, err := locations(list, refs)
	if err != nil {
		t.Fatal(err)
	}
	for i, ref := range refs {
		if want := docs[3*ref.partial()+int(ref.doc())].Source; found[ref] != want {
			t.Errorf("location %d is %+v, want %+v", i, found[ref], want)
		}
	}
	for i, file := range files {
		if len(file.reads) != 1 {
			t.Errorf("partial index %d: %d reads, want 1", i, len(file.reads))
		}
	}
}

// A location that is cut off or has a number that is too long is damage.
func TestDamagedLocations(t *testing.T) {
	long := slices.Repeat([]byte{0x80}, binary.MaxVarintLen64)
	for name, data := range map[string][]byte{
		"no line":            {0},
		"no offset":          {1},
		"line cut off":       {0, 0x80},
		"line too long":      append(append([]byte{0}, long...), 1),
		"no length of name":  {2},
		"length too long":    append(append([]byte{2}, long...), 1),
		"name cut off":       {2, 5, 'a', 1},
		"nothing after name": {2, 1, 'a'},
	} {
		t.Run(name, func(t *testing.T) {
			r := locationReader{bytes: data}
			if got, err := r.next(); !errors.Is(err, base.ErrCorrupt) || got != (corpus.Location{}) {
				t.Errorf("location %+v, error %v", got, err)
			}
		})
	}
}
