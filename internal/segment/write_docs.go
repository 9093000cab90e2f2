package segment

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"path/filepath"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sealed"
)

// docRef is a document of a source.
type docRef struct{ source, doc uint32 }

// collectRefs makes refs. Without Options.Order, documents are found by a docCursor, in no memory.
func (w *writer) collectRefs() {
	if w.newID == nil {
		return
	}
	w.refs = make([]docRef, w.numDocs)
	c := docCursor{maps: w.maps}
	for next := range w.numDocs {
		w.refs[w.newID[next]] = c.at(next)
	}
}

// inOrder returns the source's document of a new DocID. It is called for rising DocIDs, several times from 0 on.
func (w *writer) inOrder() func(id int) docRef {
	if w.refs != nil {
		return func(id int) docRef { return w.refs[id] }
	}
	c := docCursor{maps: w.maps}
	return c.at
}

// docCursor walks through the kept documents of all sources.
type docCursor struct {
	maps        []docMap
	source, doc int // the next one that may be kept
	next        int // its number among the kept ones
}

// at returns the n-th kept document. n is 0, or follows the last call's.
func (c *docCursor) at(n int) docRef {
	if n < c.next {
		c.source, c.doc, c.next = 0, 0, 0
	}
	for {
		m := &c.maps[c.source]
		for c.doc < m.n {
			doc := c.doc
			c.doc++
			if m.table != nil && m.table[doc] == dropped {
				continue
			}
			c.next++
			if c.next > n {
				return docRef{uint32(c.source), uint32(doc)}
			}
		}
		c.source, c.doc = c.source+1, 0
	}
}

// oldDocs iterates over the kept documents, in the order of new DocIDs.
func (w *writer) oldDocs() iter.Seq2[int, base.DocID] {
	return func(yield func(int, base.DocID) bool) {
		at := w.inOrder()
		for id := range w.numDocs {
			w.yield(id)
			if r := at(id); !yield(int(r.source), base.DocID(r.doc)) {
				return
			}
		}
	}
}

// yield lets searches and other goroutines compute, now and then.
func (w *writer) yield(doc int) {
	switch {
	case doc%(1<<14) == 0: // to hand a turn on takes about as long as 1,000 documents
		w.opts.Turns.Yield()
	case doc%(1<<9) == 0:
		w.opts.Turns.Pass()
	}
}

// writeLengths writes the kept documents' lengths in the order of new DocIDs, gathers the statistics that
// depend on them, and opens the file: the lists' bounds need the lengths, which are not kept in memory.
func (w *writer) writeLengths() (*sealed.File, error) {
	w.opts.Turns.Take()
	defer w.opts.Turns.Give()
	err := w.writeFile(fileLengths, func(f *sealed.Writer) error {
		for field := range w.opts.Fields {
			if err := f.Align(64); err != nil {
				return err
			}
			if err := w.writeFieldLengths(f, base.FieldID(field)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	file, err := sealed.Open(w.fs, filepath.Join(w.dir, fileLengths), fileLengths, arrayVersion)
	if err != nil {
		return nil, err
	}
	s := Segment{meta: w.meta}
	if err = s.openLengths(file); err == nil {
		err = file.Check(0, file.Len())
	}
	if err != nil {
		return nil, closing(err, file)
	}
	for field := range w.opts.Fields {
		w.lengths = append(w.lengths, s.Lengths(base.FieldID(field)))
	}
	return file, nil
}

func (w *writer) writeFieldLengths(f *sealed.Writer, field base.FieldID) error {
	meta := FieldMeta{Name: w.opts.Fields[field], UnitLengths: w.opts.unitLengths(int(field)), Weights: w.opts.weights(int(field))}
	sources := make([][]uint32, len(w.sources))
	for i, s := range w.sources {
		sources[i] = s.Lengths(field)
		if n := len(sources[i]); sources[i] != nil && n != w.maps[i].n {
			return fmt.Errorf("source %d: field %q: %d lengths of %d documents: %w", i, meta.Name, n, w.maps[i].n, base.ErrBadInput)
		}
	}
	at := w.inOrder()
	var buf [4096]byte
	out, word := buf[:0], uint64(0) // of a unit field, a bit a document
	for id := range w.numDocs {
		w.yield(id)
		r, n := at(id), uint32(0)
		if from := sources[r.source]; from != nil {
			n = from[r.doc]
		}
		if meta.UnitLengths {
			n = min(n, 1)
			word |= uint64(n) << (id % 64)
			if id%64 == 63 || id == w.numDocs-1 {
				out = binary.LittleEndian.AppendUint64(out, word)
				word = 0
			}
		} else {
			out = binary.LittleEndian.AppendUint32(out, n)
		}
		if n > 0 {
			meta.NumDocs++
			meta.TotalTokens += uint64(n)
		}
		if len(out) == len(buf) || id == w.numDocs-1 {
			if _, err := f.Write(out); err != nil {
				return err
			}
			out = buf[:0]
		}
	}
	meta.AvgLen = meta.avgLen(w.numDocs)
	w.meta.Fields = append(w.meta.Fields, meta)
	return nil
}

func (w *writer) writeIDs(ctx context.Context) error {
	at := w.inOrder()
	id := func(doc int) []byte {
		w.yield(doc)
		r := at(doc)
		return w.sources[r.source].ID(int(r.doc))
	}
	return w.writeFile(fileIDs, func(f *sealed.Writer) error {
		if err := writeIDs(f, w.numDocs, id); err != nil {
			return err
		}
		if tables := w.hashTables(); tables != nil {
			return w.mergeHashTables(ctx, f, tables)
		}
		return writeHashTable(ctx, f, w.numDocs, id)
	})
}
