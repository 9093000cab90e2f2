package index

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// The time to analyse a stored document's token again, in decoded postings.
const tokenCost = 50

// recount counts what deleted documents contribute to the lists and fields of their segment.
type recount struct {
	fs          vfs.FS
	options     *Options
	grown       int                    // manifest.Grown
	memoryBytes int64                  // 0: DefaultMemoryBytes
	temp        func() (string, error) // returns the folder for its files
}

// count returns the counts of docs, a few documents of a segment. It inverts their stored text again, or reads the segment's
// lists if that is faster or there is no text. former: it can have documents of a former shape.
func (c *recount) count(ctx context.Context, s *segment.Segment, docs *segment.Bitmap, former bool) (*segment.ListCounts, error) {
	if c.options.Weighted() || !s.HasStored() || former {
		return s.CountDocs(ctx, docs)
	}
	counts := s.NewListCounts()
	if err := s.CountTokens(docs, counts); err != nil {
		return nil, err
	}
	tokens, scan := uint64(0), uint64(0)
	for f := range s.Meta().Fields {
		tokens += counts.Tokens(base.FieldID(f))
		scan += s.Meta().Fields[f].NumPostings + s.Meta().Fields[f].NumTerms
	}
	if tokens*tokenCost < scan {
		ok, err := c.invertAgain(ctx, s, docs, counts)
		if ok || err != nil {
			return counts, err
		}
	}
	return s.CountDocs(ctx, docs)
}

// invertAgain adds to counts the lists of docs, by their stored text. It reports false if the text
// does not give the lists, which happens if another version of the analyzer made these.
func (c *recount) invertAgain(ctx context.Context, s *segment.Segment, docs *segment.Bitmap, counts *segment.ListCounts) (ok bool, err error) {
	schema := c.options.Schema()
	schema.Stored, schema.Positions = false, false
	schema.Fields = schema.Fields[:len(s.Meta().Fields)]
	analyzer, err := schema.NewAnalyzer()
	if err != nil {
		return false, err
	}
	dir, err := c.temp()
	if err != nil {
		return false, err
	}
	memory := c.memoryBytes
	if memory == 0 {
		memory = DefaultMemoryBytes
	}
	batch := inverter.NewBatch(inverter.Options{Schema: schema, FS: c.fs, Dir: dir, MemoryBytes: memory}, analyzer)
	defer func() { err = errors.Join(err, batch.Close()) }()
	var stored segment.StoredDoc
	for i, doc := range docs.Members() {
		if i%256 == 0 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err := s.Stored(doc, &stored); err != nil {
			return false, err
		}
		d := corpus.Document{ID: strconv.Itoa(i), Title: string(stored.Title), Text: string(stored.Text)}
		if c.grown > 0 {
			d.Declared = declaredOf(c.options, s, doc)
		}
		for _, f := range stored.Extra {
			d.Extra = append(d.Extra, corpus.Field{Name: string(f.Name), Value: string(f.Value)})
		}
		if err := batch.Add(&d); errors.Is(err, base.ErrBadInput) {
			return false, nil // it has a value that no field had when it was written
		} else if err != nil {
			return false, fmt.Errorf("document %d: stored text: %w", doc, err)
		}
	}
	partials, err := batch.Partials()
	if err != nil {
		return false, err
	}
	sources := partials.Sources()
	for f := range schema.Fields {
		sum := uint64(0)
		for _, src := range sources {
			for _, n := range src.Lengths(base.FieldID(f)) {
				sum += uint64(n)
			}
		}
		if sum != counts.Tokens(base.FieldID(f)) {
			return false, nil
		}
	}
	return addLists(ctx, s, sources, counts)
}

// addLists adds the lists of sources, each of which has documents of the segment, to counts.
func addLists(ctx context.Context, s *segment.Segment, sources []segment.Source, counts *segment.ListCounts) (ok bool, err error) {
	type key struct {
		field base.FieldID
		term  string
	}
	var several map[key]uint32 // if there are several sources
	if len(sources) > 1 {
		several = map[key]uint32{}
	}
	var list postings.List
	add := func(f base.FieldID, term []byte, n uint32) (bool, error) {
		found, err := segment.FindCounted(s, f, term, &list)
		if err != nil || !found || n > list.DocFreq {
			return false, err
		}
		counts.Add(f, &list, n)
		return true, nil
	}
	for _, src := range sources {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		lists, err := src.Lists()
		if err != nil {
			return false, err
		}
		for lists.Next() {
			if several != nil {
				several[key{lists.Field(), string(lists.Term())}] += uint32(lists.DocFreq())
				continue
			}
			if ok, err := add(lists.Field(), lists.Term(), uint32(lists.DocFreq())); err != nil || !ok {
				return false, errors.Join(err, lists.Close())
			}
		}
		if err := errors.Join(lists.Err(), lists.Close()); err != nil {
			return false, err
		}
	}
	for k, n := range several {
		if ok, err := add(k.field, []byte(k.term), n); err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}
