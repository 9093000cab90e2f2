package segment

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sealed"
)

func (w *writer) openStored() ([]*StoredReader, error) {
	if !w.opts.Stored {
		return nil, nil
	}
	var readers []*StoredReader
	for i, s := range w.sources {
		r, err := s.Stored()
		if err == nil && w.maps[i].n > 0 && (r == nil || r.NumDocs() != w.maps[i].n) {
			err = fmt.Errorf("source %d: stored documents are missing: %w", i, base.ErrBadInput)
		}
		if r != nil {
			readers = append(readers, r)
		}
		if err != nil {
			for _, r := range readers {
				_ = r.Close()
			}
			return nil, err
		}
		if r == nil {
			readers = append(readers, &StoredReader{}) // no documents
		}
	}
	return readers, nil
}

// writeStored writes documents in the order of the sources' files, copying blocks without drops
// unchanged. If new DocIDs differ, it writes the order file.
func (w *writer) writeStored(ctx context.Context, readers []*StoredReader) error {
	reordered := w.newID != nil
	for _, r := range readers {
		reordered = reordered || r.order != nil
	}
	var numbers []uint32 // numbers in the new file, by new DocID
	if reordered {
		numbers = make([]uint32, w.numDocs)
	}
	out, err := NewStoredWriter(w.fs, filepath.Join(w.dir, fileStored))
	if err != nil {
		return err
	}
	first := 0 // first document of the source, as a DocID without Options.Order
	for i, r := range readers {
		base := out.NumDocs()
		drop, moved, err := w.storedNumbers(i, r)
		if err == nil {
			err = copyStored(ctx, out, r, drop)
		}
		if err != nil {
			return abort(err, out)
		}
		if reordered {
			next := first
			_ = w.maps[i].kept(func(doc int) error {
				id := next
				if w.newID != nil {
					id = int(w.newID[next])
				}
				numbers[id] = uint32(base) + moved(doc)
				next++
				return nil
			})
		}
		first += out.NumDocs() - base
	}
	if err := out.Close(); err != nil {
		return err
	}
	w.addFile(fileStored, out.out)
	if !reordered {
		return nil
	}
	return w.writeFile(fileOrder, func(f *sealed.Writer) error { return writeUint32s(f, numbers) })
}

// storedNumbers returns a source file's dropped numbers (nil: none), and a function from a kept
// document to its rank among the kept ones of the file.
func (w *writer) storedNumbers(source int, r *StoredReader) (drop *Bitmap, moved func(doc int) uint32, err error) {
	m := &w.maps[source]
	number := func(doc int) uint32 { return uint32(doc) }
	if r.order != nil {
		if err := r.order.check(); err != nil {
			return nil, nil, err
		}
		values := r.order.values()
		seen := NewBitmap(m.n)
		for doc, v := range values {
			if int64(v) >= int64(m.n) || !seen.Set(int(v)) {
				return nil, nil, fmt.Errorf("%s: document %d: number %d in the file: %w", r.order.file.Name(), doc, v, base.ErrCorrupt)
			}
		}
		number = func(doc int) uint32 { return values[doc] }
	}
	if m.table == nil {
		return nil, number, nil
	}
	drop = NewBitmap(m.n)
	for doc, id := range m.table {
		if id == dropped {
			drop.Set(int(number(doc)))
		}
	}
	ranks := make([]uint32, m.n)
	rank := uint32(0)
	for v := range ranks {
		ranks[v] = rank
		if !drop.Has(v) {
			rank++
		}
	}
	return drop, func(doc int) uint32 { return ranks[number(doc)] }, nil
}

// copyStored appends the documents of r, except those in drop, in the order of the file.
func copyStored(ctx context.Context, out *StoredWriter, r *StoredReader, drop *Bitmap) error {
	if r.numDocs == 0 {
		return nil
	}
	var scratch []byte
	return r.eachBlock(ctx, func(_ int, b *storedBlock) error {
		numDropped := 0
		for i := range b.numDocs {
			if drop.Has(b.first + i) {
				numDropped++
			}
		}
		// Small blocks, at the ends of sources, are merged with neighbours: repeated small
		// merges would accumulate them.
		if numDropped == 0 && b.rawLen >= storedBlockLen/2 {
			return out.addBlock(b.frame, b.numDocs, b.rawLen)
		}
		if numDropped == b.numDocs {
			return nil
		}
		raw, err := b.decode(&scratch)
		if err != nil {
			return err
		}
		return b.eachDoc(raw, func(i int, doc []byte) error {
			if drop.Has(b.first + i) {
				return nil
			}
			return out.addEncoded(doc)
		})
	})
}
