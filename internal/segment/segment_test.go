package segment_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/segment/segmenttest"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

var fieldNames = []string{"", "title", "body"}

func options(numFields int) segment.Options {
	return segment.Options{
		Fields:    fieldNames[:numFields],
		Codec:     "simdbp",
		Analyzer:  "whitespace",
		BM25:      score.DefaultBM25,
		Positions: true,
		Stored:    true,
	}
}

func sources(t testing.TB, fs vfs.FS, docs []segmenttest.Doc, n int) []segment.Source {
	t.Helper()
	var out []segment.Source
	for i := range n {
		part := docs[len(docs)*i/n : len(docs)*(i+1)/n]
		s, err := segmenttest.NewSource(part, fs, fmt.Sprintf("run-%d", i))
		if err != nil {
			t.Fatal(err)
		}
		s.BlockLen = []int{0, 7, 128, 1}[i%4]
		out = append(out, s)
	}
	return out
}

func write(t testing.TB, fs vfs.FS, dir string, opts segment.Options, sources ...segment.Source) *segment.Segment {
	t.Helper()
	if _, err := segment.Write(context.Background(), fs, dir, opts, sources, nil); err != nil {
		t.Fatal(err)
	}
	s, err := segment.Open(fs, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Verify(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return s
}

func check(t testing.TB, s *segment.Segment, docs []segmenttest.Doc, opts segment.Options) {
	t.Helper()
	if s.NumDocs() != len(docs) {
		t.Fatalf("segment has %d documents, want %d", s.NumDocs(), len(docs))
	}
	for f := range opts.Fields {
		checkField(t, s, docs, f, opts.Positions)
	}
	var d segment.StoredDoc
	for i := range docs {
		want := &docs[i]
		id, err := s.ID(base.DocID(i))
		if err != nil || string(id) != want.ID {
			t.Fatalf("ID(%d) = %q, %v, want %q", i, id, err, want.ID)
		}
		doc, ok, err := s.Lookup(id)
		if err != nil || !ok || int(doc) != i {
			t.Fatalf("Lookup(%q) = %d, %v, %v, want %d", id, doc, ok, err, i)
		}
		if !opts.Stored {
			continue
		}
		if err := s.Stored(base.DocID(i), &d); err != nil {
			t.Fatal(err)
		}
		if string(d.Title) != want.Title || string(d.Text) != want.Text || len(d.Extra) != len(want.Extra) {
			t.Fatalf("Stored(%d) = %q, %q, %d extra, want %+v", i, d.Title, d.Text, len(d.Extra), want)
		}
		for j, e := range d.Extra {
			if string(e.Name) != want.Extra[j].Name || string(e.Value) != want.Extra[j].Value {
				t.Fatalf("Stored(%d): extra %d = %q: %q, want %+v", i, j, e.Name, e.Value, want.Extra[j])
			}
		}
	}
	checkColumns(t, s, docs)
	for _, id := range []string{"", "doc", "doc-0-", "\xff"} {
		if doc, ok, err := s.Lookup([]byte(id)); ok || err != nil {
			t.Fatalf("Lookup(%q) = %d, %v, %v, want none", id, doc, ok, err)
		}
	}
}

func checkField(t testing.TB, s *segment.Segment, docs []segmenttest.Doc, f int, positions bool) {
	t.Helper()
	field := base.FieldID(f)
	lengths := segmenttest.Lengths(docs, f)
	if err := s.CheckLengths(field); err != nil {
		t.Fatal(err)
	}
	if got := s.Lengths(field); !slices.Equal(got, lengths) {
		t.Fatalf("field %d: lengths differ", f)
	}
	want := segmenttest.Lists(docs, f)
	var numPostings, totalTokens uint64
	for term, list := range want {
		var l postings.List
		ok, err := s.FindParts(field, []byte(term), segment.Positions|segment.Frontiers, &l)
		if err != nil || !ok {
			t.Fatalf("field %d: Find(%q) = %v, %v", f, term, ok, err)
		}
		if got := decode(t, &l, positions); !slices.EqualFunc(got, list, func(a, b segmenttest.Posting) bool {
			return a.Doc == b.Doc && slices.Equal(a.Positions, b.Positions) || !positions && a.Doc == b.Doc && len(a.Positions) == len(b.Positions)
		}) {
			t.Fatalf("field %d: term %q: list is %v, want %v", f, term, got, list)
		}
		numPostings += uint64(len(list))
	}
	for _, n := range lengths {
		totalTokens += uint64(n)
	}
	for _, term := range []string{"", "no such term", "e\x00", "\xff"} {
		if ok, err := s.Find(field, []byte(term), new(postings.List)); ok || err != nil {
			t.Fatalf("field %d: Find(%q) = %v, %v, want none", f, term, ok, err)
		}
	}
	meta := s.Meta().Fields[f]
	if meta.NumTerms != uint64(len(want)) || meta.NumPostings != numPostings || meta.TotalTokens != totalTokens {
		t.Fatalf("field %d: meta %+v, want %d terms, %d postings, %d tokens", f, meta, len(want), numPostings, totalTokens)
	}
	for _, prefix := range []string{"", "e", "t", "et", "zz", "\xff"} {
		checkTerms(t, s, field, prefix, want)
	}
}

func checkTerms(t testing.TB, s *segment.Segment, field base.FieldID, prefix string, lists map[string][]segmenttest.Posting) {
	t.Helper()
	var want, got []string
	for _, term := range slices.Sorted(maps.Keys(lists)) {
		if len(term) >= len(prefix) && term[:len(prefix)] == prefix {
			want = append(want, term)
		}
	}
	it := s.Terms(field, []byte(prefix))
	for it.Next() {
		got = append(got, string(it.Term()))
		m, err := it.Meta()
		if err != nil || int(m.DocFreq) != len(lists[string(it.Term())]) {
			t.Fatalf("term %q: DocFreq %d, %v", it.Term(), m.DocFreq, err)
		}
	}
	if it.Err() != nil || !slices.Equal(got, want) {
		t.Fatalf("field %d: terms of prefix %q: %q, %v, want %q", field, prefix, got, it.Err(), want)
	}
}

// Positions are zero if the list has none.
func decode(t testing.TB, l *postings.List, positions bool) []segmenttest.Posting {
	t.Helper()
	var out []segmenttest.Posting
	for i := range l.NumBlocks() {
		var docIDs, freqs [128]uint32
		size, err := l.DecodeDocIDs(i, &docIDs)
		if err == nil {
			err = l.DecodeFreqs(i, size, &freqs)
		}
		if err != nil {
			t.Fatal(err)
		}
		var src []byte
		at := 0
		if positions {
			if src, err = l.PositionBytes(i); err != nil {
				t.Fatal(err)
			}
		}
		for j := range l.BlockSize(i) {
			p := segmenttest.Posting{Doc: int(docIDs[j]), Positions: make([]uint32, freqs[j])}
			if positions {
				if p.Positions, at, err = postings.DecodePositions(nil, src, at, freqs[j]); err != nil {
					t.Fatal(err)
				}
			}
			out = append(out, p)
		}
	}
	return out
}

func TestWriteAndOpen(t *testing.T) {
	for _, c := range []struct{ docs, vocabulary, fields, sources int }{
		{0, 10, 1, 0},
		{0, 10, 2, 1},
		{1, 3, 1, 1},
		{5, 3, 3, 4},
		{700, 50, 2, 3},
		{3000, 20000, 2, 16},
	} {
		for _, codec := range sampletest.UnderRace([]string{"simdbp", "raw"}, []string{"simdbp"}) {
			name := fmt.Sprintf("docs=%d/vocabulary=%d/fields=%d/sources=%d/codec=%s", c.docs, c.vocabulary, c.fields, c.sources, codec)
			t.Run(name, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, uint64(c.docs)))
				docs := segmenttest.RandomDocs(rng, c.docs, c.vocabulary, c.fields)
				fs := vfstest.NewMem()
				opts := options(c.fields)
				opts.Codec = codec
				check(t, write(t, fs, "seg", opts, sources(t, fs, docs, c.sources)...), docs, opts)
			})
		}
	}
}

func TestWithoutPositionsAndStored(t *testing.T) {
	docs := segmenttest.RandomDocs(rand.New(rand.NewPCG(2, 2)), 300, 60, 2)
	fs := vfstest.NewMem()
	opts := options(2)
	opts.Positions, opts.Stored = false, false
	s := write(t, fs, "seg", opts, sources(t, fs, docs, 2)...)
	check(t, s, docs, opts)
	if err := s.Stored(0, new(segment.StoredDoc)); err == nil {
		t.Error("Stored of a segment without: no error")
	}
}

func TestMergeDropsAndRenumbers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	docs := segmenttest.RandomDocs(rng, 2000, 400, 2)
	fs := vfstest.NewMem()
	opts := options(2)
	var merged []segment.Source
	var kept []segmenttest.Doc
	for i := range 4 {
		part := docs[500*i : 500*(i+1)]
		s := write(t, fs, fmt.Sprintf("seg-%d", i), opts, sources(t, fs, part, 2)...)
		var drop *segment.Bitmap
		if i > 0 {
			drop = segment.NewBitmap(len(part))
		}
		for j := range part {
			if i > 0 && rng.IntN(10) < 3*i {
				drop.Set(j)
			} else {
				kept = append(kept, part[j])
			}
		}
		src, err := s.Source(drop)
		if err != nil {
			t.Fatal(err)
		}
		merged = append(merged, src)
	}
	check(t, write(t, fs, "merged", opts, merged...), kept, opts)

	opts.Order = make([]base.DocID, len(kept))
	ordered := make([]segmenttest.Doc, len(kept))
	for i, old := range rng.Perm(len(kept)) {
		opts.Order[i] = base.DocID(old)
		ordered[i] = kept[old]
	}
	s := write(t, fs, "ordered", opts, merged...)
	check(t, s, ordered, opts)

	// A reordered segment as a source, with and without an order.
	src, err := s.Source(nil)
	if err != nil {
		t.Fatal(err)
	}
	opts.Order = nil
	check(t, write(t, fs, "again", opts, src, sources(t, fs, docs[:0], 1)[0]), ordered, opts)
	drop := segment.NewBitmap(len(ordered))
	var rest []segmenttest.Doc
	for i := range ordered {
		if i%3 == 0 {
			drop.Set(i)
		} else {
			rest = append(rest, ordered[i])
		}
	}
	if src, err = s.Source(drop); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(rest)
	for i := range rest {
		opts.Order = append(opts.Order, base.DocID(len(rest)-1-i))
	}
	check(t, write(t, fs, "reversed", opts, src), rest, opts)
}

func TestWriteIsDeterministic(t *testing.T) {
	docs := segmenttest.RandomDocs(rand.New(rand.NewPCG(4, 4)), 1500, 5000, 2)
	fs := vfstest.NewMem()
	opts := options(2)
	opts.Threads = 1
	write(t, fs, "one", opts, sources(t, fs, docs, 3)...)
	opts.Threads = 5
	s := write(t, fs, "five", opts, sources(t, fs, docs, 3)...)
	for _, f := range append(s.Meta().Files, segment.FileMeta{Name: "meta"}) {
		if !slices.Equal(fs.Get("one/"+f.Name), fs.Get("five/"+f.Name)) {
			t.Errorf("%s depends on the number of threads", f.Name)
		}
	}
}

// Long lists are cut at the same terms for any sources.
func TestSourcesDoNotMatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	docs := make([]segmenttest.Doc, 2500)
	for i := range docs {
		tokens := make([]string, 0, 300)
		for range cap(tokens) {
			// Frequent terms, and rare ones, whose one-block lists are unaligned.
			tokens = append(tokens, segmenttest.Term(uint64(rng.IntN([]int{500, 20_000}[rng.IntN(2)]))))
		}
		docs[i] = segmenttest.Doc{ID: fmt.Sprint(i), Fields: [][]string{tokens}}
	}
	opts := options(1)
	opts.Stored = false // blocks of stored documents end with their source
	var sums []map[string]uint32
	for _, n := range sampletest.UnderRace([]int{1, 2, 7}, []int{1, 7}) {
		fs := vfstest.NewMem()
		s := write(t, fs, "s", opts, sources(t, fs, docs, n)...)
		if s.Meta().Fields[0].NumPostings < 512<<10 {
			t.Fatalf("%d postings, the test needs several pieces", s.Meta().Fields[0].NumPostings)
		}
		of := map[string]uint32{}
		for _, f := range s.Meta().Files {
			of[f.Name] = f.Sum
		}
		sums = append(sums, of)
	}
	for i := range sums[1:] {
		for name, sum := range sums[0] {
			if sums[i+1][name] != sum {
				t.Errorf("%s differs", name)
			}
		}
	}
}

// Bounds must not depend on dropped documents' lengths.
func TestAvgLenIsOfKeptDocuments(t *testing.T) {
	docs := []segmenttest.Doc{
		{ID: "a", Fields: [][]string{{"x", "y", "z", "x"}}},
		{ID: "b", Fields: [][]string{{"x", "x"}}},
	}
	opts := options(1)
	opts.Stored = false
	src := &segmenttest.Source{Docs: docs, Drop: segment.NewBitmap(2)}
	src.Drop.Set(0)
	s := write(t, vfstest.NewMem(), "seg", opts, src)
	if got := s.Meta().Fields[0]; got.AvgLen != 2 || got.NumTerms != 1 || got.NumPostings != 1 {
		t.Errorf("meta is %+v, want mean length 2, 1 term, 1 posting", got)
	}
}

func TestProgress(t *testing.T) {
	docs := segmenttest.RandomDocs(rand.New(rand.NewPCG(5, 5)), 200, 60, 2)
	fs := vfstest.NewMem()
	var last, total int64
	progress := func(d, n int64) {
		if d < last || total != 0 && n != total {
			t.Errorf("progress goes from %d of %d to %d of %d", last, total, d, n)
		}
		last, total = d, n
	}
	if _, err := segment.Write(context.Background(), fs, "seg", options(2), sources(t, fs, docs, 2), progress); err != nil {
		t.Fatal(err)
	}
	if last != total || total == 0 {
		t.Errorf("Write's progress ends at %d of %d", last, total)
	}
	s, err := segment.Open(fs, "seg")
	if err != nil {
		t.Fatal(err)
	}
	last, total = 0, 0
	if err := s.Verify(context.Background(), progress); err != nil || last != total || total == 0 {
		t.Errorf("Verify: %v, its progress ends at %d of %d", err, last, total)
	}
	if got := s.Sizes().Total(); got != s.Meta().SizeBytes() {
		t.Errorf("sizes sum to %d, files to %d", got, s.Meta().SizeBytes())
	}
}

func TestFindAllocatesNothing(t *testing.T) {
	docs := segmenttest.RandomDocs(rand.New(rand.NewPCG(6, 6)), 1000, 60, 1)
	s := write(t, vfstest.NewMem(), "seg", func() segment.Options { o := options(1); o.Stored = false; return o }(),
		&segmenttest.Source{Docs: docs})
	var l postings.List
	terms := [][]byte{[]byte("e"), []byte("t"), []byte("ee"), []byte("nosuchterm")}
	n := 0
	if allocs := testing.AllocsPerRun(200, func() {
		if _, err := s.FindParts(0, terms[n%len(terms)], segment.Positions|segment.Frontiers, &l); err != nil {
			t.Fatal(err)
		}
		n++
	}); allocs != 0 {
		t.Errorf("Find allocates %v times", allocs)
	}
	id := []byte(docs[17].ID)
	if allocs := testing.AllocsPerRun(200, func() {
		if _, ok, err := s.Lookup(id); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}); allocs != 0 {
		t.Errorf("Lookup allocates %v times", allocs)
	}
}

type brokenSource struct {
	segmenttest.Source
	lists func() segment.ListIterator
}

func (b *brokenSource) Lists() (segment.ListIterator, error) { return b.lists(), nil }

type fixedLists struct {
	terms     []string
	docIDs    []uint32
	freq      uint32
	positions []byte
	at        int
	read      bool
}

func (l *fixedLists) Next() bool          { l.at++; l.read = false; return l.at <= len(l.terms) }
func (l *fixedLists) Field() base.FieldID { return 0 }
func (l *fixedLists) Term() []byte        { return []byte(l.terms[l.at-1]) }
func (l *fixedLists) DocFreq() int        { return len(l.docIDs) }
func (l *fixedLists) Err() error          { return nil }
func (l *fixedLists) Close() error        { return nil }
func (l *fixedLists) ReadBlock(b *segment.PostingBlock) error {
	b.N = 0
	if !l.read {
		b.N = copy(b.DocIDs[:], l.docIDs)
		for i := range b.N {
			b.Freqs[i] = l.freq
		}
		b.Positions = l.positions
	}
	l.read = true
	return nil
}

func TestWriteRefusesBrokenSources(t *testing.T) {
	docs := segmenttest.RandomDocs(rand.New(rand.NewPCG(7, 7)), 4, 5, 1)
	gaps := binary.AppendUvarint(nil, 3)
	for name, l := range map[string]fixedLists{
		"terms not in order":  {terms: []string{"b", "a"}, docIDs: []uint32{1}, freq: 1, positions: gaps},
		"term twice":          {terms: []string{"a", "a"}, docIDs: []uint32{1}, freq: 1, positions: gaps},
		"empty term":          {terms: []string{""}, docIDs: []uint32{1}, freq: 1, positions: gaps},
		"term too long":       {terms: []string{strings.Repeat("a", 1<<15+1)}, docIDs: []uint32{1}, freq: 1, positions: gaps},
		"DocIDs not in order": {terms: []string{"a"}, docIDs: []uint32{2, 1}, freq: 1, positions: append(gaps, gaps...)},
		"DocID too high":      {terms: []string{"a"}, docIDs: []uint32{4}, freq: 1, positions: gaps},
		"frequency 0":         {terms: []string{"a"}, docIDs: []uint32{1}, freq: 0},
		"positions missing":   {terms: []string{"a"}, docIDs: []uint32{1}, freq: 1},
		"positions too many":  {terms: []string{"a"}, docIDs: []uint32{1}, freq: 1, positions: append(gaps, gaps...)},
		"positions cut off":   {terms: []string{"a"}, docIDs: []uint32{1}, freq: 1, positions: []byte{0x80}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, order := range [][]base.DocID{nil, {3, 2, 1, 0}} {
				opts := options(1)
				opts.Stored, opts.Order = false, order
				src := &brokenSource{Source: segmenttest.Source{Docs: docs}, lists: func() segment.ListIterator { c := l; return &c }}
				expectBadInput(t, name, opts, src)
			}
			// DocIDs that pass the end of a source are not the next source's.
			opts := options(1)
			opts.Stored = false
			src := &brokenSource{Source: segmenttest.Source{Docs: docs}, lists: func() segment.ListIterator { c := l; return &c }}
			expectBadInput(t, name+", before another source", opts, src, &segmenttest.Source{Docs: docs})
		})
	}
	ok := &segmenttest.Source{Docs: docs}
	expectBadInput(t, "no stored documents", options(1), ok)
	for name, change := range map[string]func(*segment.Options){
		"codec":             func(o *segment.Options) { o.Codec = "no such codec" },
		"no fields":         func(o *segment.Options) { o.Fields = nil },
		"first field named": func(o *segment.Options) { o.Fields = []string{"title"} },
		"field twice":       func(o *segment.Options) { o.Fields = []string{"", "a", "a"} },
		"order too short":   func(o *segment.Options) { o.Order = []base.DocID{0} },
		"order not 1:1":     func(o *segment.Options) { o.Order = []base.DocID{0, 1, 1, 2} },
		"order too high":    func(o *segment.Options) { o.Order = []base.DocID{0, 1, 2, 4} },
	} {
		t.Run(name, func(t *testing.T) {
			opts := options(1)
			opts.Stored = false
			change(&opts)
			expectBadInput(t, name, opts, ok)
		})
	}
}

// Words of deleted documents are found like others, and only frequent ones take memory for each.
func TestFindCounted(t *testing.T) {
	docs := segmenttest.RandomDocs(rand.New(rand.NewPCG(1, 1)), 3000, 20_000, 1)
	s := write(t, vfstest.NewMem(), "seg", options(1), sources(t, vfstest.NewMem(), docs, 1)...)
	rare, frequent := 0, 0
	for it := s.Terms(0, nil); it.Next(); {
		var want, got, again postings.List
		term := slices.Clone(it.Term())
		_, err := segment.FindCounted(s, 0, term, &got)
		first, _ := segment.FindShared(s, 0, term) // from here on the list is cached
		kept, _ := segment.FindShared(s, 0, term)
		if ok, err2 := s.FindParts(0, term, segment.Frontiers, &want); !ok || err != nil || err2 != nil || got.Meta != want.Meta || first != kept {
			t.Fatalf("term %q: %v, %v: %+v, want %+v", term, err, err2, got.Meta, want.Meta)
		}
		if found, err := segment.FindCounted(s, 0, term, &again); !found || err != nil || again.Meta != want.Meta {
			t.Fatalf("term %q, cached: %t, %v", term, found, err)
		}
		if want.DocFreq < 3 {
			rare++
		} else {
			frequent++
		}
	}
	if rare == 0 || frequent == 0 {
		t.Errorf("%d rare and %d frequent terms", rare, frequent)
	}
	allocated := func(minFreq, maxFreq uint32) float64 {
		fresh := write(t, vfstest.NewMem(), "seg", options(1), sources(t, vfstest.NewMem(), docs, 1)...)
		var terms [][]byte
		for it := fresh.Terms(0, nil); it.Next() && len(terms) < 100; {
			if m, err := it.Meta(); err == nil && m.DocFreq >= minFreq && m.DocFreq <= maxFreq {
				terms = append(terms, slices.Clone(it.Term()))
			}
		}
		var l postings.List
		if len(terms) < 100 {
			t.Fatalf("%d terms of %d to %d documents", len(terms), minFreq, maxFreq)
		}
		return testing.AllocsPerRun(1, func() { // twice
			next := terms[:50]
			terms = terms[50:]
			for _, term := range next {
				if _, err := segment.FindCounted(fresh, 0, term, &l); err != nil {
					t.Error(err)
				}
			}
		})
	}
	// A list in the cache takes an allocation at least. Readers of the dictionary are in a pool, which may be empty.
	if n := allocated(1, 2); n >= 50 {
		t.Errorf("50 rare words allocate %v times", n)
	}
	if n := allocated(3, 1<<30); n < 50 {
		t.Errorf("50 frequent words are not cached: %v allocations", n)
	}
	if found, err := segment.FindCounted(s, 0, []byte("no such term"), &postings.List{}); found || err != nil {
		t.Errorf("%t, %v", found, err)
	}
}
