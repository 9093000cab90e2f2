package segmenttest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Doc is a document: id, stored text, each field's tokens by position ("" is a gap), and the values
// of the columns NumberColumn and KeywordColumn.
type Doc struct {
	ID, Title, Text string
	Extra           []corpus.Field
	Fields          [][]string
	Numbers         []int64
	Keywords        []string
}

// The names of the columns.
const (
	NumberColumn  = "number"
	KeywordColumn = "keyword"
)

// RandomDocs returns n documents with unique ids and Zipf-like terms; some are empty.
func RandomDocs(rng *rand.Rand, n, vocabulary, numFields int) []Doc {
	docs := make([]Doc, n)
	zipf := rand.NewZipf(rng, 1.2, 4, uint64(vocabulary-1))
	for i := range docs {
		d := &docs[i]
		d.ID = fmt.Sprintf("doc-%d-%x", i, rng.Uint32N(1<<16))
		d.Fields = make([][]string, numFields)
		for f := range d.Fields {
			if rng.IntN(10) == 0 {
				continue
			}
			length := 1 + rng.IntN(40>>f)
			for range length {
				token := Term(zipf.Uint64())
				if rng.IntN(12) == 0 {
					token = ""
				}
				d.Fields[f] = append(d.Fields[f], token)
			}
		}
		values := rand.New(rand.NewPCG(uint64(i), 1))
		for range values.IntN(3) {
			d.Numbers = append(d.Numbers, values.Int64N(1000)-500)
			d.Keywords = append(d.Keywords, Term(values.Uint64N(30)))
		}
		d.Title = fmt.Sprintf("Title %d", i)
		d.Text = strings.Join(d.Fields[0], " ")
		if rng.IntN(3) == 0 {
			d.Extra = []corpus.Field{{Name: "url", Value: fmt.Sprintf("https://example.org/%d", i)}, {Name: "note", Value: ""}}
		}
	}
	return docs
}

// Term returns a vocabulary's i-th term. Terms share prefixes and are not ordered by i.
func Term(i uint64) string {
	const letters = "etaoinshrdlu"
	var b []byte
	for i++; i > 0; i /= 12 {
		b = append(b, letters[i%12])
	}
	return string(b)
}

// Posting is a document with a term's positions.
type Posting struct {
	Doc       int
	Positions []uint32
}

// Lists inverts one field.
func Lists(docs []Doc, field int) map[string][]Posting {
	lists := map[string][]Posting{}
	for i := range docs {
		for at, term := range docs[i].Fields[field] {
			if term == "" {
				continue
			}
			l := lists[term]
			if n := len(l); n > 0 && l[n-1].Doc == i {
				l[n-1].Positions = append(l[n-1].Positions, uint32(at))
			} else {
				l = append(l, Posting{Doc: i, Positions: []uint32{uint32(at)}})
			}
			lists[term] = l
		}
	}
	return lists
}

// Lengths counts one field's tokens.
func Lengths(docs []Doc, field int) []uint32 {
	lengths := make([]uint32, len(docs))
	for i := range docs {
		for _, term := range docs[i].Fields[field] {
			if term != "" {
				lengths[i]++
			}
		}
	}
	return lengths
}

// Source is a segment.Source of documents in memory.
type Source struct {
	Docs   []Doc
	Drop   *segment.Bitmap
	stored func() (*segment.StoredReader, error)
	// BlockLen is an iterator's postings a block; 0: the maximum.
	BlockLen int
}

var (
	_ segment.Source   = (*Source)(nil)
	_ segment.Columned = (*Source)(nil)
)

// NewSource stores docs in the named file if fs is not nil.
func NewSource(docs []Doc, fs vfs.FS, name string) (*Source, error) {
	s := &Source{Docs: docs}
	if fs == nil {
		return s, nil
	}
	w, err := segment.NewStoredWriter(fs, name)
	if err != nil {
		return nil, err
	}
	for i := range docs {
		if err := w.Add(docs[i].Title, docs[i].Text, docs[i].Extra); err != nil {
			return nil, err
		}
	}
	s.stored = func() (*segment.StoredReader, error) { return segment.OpenStored(fs, name) }
	return s, w.Close()
}

// NumDocs implements segment.Source.
func (s *Source) NumDocs() int { return len(s.Docs) }

// Dropped implements segment.Source.
func (s *Source) Dropped() *segment.Bitmap { return s.Drop }

// ID implements segment.Source.
func (s *Source) ID(doc int) []byte { return []byte(s.Docs[doc].ID) }

// Lengths implements segment.Source.
func (s *Source) Lengths(field base.FieldID) []uint32 { return Lengths(s.Docs, int(field)) }

// Order is the identity.
func (s *Source) Order() ([]uint32, error) { return nil, nil }

// Stored implements segment.Source.
func (s *Source) Stored() (*segment.StoredReader, error) {
	if s.stored == nil {
		return nil, nil
	}
	return s.stored()
}

// Columns implements segment.Columned.
func (s *Source) Columns() (*column.Set, error) {
	var file bytes.Buffer
	w := column.NewWriter(&file, len(s.Docs), column.Temp{})
	keywords, err := w.Ordinals(KeywordColumn)
	if err != nil {
		return nil, err
	}
	for i := range s.Docs {
		var values [][]byte
		for _, v := range s.Docs[i].Keywords {
			values = append(values, []byte(v))
		}
		if err := keywords.Add(base.DocID(i), values); err != nil {
			return nil, err
		}
	}
	if err := keywords.Close(); err != nil {
		return nil, err
	}
	numbers, err := w.Numbers(NumberColumn)
	if err != nil {
		return nil, err
	}
	for i := range s.Docs {
		if err := numbers.Add(base.DocID(i), s.Docs[i].Numbers); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(numbers.Close(), w.Close()); err != nil || w.Columns() == 0 {
		return nil, err
	}
	return column.Open(column.Memory(file.Bytes()), len(s.Docs))
}

// Lists implements segment.Source.
func (s *Source) Lists() (segment.ListIterator, error) {
	it := &lists{blockLen: s.BlockLen, at: -1}
	if len(s.Docs) == 0 {
		return it, nil
	}
	for f := range s.Docs[0].Fields {
		byTerm := Lists(s.Docs, f)
		for _, term := range slices.Sorted(maps.Keys(byTerm)) {
			it.lists = append(it.lists, list{base.FieldID(f), []byte(term), byTerm[term]})
		}
	}
	return it, nil
}

type list struct {
	field    base.FieldID
	term     []byte
	postings []Posting
}

type lists struct {
	lists    []list
	at       int
	next     int // posting
	blockLen int
}

func (it *lists) Next() bool {
	it.at++
	it.next = 0
	return it.at < len(it.lists)
}

func (it *lists) Field() base.FieldID { return it.lists[it.at].field }
func (it *lists) Term() []byte        { return it.lists[it.at].term }
func (it *lists) DocFreq() int        { return len(it.lists[it.at].postings) }
func (it *lists) Err() error          { return nil }
func (it *lists) Close() error        { return nil }

func (it *lists) ReadBlock(b *segment.PostingBlock) error {
	left := it.lists[it.at].postings[it.next:]
	n := len(b.DocIDs)
	if it.blockLen > 0 {
		n = it.blockLen
	}
	b.N = min(n, len(left))
	b.Positions = b.Positions[:0]
	for i, p := range left[:b.N] {
		b.DocIDs[i], b.Freqs[i] = uint32(p.Doc), uint32(len(p.Positions))
		last := uint32(0)
		for _, pos := range p.Positions {
			b.Positions = binary.AppendUvarint(b.Positions, uint64(pos-last))
			last = pos
		}
	}
	it.next += b.N
	return nil
}
