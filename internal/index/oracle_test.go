package index

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/segment"
)

// indexedDoc is everything that an index knows of one document.
type indexedDoc struct {
	ID      string
	Lengths []uint32              // by field
	Terms   []map[string][]uint32 // by field: positions, or {freq} without positions
	Title   string
	Text    string
	Extra   []corpus.Field
}

// expect inverts documents the slow and obvious way: what an index of them
// holds, in DocID order.
func expect(t testing.TB, docs []corpus.Document, opts Options) []indexedDoc {
	t.Helper()
	opts, err := opts.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	analyzer, err := analysis.New(opts.Analyzer)
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]int{}
	for i := range docs {
		last[docs[i].ID] = i
	}
	out := []indexedDoc{}
	for i := range docs {
		d := &docs[i]
		if last[d.ID] != i {
			continue
		}
		texts := make([][]string, 1+len(opts.Fields))
		texts[0] = []string{d.Title, d.Text}
		for f, name := range opts.Fields {
			if name == "title" {
				texts[f+1] = append(texts[f+1], d.Title)
			}
			for _, e := range d.Extra {
				if e.Name == name {
					texts[f+1] = append(texts[f+1], e.Value)
				}
			}
		}
		x := indexedDoc{ID: d.ID}
		for _, parts := range texts {
			length, terms := expectField(analyzer, parts, opts.Positions)
			x.Lengths, x.Terms = append(x.Lengths, length), append(x.Terms, terms)
		}
		if !opts.NoStored {
			x.Title, x.Text, x.Extra = d.Title, d.Text, d.Extra
		}
		out = append(out, x)
	}
	return out
}

// expectField inverts the parts of one field of one document.
func expectField(analyzer analysis.Analyzer, parts []string, positions bool) (length uint32, terms map[string][]uint32) {
	terms = map[string][]uint32{}
	next := uint32(0)
	for _, part := range parts {
		first, last := next, uint32(0)
		tokens := analyzer.Tokens(nil, []byte(part))
		for _, token := range tokens {
			term := string(token.Term)
			last = first + token.Position
			if positions {
				terms[term] = append(terms[term], last)
			} else if terms[term] == nil {
				terms[term] = []uint32{1}
			} else {
				terms[term][0]++
			}
		}
		if len(tokens) > 0 {
			next = last + 1 + 64
		}
		length += uint32(len(tokens))
	}
	return length, terms
}

// dump reads back all live documents of an index, in DocID order.
func dump(t testing.TB, ix *Index) []indexedDoc {
	t.Helper()
	s, err := ix.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	out := []indexedDoc{}
	for i := range s.Segments {
		docs := dumpSegment(t, s.Segments[i].Segment)
		for doc := range docs {
			if live := s.Segments[i].Live; live == nil || live.Has(doc) {
				out = append(out, docs[doc])
			}
		}
	}
	if len(out) != s.NumLive {
		t.Errorf("%d live documents, the snapshot says %d", len(out), s.NumLive)
	}
	return out
}

func dumpSegment(t testing.TB, seg *segment.Segment) []indexedDoc {
	t.Helper()
	src, err := seg.Source(nil)
	if err != nil {
		t.Fatal(err)
	}
	docs := dumpSource(t, src, len(seg.Meta().Fields), seg.Meta().Positions)
	if !seg.HasStored() {
		return docs
	}
	var stored segment.StoredDoc
	for doc := range docs {
		if err := seg.Stored(base.DocID(doc), &stored); err != nil {
			t.Fatal(err)
		}
		docs[doc].Title, docs[doc].Text = string(stored.Title), string(stored.Text)
		for _, e := range stored.Extra {
			docs[doc].Extra = append(docs[doc].Extra, corpus.Field{Name: string(e.Name), Value: string(e.Value)})
		}
	}
	return docs
}

// dumpSource reads ids, lengths and lists of a source.
func dumpSource(t testing.TB, src segment.Source, numFields int, positions bool) []indexedDoc {
	t.Helper()
	docs := make([]indexedDoc, src.NumDocs())
	for doc := range docs {
		docs[doc].ID = string(src.ID(doc))
		for f := range numFields {
			docs[doc].Lengths = append(docs[doc].Lengths, src.Lengths(base.FieldID(f))[doc])
			docs[doc].Terms = append(docs[doc].Terms, map[string][]uint32{})
		}
	}
	lists, err := src.Lists()
	if err != nil {
		t.Fatal(err)
	}
	defer lists.Close()
	before := ""
	var b segment.PostingBlock
	for lists.Next() {
		key := string(rune(lists.Field())) + string(lists.Term())
		if key <= before && before != "" {
			t.Fatalf("list %q after %q", key, before)
		}
		before = key
		count := 0
		for {
			if err := lists.ReadBlock(&b); err != nil {
				t.Fatal(err)
			}
			if b.N == 0 {
				break
			}
			count += b.N
			rest := b.Positions
			for i := range b.N {
				at := []uint32{b.Freqs[i]}
				if positions {
					at, rest = decodePositions(t, rest, b.Freqs[i])
				}
				docs[b.DocIDs[i]].Terms[lists.Field()][string(lists.Term())] = at
			}
			if len(rest) != 0 {
				t.Fatalf("term %q: %d bytes after the positions of a block", lists.Term(), len(rest))
			}
		}
		if count != lists.DocFreq() {
			t.Fatalf("term %q: %d postings, DocFreq is %d", lists.Term(), count, lists.DocFreq())
		}
	}
	if err := lists.Err(); err != nil {
		t.Fatal(err)
	}
	return docs
}

func decodePositions(t testing.TB, src []byte, freq uint32) (positions []uint32, rest []byte) {
	at := uint64(0)
	for range freq {
		gap, n := binary.Uvarint(src)
		if n <= 0 {
			t.Fatal("positions are cut off")
		}
		at += gap
		positions, src = append(positions, uint32(at)), src[n:]
	}
	return positions, src
}

// sameDocs compares what two indexes hold, or an index and what is expected.
func sameDocs(t testing.TB, got, want []indexedDoc) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d documents, want %d", len(got), len(want))
	}
	for i := range got {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("document %d:\n got %+v\nwant %+v", i, got[i], want[i])
		}
	}
}

// byID sorts documents by id, for indexes that were reordered.
func byID(docs []indexedDoc) []indexedDoc {
	slices.SortFunc(docs, func(a, b indexedDoc) int { return strings.Compare(a.ID, b.ID) })
	return docs
}

// randomDocs returns documents with text of a skewed vocabulary; some are
// empty, some have fields, some have the id of an earlier one.
func randomDocs(seed uint64, n int, duplicates bool) []corpus.Document {
	rng := rand.New(rand.NewPCG(seed, 2))
	zipf := rand.NewZipf(rng, 1.1, 3, 4000)
	words := func(most int) string {
		var b strings.Builder
		for range rng.IntN(most + 1) {
			w := zipf.Uint64()
			fmt.Fprintf(&b, "w%d", w)
			if w%7 == 0 {
				b.WriteString(strings.Repeat("long", int(w%5)))
			}
			b.WriteString([]string{" ", ", ", " the ", ". "}[rng.IntN(4)])
		}
		return b.String()
	}
	docs := make([]corpus.Document, n)
	for i := range docs {
		d := &docs[i]
		d.ID = fmt.Sprintf("id-%d", i)
		if duplicates && i > 0 && rng.IntN(10) == 0 {
			d.ID = docs[rng.IntN(i)].ID
		}
		d.Source = corpus.Location{File: fmt.Sprintf("file-%d", i/1000), Line: int64(i%1000) + 1}
		if i%9 == 4 {
			continue // an empty document
		}
		d.Title, d.Text = words(4), words(60)
		if i%5 == 0 {
			d.Extra = []corpus.Field{{Name: "author", Value: words(3)}, {Name: "url", Value: "u"}, {Name: "author", Value: words(2)}}
		}
	}
	return docs
}

// memoryReader is a corpus in memory.
type memoryReader struct {
	docs  []corpus.Document
	bad   map[int]error // instead of the document with this number
	batch int           // documents a batch
	at    int
	fail  error // of Next, after the last document
	// next, if set, is called with each call of Next.
	next func(at int)
	// closed, if set, is closed by Close.
	closed chan struct{}
}

var _ corpus.Reader = (*memoryReader)(nil)

func (r *memoryReader) Next() (*corpus.Batch, error) {
	if r.next != nil {
		r.next(r.at)
	}
	if r.at >= len(r.docs) {
		if r.fail != nil {
			return nil, r.fail
		}
		return nil, io.EOF
	}
	first, end := r.at, min(r.at+r.batch, len(r.docs))
	r.at = end
	size := 0
	for i := first; i < end; i++ {
		size += len(r.docs[i].Title) + len(r.docs[i].Text) + 50
	}
	return &corpus.Batch{SizeBytes: int64(size), Parse: func(doc func(*corpus.Document) error, bad func(*corpus.RecordError) error) error {
		for i := first; i < end; i++ {
			var err error
			if e := r.bad[i]; e != nil {
				err = bad(&corpus.RecordError{Location: r.docs[i].Source, Err: e})
			} else {
				d := r.docs[i]
				err = doc(&d)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}}, nil
}

func (r *memoryReader) Progress() (read, total int64) { return 0, 0 }
func (r *memoryReader) Skipped() int64                { return 0 }

func (r *memoryReader) Close() error {
	if r.closed != nil {
		close(r.closed)
	}
	return nil
}
