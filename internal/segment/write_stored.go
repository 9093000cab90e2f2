package segment

import (
	"context"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
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
// unchanged.
func (w *writer) writeStored(ctx context.Context, readers []*StoredReader) error {
	file, err := w.create(fileStored)
	if err != nil {
		return err
	}
	out := &StoredWriter{out: file}
	for i, r := range readers {
		if err := w.copyStored(ctx, out, r, w.droppedNumbers(i)); err != nil {
			return abort(err, out)
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	w.addFile(fileStored, file)
	return nil
}

// Smaller blocks, at the ends of sources, are joined with neighbours: repeated small merges would accumulate them.
const minCopied = storedBlockLen / 2

// copyStored appends the documents of r, except those in drop, in the order of the file.
func (w *writer) copyStored(ctx context.Context, out *StoredWriter, r *StoredReader, drop *Bitmap) error {
	if r.numDocs == 0 {
		return nil
	}
	var scratch []byte
	return r.eachBlock(ctx, func(i int, b *storedBlock) error {
		if i%128 == 0 {
			w.opts.Turns.Yield()
		} else {
			w.opts.Turns.Pass()
		}
		numDropped := 0
		for i := range b.numDocs {
			if drop.Has(b.first + i) {
				numDropped++
			}
		}
		if numDropped == 0 && b.rawLen >= minCopied && (!w.opts.Recompress || !isLiterals(b.frame)) {
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
