package segment

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// changedSource drops documents, has other ids, and no lengths of later fields.
type changedSource struct {
	Source
	drop   *Bitmap
	fields int
}

func (s changedSource) ID(doc int) []byte { return append([]byte("changed-"), s.Source.ID(doc)...) }

func (s changedSource) Dropped() *Bitmap { return s.drop }

func (s changedSource) Lengths(field base.FieldID) []uint32 {
	if int(field) >= s.fields {
		return nil
	}
	return s.Source.Lengths(field)
}

func dropOf(n int, docs ...int) *Bitmap {
	b := NewBitmap(n)
	for _, d := range docs {
		b.Set(d)
	}
	return b
}

func withStored(t *testing.T, mem *vfstest.Mem, name string, docs ...[2]string) *tinySource {
	t.Helper()
	w, err := NewStoredWriter(mem, name)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range docs {
		if err := w.Add(d[1], d[0], nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s := &tinySource{docs: docs}
	if s.stored, err = OpenStored(mem, name); err != nil {
		t.Fatal(err)
	}
	return s
}

// writeSources writes and verifies a segment, and compares its documents and lengths.
func writeSources(t *testing.T, mem *vfstest.Mem, dir string, o Options, want [][2]string, sources ...Source) *Segment {
	t.Helper()
	if _, err := Write(t.Context(), mem, dir, o, sources, nil); err != nil {
		t.Fatal(err)
	}
	s, err := Open(mem, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Verify(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var d StoredDoc
	for i, doc := range want {
		if o.Stored {
			if err := s.Stored(base.DocID(i), &d); err != nil || string(d.Text) != doc[0] || string(d.Title) != doc[1] {
				t.Errorf("document %d: %q, %q, %v, want %q", i, d.Text, d.Title, err, doc)
			}
		}
		for f, text := range doc {
			if n := s.Lengths(base.FieldID(f))[i]; int(n) != len(text) {
				t.Errorf("document %d: %d tokens in field %d, want %d", i, n, f, len(text))
			}
		}
	}
	if s.NumDocs() != len(want) {
		t.Errorf("%d documents, want %d", s.NumDocs(), len(want))
	}
	return s
}

func twoFields() Options {
	return Options{Fields: []string{"", "title"}, Codec: "raw", BM25: score.DefaultBM25, Positions: true, Stored: true}
}

// The documents of a source without a field have no tokens in it; documents of later sources keep
// theirs.
func TestSourceWithoutField(t *testing.T) {
	mem := vfstest.NewMem()
	sources := func() []Source {
		first := withStored(t, mem, "1", [2]string{"ab", ""}, [2]string{"c", ""}, [2]string{"d", ""})
		second := withStored(t, mem, "2", [2]string{"e", "xy"}, [2]string{"fff", "z"})
		return []Source{changedSource{first, dropOf(3, 1), 1}, second}
	}
	kept := [][2]string{{"ab", ""}, {"d", ""}, {"e", "xy"}, {"fff", "z"}}
	writeSources(t, mem, "seg", twoFields(), kept, sources()...)
	o := twoFields()
	o.Order = []base.DocID{3, 0, 2, 1}
	writeSources(t, mem, "ordered", o, [][2]string{kept[3], kept[0], kept[2], kept[1]}, sources()...)
}

// A source without documents needs no stored ones.
func TestEmptySourceWithoutStored(t *testing.T) {
	mem := vfstest.NewMem()
	full := withStored(t, mem, "1", [2]string{"ab", "x"}, [2]string{"c", ""}, [2]string{"d", "y"})
	writeSources(t, mem, "seg", twoFields(), [][2]string{{"ab", "x"}, {"d", "y"}}, &tinySource{}, changedSource{full, dropOf(3, 1), 2}, &tinySource{})
	if _, err := Write(t.Context(), mem, "none", twoFields(), []Source{&tinySource{}, &tinySource{docs: full.docs}}, nil); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("documents that are not stored: error %v", err)
	}
}

// Stored documents keep the order of a source. Only then is there a file of it.
func TestOrderOfSource(t *testing.T) {
	mem := vfstest.NewMem()
	docs := [][2]string{{"ab", "x"}, {"c", ""}, {"ddd", "y"}}
	reversed := [][2]string{docs[2], docs[1], docs[0]}
	o := twoFields()
	plain := writeSources(t, mem, "plain", o, docs, withStored(t, mem, "1", docs...))
	o.Order = []base.DocID{2, 1, 0}
	ordered := writeSources(t, mem, "ordered", o, reversed, withStored(t, mem, "2", docs...))
	o.Order = nil
	for name, c := range map[string]struct {
		from  *Segment
		docs  [][2]string
		order bool
	}{"plain again": {plain, docs, false}, "ordered again": {ordered, reversed, true}} {
		src, err := c.from.Source(nil)
		if err != nil {
			t.Fatal(err)
		}
		s := writeSources(t, mem, name, o, c.docs, src)
		if has := slices.ContainsFunc(s.meta.Files, func(f FileMeta) bool { return f.Name == fileOrder }); has != c.order {
			t.Errorf("%s: a file of the order: %t, want %t", name, has, c.order)
		}
	}
}

// An order that is no permutation is corrupt, for a merge too.
func TestMergeOfBrokenOrder(t *testing.T) {
	whole := smallSegment(t)
	n := len(payloads(t, whole)[fileOrder]) / 4
	for name, v := range map[string]uint32{"number twice": 1, "number past the end": uint32(n), "largest number": 1<<32 - 1} {
		t.Run(name, func(t *testing.T) {
			mem := whole.Clone()
			payload := payloads(t, mem)[fileOrder]
			at := slices.IndexFunc(asUint32s(payload), func(v uint32) bool { return v == 0 })
			binary.LittleEndian.PutUint32(payload[4*at:], v)
			reseal(t, mem, fileOrder, payload)
			s, err := Open(mem, "seg")
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			src, err := s.Source(nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Write(t.Context(), mem, "merged", twoFields(), []Source{src}, nil); !errors.Is(err, base.ErrCorrupt) || !strings.Contains(err.Error(), "is of another one") {
				t.Errorf("error %v, want ErrCorrupt", err)
			}
		})
	}
}

// namedSource has one document with an id of its own.
type namedSource struct {
	*tinySource
	id string
}

func (s namedSource) ID(int) []byte { return []byte(s.id) }

// Terms of later sources can precede terms of earlier ones.
func TestMergeOfFallingTerms(t *testing.T) {
	o := twoFields()
	o.Stored = false
	var sources []Source
	var docs [][2]string
	for _, term := range []string{"e", "d", "b", "c", "a"} {
		docs = append(docs, [2]string{term, ""})
		sources = append(sources, namedSource{&tinySource{docs: docs[len(docs)-1:]}, term})
	}
	s := writeSources(t, vfstest.NewMem(), "seg", o, docs, sources...)
	var terms []byte
	for it := s.Terms(0, nil); it.Next(); {
		terms = append(terms, it.Term()...)
	}
	if string(terms) != "abcde" {
		t.Errorf("terms %q", terms)
	}
}

// Segments without positions are merged like others.
func TestMergeWithoutPositions(t *testing.T) {
	mem := vfstest.NewMem()
	o := twoFields()
	o.Positions = false
	docs := [][2]string{{"abab", "x"}, {"c", ""}, {"ba", "y"}}
	s := writeSources(t, mem, "one", o, docs, withStored(t, mem, "1", docs...))
	for _, drop := range []*Bitmap{nil, dropOf(3, 1)} {
		src, err := s.Source(drop)
		if err != nil {
			t.Fatal(err)
		}
		want := docs
		if drop != nil {
			want = [][2]string{docs[0], docs[2]}
		}
		merged := writeSources(t, mem, "merged", o, want, src)
		var l postings.List
		if found, err := merged.Find(0, []byte("a"), &l); !found || err != nil || l.DocFreq != 2 || l.CollFreq != 3 {
			t.Errorf("list of %d documents, %v", l.DocFreq, err)
		}
		if err := mem.RemoveAll("merged"); err != nil {
			t.Fatal(err)
		}
	}
}

// A field of weights has no positions beside one that has, and its bounds are its weights.
func TestMergeWeightsBesidePositions(t *testing.T) {
	mem := vfstest.NewMem()
	o := twoFields()
	o.WeightFields = []bool{false, true}
	docs := [][2]string{{"abab", "xxxy"}, {"c", ""}, {"ba", "yyx"}}
	s := writeSources(t, mem, "one", o, docs, withStored(t, mem, "1", docs...))
	for _, order := range [][]base.DocID{nil, {1, 0}} {
		src, err := s.Source(dropOf(3, 1))
		if err != nil {
			t.Fatal(err)
		}
		o.Order = order
		if _, err := Write(t.Context(), mem, "merged", o, []Source{src}, nil); err != nil {
			t.Fatal(err)
		}
		merged, err := Open(mem, "merged")
		if err != nil {
			t.Fatal(err)
		}
		if err := merged.Verify(t.Context(), nil); err != nil {
			t.Error(err)
		}
		for field, want := range []struct {
			term      string
			positions bool
			max       uint16
		}{{"a", true, 0}, {"x", false, 3}} {
			var l postings.List
			found, err := merged.FindParts(base.FieldID(field), []byte(want.term), Positions, &l)
			if !found || err != nil || l.DocFreq != 2 || l.HasPositions() != want.positions || want.max > 0 && uint16(l.Max) != want.max {
				t.Errorf("list of %s: %d documents, positions %t, bound %d, %v", want.term, l.DocFreq, l.HasPositions(), l.Max, err)
			}
		}
		if err := errors.Join(merged.Close(), mem.RemoveAll("merged")); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []Options{{Weights: true}, {UnitLengths: []bool{false, true}}, {WeightFields: []bool{true}}, {WeightFields: make([]bool, 3)}} {
		o := twoFields()
		o.Weights, o.UnitLengths = bad.Weights, bad.UnitLengths
		if o.WeightFields = bad.WeightFields; o.WeightFields == nil {
			o.WeightFields = []bool{false, true}
		}
		if _, err := o.validate(1); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// onlyList has one list, of the blocks.
type onlyList struct {
	ListIterator
	terms  []string
	blocks []PostingBlock // of each term
	at     int
	block  int
}

func (l *onlyList) Next() bool          { l.at++; l.block = 0; return l.at <= len(l.terms) }
func (l *onlyList) Field() base.FieldID { return 0 }
func (l *onlyList) Term() []byte        { return []byte(l.terms[l.at-1]) }
func (l *onlyList) Err() error          { return nil }
func (l *onlyList) Close() error        { return nil }
func (l *onlyList) ReadBlock(b *PostingBlock) error {
	*b = PostingBlock{}
	if l.block < len(l.blocks) {
		*b = l.blocks[l.block]
		l.block++
	}
	return nil
}

type listSource struct {
	Source
	list *onlyList
}

func (s listSource) Lists() (ListIterator, error) { return s.list, nil }

func merge(m *merger, maps []docMap, list *onlyList) error {
	m.numFields = 1
	if m.positionsOf == nil {
		m.positionsOf = func(base.FieldID) bool { return false }
	}
	if m.batch = new(batch); m.emit == nil {
		m.emit = func(b *batch, _ base.FieldID, _ bool) (*batch, error) { b.reset(); return b, nil }
	}
	return m.run(context.Background(), []Source{listSource{list: list}}, maps)
}

func postingsOf(positions []byte, docIDs ...uint32) PostingBlock {
	b := PostingBlock{N: len(docIDs), Positions: positions}
	for i, d := range docIDs {
		b.DocIDs[i], b.Freqs[i] = d, 1
	}
	return b
}

// A merge refuses lists that break their contract, also of a source with dropped documents.
func TestMergeRefusesBrokenLists(t *testing.T) {
	for name, c := range map[string]struct {
		block PostingBlock
		want  string
	}{
		"good":                    {postingsOf([]byte{1, 2}, 1, 3), ""},
		"DocID of the last":       {postingsOf([]byte{1, 2}, 1, 4), "DocID 4 of 4"},
		"DocID before the last":   {postingsOf([]byte{1, 2}, 4, 3), "DocID 4 of 4"},
		"DocID far too high":      {postingsOf([]byte{1, 2}, 1<<31, 3), "DocID 2147483648 of 4"},
		"positions missing":       {postingsOf([]byte{1}, 1, 3), "document 3: positions end early"},
		"positions cut":           {postingsOf([]byte{1, 0x80}, 1, 3), "document 3: positions end early"},
		"positions of a document": {postingsOf([]byte{1, 2, 3, 4}, 1, 3), "2 bytes of positions too many"},
	} {
		t.Run(name, func(t *testing.T) {
			maps, _, err := newDocMaps([]Source{countedSource{n: 4, drop: dropOf(4, 0, 1)}})
			if err != nil {
				t.Fatal(err)
			}
			m := &merger{positionsOf: func(base.FieldID) bool { return true }}
			err = merge(m, maps, &onlyList{terms: []string{"a"}, blocks: []PostingBlock{c.block}})
			if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	m := new(merger)
	err := merge(m, []docMap{{n: 4}}, &onlyList{terms: []string{"a", "a"}})
	if !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), `term "a" after "a": not in order`) {
		t.Errorf("a term twice: error %v", err)
	}
}

// A merge without positions ignores the positions of its source.
func TestMergeIgnoresPositions(t *testing.T) {
	maps, _, err := newDocMaps([]Source{countedSource{n: 4, drop: dropOf(4, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, positions := range [][]byte{nil, {1, 2, 3}} {
		got := batch{}
		m := &merger{emit: func(b *batch, _ base.FieldID, _ bool) (*batch, error) { got = *b; return new(batch), nil }}
		if err := merge(m, maps, &onlyList{terms: []string{"a"}, blocks: []PostingBlock{postingsOf(positions, 1, 3)}}); err != nil {
			t.Errorf("%d bytes of positions: %v", len(positions), err)
		}
		if !slices.Equal(got.docIDs, []uint32{2}) || len(got.positions) != 0 {
			t.Errorf("documents %d, %d bytes of positions, want 2 and none", got.docIDs, len(got.positions))
		}
	}
}

// A merge ends with the first error of emit, also within a list.
func TestMergeEndsWithEmit(t *testing.T) {
	errStop := errors.New("stop")
	blocks := make([]PostingBlock, 2*batchPostings/128)
	for i := range blocks {
		b := &blocks[i]
		for b.N < 128 {
			b.DocIDs[b.N], b.Freqs[b.N] = uint32(128*i+b.N), 1
			b.N++
		}
	}
	calls := 0
	m := &merger{emit: func(*batch, base.FieldID, bool) (*batch, error) { calls++; return nil, errStop }}
	if err := merge(m, []docMap{{n: 128 * len(blocks)}}, &onlyList{terms: []string{"a"}, blocks: blocks}); !errors.Is(err, errStop) || calls != 1 {
		t.Errorf("error %v after %d calls", err, calls)
	}
}

// The errors of files that cannot be removed are added to the first one.
func TestWriteListsReportsAborts(t *testing.T) {
	for at := 1; ; at++ {
		faulty := vfstest.NewFaulty(vfstest.NewMem(), vfstest.Plan{FailAt: at})
		w := &writer{fs: faulty, dir: "seg", opts: Options{Positions: true, Threads: 1}}
		err := w.writeLists(t.Context())
		if err == nil {
			break
		}
		failed := len(faulty.Operations()) - at + 1
		if n := strings.Count(err.Error(), vfstest.ErrInjected.Error()); !errors.Is(err, vfstest.ErrInjected) || n != failed {
			t.Errorf("operation %d and all later ones fail: %d errors of %d: %v", at, n, failed, err)
		}
	}
}

// Ids with the same hash are in the table in the order of documents.
func TestHashTableOrder(t *testing.T) {
	const n, ids = 3000, 7
	var b bytes.Buffer
	if err := writeHashTable(t.Context(), &b, n, func(doc int) []byte { return []byte{byte(doc % ids)} }); err != nil {
		t.Fatal(err)
	}
	var hash, doc uint64
	for i := range n {
		h, d := binary.LittleEndian.Uint64(b.Bytes()[hashEntry*i:]), uint64(binary.LittleEndian.Uint32(b.Bytes()[hashEntry*i+8:]))
		if i > 0 && (h < hash || h == hash && d <= doc) {
			t.Fatalf("entry %d: hash %x of document %d after %x of %d", i, h, d, hash, doc)
		}
		hash, doc = h, d
	}
}
