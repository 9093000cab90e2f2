package invertertest

import (
	"encoding/binary"
	"fmt"
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

// Doc is a document's content in an index.
type Doc struct {
	ID      string
	Lengths []uint32              // by field
	Terms   []map[string][]uint32 // by field: positions, or {freq} without positions
	Title   string
	Text    string
	Extra   []corpus.Field
}

// Options of an index; Fields exclude the default.
type Options struct {
	Analyzer            string
	Fields              []string
	Positions, NoStored bool
}

// Expect returns an index's expected content, in DocID order.
func Expect(t testing.TB, docs []corpus.Document, opts Options) []Doc {
	t.Helper()
	analyzer, err := analysis.New(opts.Analyzer)
	if err != nil {
		t.Fatal(err)
	}
	last := map[string]int{}
	for i := range docs {
		last[docs[i].ID] = i
	}
	out := []Doc{}
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
		x := Doc{ID: d.ID}
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

// DumpSource reads a source's ids, lengths and lists.
func DumpSource(t testing.TB, src segment.Source, numFields int, positions bool) []Doc {
	t.Helper()
	docs := make([]Doc, src.NumDocs())
	for doc := range docs {
		docs[doc].ID = string(src.ID(doc))
		for f := range numFields {
			length := uint32(0)
			if all := src.Lengths(base.FieldID(f)); all != nil { // a document has the field
				length = all[doc]
			}
			docs[doc].Lengths = append(docs[doc].Lengths, length)
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

// SameDocs compares two indexes' content.
func SameDocs(t testing.TB, got, want []Doc) {
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

// ByID sorts, for reordered indexes.
func ByID(docs []Doc) []Doc {
	slices.SortFunc(docs, func(a, b Doc) int { return strings.Compare(a.ID, b.ID) })
	return docs
}

// RandomDocs returns documents of a skewed vocabulary. Some are empty, some have fields, some
// repeat an id.
func RandomDocs(seed uint64, n int, duplicates bool) []corpus.Document {
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
