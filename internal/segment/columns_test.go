package segment_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/segment/segmenttest"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

func checkColumns(t testing.TB, s *segment.Segment, docs []segmenttest.Doc) {
	t.Helper()
	var terms []string
	numbers := false
	for i := range docs {
		terms = append(terms, docs[i].Keywords...)
		numbers = numbers || len(docs[i].Numbers) > 0
	}
	slices.Sort(terms)
	terms = slices.Compact(terms)
	set, err := segment.Columns(s)
	if err != nil || (set != nil) != (numbers || len(terms) > 0) {
		t.Fatalf("columns %v, %v", set, err)
	}
	for _, name := range []string{segmenttest.NumberColumn, segmenttest.KeywordColumn} {
		c, found, err := s.Column(name)
		if err != nil || found != (name == segmenttest.NumberColumn && numbers || name == segmenttest.KeywordColumn && len(terms) > 0) {
			t.Fatalf("column %q: %t, %v", name, found, err)
		}
		if !found {
			continue
		}
		if n := c.NumTerms(); c.Kind() == column.Ordinals && n != len(terms) {
			t.Fatalf("%d terms, want %d", n, len(terms))
		}
		x := c.Cursor()
		for i := range docs {
			want := slices.Sorted(slices.Values(docs[i].Numbers))
			if name == segmenttest.KeywordColumn {
				want = want[:0]
				for _, v := range docs[i].Keywords {
					at, _ := slices.BinarySearch(terms, v)
					want = append(want, int64(at))
				}
				slices.Sort(want)
				want = slices.Compact(want)
			}
			if got, err := x.Values(base.DocID(i)); err != nil || !slices.Equal(got, want) {
				t.Fatalf("column %q, document %d: %v, %v, want %v", name, i, got, err, want)
			}
		}
		for i, term := range terms {
			if name == segmenttest.KeywordColumn {
				if got, err := c.Term(int64(i)); err != nil || string(got) != term {
					t.Fatalf("term %d is %q, %v, want %q", i, got, err, term)
				}
			}
		}
	}
	if _, found, err := s.Column("none"); found || err != nil {
		t.Fatalf("an unknown column: %t, %v", found, err)
	}
}

// If the documents with values are dropped, there is no file.
func TestColumnsOfDroppedDocuments(t *testing.T) {
	docs := segmenttest.RandomDocs(rand.New(rand.NewPCG(21, 1)), 200, 30, 1)
	fs := vfstest.NewMem()
	s := write(t, fs, "seg", options(1), sources(t, fs, docs, 2)...)
	drop := segment.NewBitmap(len(docs))
	var kept []segmenttest.Doc
	for i := range docs {
		if len(docs[i].Numbers) > 0 {
			drop.Set(i)
		} else {
			kept = append(kept, docs[i])
		}
	}
	src, err := s.Source(drop)
	if err != nil {
		t.Fatal(err)
	}
	without := write(t, fs, "without", options(1), src)
	check(t, without, kept, options(1))
	for _, f := range without.Meta().Files {
		if f.Name == "columns" {
			t.Error("a file of no columns")
		}
	}
	if with, none := s.Sizes(), without.Sizes(); with.Columns == 0 || none.Columns != 0 {
		t.Errorf("columns of %d and %d bytes", with.Columns, none.Columns)
	}
}

type columnsOf struct {
	segment.Source
	set *column.Set
	err error
}

func (c columnsOf) Columns() (*column.Set, error) { return c.set, c.err }

func TestBadColumnsOfSources(t *testing.T) {
	docs := segmenttest.RandomDocs(rand.New(rand.NewPCG(22, 1)), 20, 30, 1)
	opts := options(1)
	opts.Stored = false
	more, err := (&segmenttest.Source{Docs: append(slices.Clone(docs), docs...)}).Columns()
	if err != nil {
		t.Fatal(err)
	}
	other := func(n int64) *column.Set {
		renamed := slices.Clone(docs)
		for i := range renamed {
			renamed[i].Keywords, renamed[i].Numbers = nil, []int64{n}
		}
		set, err := (&segmenttest.Source{Docs: renamed}).Columns()
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	failed := errors.New("failed")
	src := &segmenttest.Source{Docs: docs}
	for name, c := range map[string]struct {
		sources []segment.Source
		want    error
	}{
		"of other documents": {[]segment.Source{columnsOf{Source: src, set: more}}, base.ErrBadInput},
		"that fail":          {[]segment.Source{columnsOf{Source: src, err: failed}}, failed},
		"of one":             {[]segment.Source{columnsOf{Source: src, set: other(3)}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfstest.NewMem()
			_, err := segment.Write(t.Context(), fs, "seg", opts, c.sources, nil)
			if !errors.Is(err, c.want) || c.want == nil && err != nil {
				t.Errorf("error %v, want %v", err, c.want)
			}
			if files, _ := fs.ReadDir("seg"); err != nil && len(files) > 0 {
				t.Errorf("files %q are left", files)
			}
		})
	}
}

// The first field is text, the second has unit lengths.
func TestUnitLengths(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 1))
	docs := segmenttest.RandomDocs(rng, 500, 60, 2)
	with := 0
	for i := range docs {
		f := &docs[i].Fields[1]
		*f = slices.DeleteFunc(*f, func(s string) bool { return s == "" })
		*f = (*f)[:min(1, len(*f))]
		with += len(*f)
	}
	opts := options(2)
	opts.UnitLengths = []bool{false, true}
	fs := vfstest.NewMem()
	first := write(t, fs, "first", opts, sources(t, fs, docs, 3)...)
	drop := segment.NewBitmap(len(docs))
	for i := range docs {
		if i%5 == 0 {
			drop.Set(i)
		}
	}
	src, err := first.Source(drop)
	if err != nil {
		t.Fatal(err)
	}
	order := opts
	for _, old := range rng.Perm(400) {
		order.Order = append(order.Order, base.DocID(old))
	}
	second := write(t, fs, "second", order, src)
	for name, s := range map[string]*segment.Segment{"first": first, "second": second} {
		checkUnitLengths(t, name, s, func(doc int) *segmenttest.Doc {
			if s == first {
				return &docs[doc]
			}
			kept := int(order.Order[doc])
			return &docs[kept/4*5+kept%4+1]
		})
	}
	if n := first.Meta().Fields[1].NumDocs; n != with {
		t.Errorf("%d documents with a value, want %d", n, with)
	}
	if plain := write(t, fs, "plain", options(2), sources(t, fs, docs, 3)...); plain.Sizes().Lengths < 3*first.Sizes().Lengths/2 {
		t.Errorf("lengths of %d bytes, without unit lengths %d", first.Sizes().Lengths, plain.Sizes().Lengths)
	}
	counts := first.NewListCounts()
	if err := first.CountTokens(drop, counts); err != nil {
		t.Fatal(err)
	}
	if got, want := counts.Tokens(1), first.Meta().Fields[1].TotalTokens-second.Meta().Fields[1].TotalTokens; got != want {
		t.Errorf("the dropped documents have %d tokens, want %d", got, want)
	}
	for name, units := range map[string][]bool{"too many": {false, false, false}, "of the default field": {true}} {
		t.Run(name, func(t *testing.T) {
			bad := options(2)
			bad.UnitLengths = units
			if _, err := segment.Write(t.Context(), fs, "bad", bad, nil, nil); !errors.Is(err, base.ErrBadInput) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func checkUnitLengths(t *testing.T, name string, s *segment.Segment, doc func(int) *segmenttest.Doc) {
	t.Helper()
	if err := s.CheckLengths(1); err != nil {
		t.Fatal(err)
	}
	ones := s.Lengths(1)
	src, err := s.Source(nil)
	if err != nil {
		t.Fatal(err)
	}
	exact := src.Lengths(1)
	sum := uint64(0)
	for i := range s.NumDocs() {
		want := uint32(len(doc(i).Fields[1]))
		sum += uint64(want)
		if got := s.Length(1, base.DocID(i)); ones[i] != 1 || got != want || exact[i] != want {
			t.Fatalf("%s: document %d: length %d, of the source %d, shared %d; want %d", name, i, got, exact[i], ones[i], want)
		}
	}
	meta := s.Meta().Fields[1]
	if len(ones) != s.NumDocs() || !meta.UnitLengths || meta.TotalTokens != sum || meta.AvgLen != 1 || s.Meta().Fields[0].UnitLengths {
		t.Errorf("%s: %d lengths, meta %+v, want %d tokens", name, len(ones), meta, sum)
	}
	var l postings.List
	terms := s.Terms(1, nil)
	for terms.Next() {
		if found, err := s.Find(1, terms.Term(), &l); err != nil || !found {
			t.Fatalf("%s: term %q: %t, %v", name, terms.Term(), found, err)
		}
	}
	if err := terms.Err(); err != nil {
		t.Fatal(err)
	}
}
