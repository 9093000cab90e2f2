package segment

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sealed"
)

// hashed is a Source that has the hash table of its ids.
type hashed interface {
	// hashTable returns the entries, whose checksums are verified.
	hashTable() []byte
}

func (r *segmentSource) hashTable() []byte { return r.s.ids.file.Bytes()[r.s.ids.hashes:] }

// hashTables returns the tables of all sources; nil: one has none, or documents change their order.
func (w *writer) hashTables() [][]byte {
	if w.newID != nil {
		return nil
	}
	tables := make([][]byte, len(w.sources))
	for i, s := range w.sources {
		h, ok := s.(hashed)
		if !ok {
			return nil
		}
		tables[i] = h.hashTable()
	}
	return tables
}

// tableCursor is the next entry of a source's table.
type tableCursor struct {
	hash  uint64
	doc   uint32 // new DocID
	rest  []byte
	docs  *docMap
	index int
}

// next moves to the next kept document; false at the end.
func (c *tableCursor) next() (bool, error) {
	for len(c.rest) > 0 {
		hash, doc := binary.LittleEndian.Uint64(c.rest), binary.LittleEndian.Uint32(c.rest[8:])
		c.rest = c.rest[hashEntry:]
		if int64(doc) >= int64(c.docs.n) {
			return false, fmt.Errorf("source %d: hash table: document %d of %d: %w", c.index, doc, c.docs.n, base.ErrCorrupt)
		}
		moved := c.docs.base + doc
		if c.docs.table != nil {
			moved = c.docs.table[doc]
		}
		if moved == dropped {
			continue
		}
		if hash < c.hash {
			return false, fmt.Errorf("source %d: hash table is not in order: %w", c.index, base.ErrCorrupt)
		}
		c.hash, c.doc = hash, moved
		return true, nil
	}
	return false, nil
}

func (c *tableCursor) before(o *tableCursor) bool {
	return c.hash < o.hash || c.hash == o.hash && c.doc < o.doc
}

// mergeHashTables merges sorted tables: their hashes are neither computed nor sorted again, and memory is a bit a
// document.
func (w *writer) mergeHashTables(ctx context.Context, f *sealed.Writer, tables [][]byte) error {
	var heap []*tableCursor
	for i, table := range tables {
		c := &tableCursor{rest: table, docs: &w.maps[i], index: i}
		ok, err := c.next()
		if err != nil {
			return err
		}
		if ok {
			heap = append(heap, c)
		}
	}
	for i := len(heap) / 2; i >= 0; i-- {
		sink(heap, i)
	}
	seen := NewBitmap(w.numDocs)
	var entry [hashEntry]byte
	n := 0
	for ; len(heap) > 0; n++ {
		if n%(1<<16) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		w.yield(n)
		c := heap[0]
		if !seen.Set(int(c.doc)) {
			return fmt.Errorf("source %d: hash table: two entries of a document: %w", c.index, base.ErrCorrupt)
		}
		binary.LittleEndian.PutUint64(entry[:], c.hash)
		binary.LittleEndian.PutUint32(entry[8:], c.doc)
		if _, err := f.Write(entry[:]); err != nil {
			return err
		}
		ok, err := c.next()
		if err != nil {
			return err
		}
		if !ok {
			heap[0] = heap[len(heap)-1]
			heap = heap[:len(heap)-1]
		}
		sink(heap, 0)
	}
	return nil // each source has as many entries as documents, and no document twice
}

// sink restores the order of a heap after its element i grew.
func sink(heap []*tableCursor, i int) {
	for {
		child := 2*i + 1
		if child >= len(heap) {
			return
		}
		if child+1 < len(heap) && heap[child+1].before(heap[child]) {
			child++
		}
		if !heap[child].before(heap[i]) {
			return
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}
