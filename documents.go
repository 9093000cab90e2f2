package griffin

import (
	"context"
	"iter"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Documents iterates over all documents of the last commit, as stored, in the order of their
// DocIDs; if the index stores no text (Settings.NoStored), they have only an ID. Later commits
// do not affect it. An error ends the iteration; it is the error of ctx, ErrClosed, or
// ErrCorrupt.
func (ix *Index) Documents(ctx context.Context) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) {
		snapshot, err := ix.ix.Snapshot()
		if err != nil {
			yield(Document{}, err)
			return
		}
		defer snapshot.Release()
		for i := range snapshot.Segments {
			if !yieldSegment(ctx, &snapshot.Segments[i], yield) {
				return
			}
		}
	}
}

// yieldSegment returns false to end the iteration.
func yieldSegment(ctx context.Context, view *index.View, yield func(Document, error) bool) bool {
	var stored segment.StoredDoc
	for i := range view.NumDocs() {
		if view.Live != nil && !view.Live.Has(i) {
			continue
		}
		d, err := readDocument(ctx, view, base.DocID(i), &stored)
		if !yield(d, err) || err != nil {
			return false
		}
	}
	return true
}

func readDocument(ctx context.Context, view *index.View, doc base.DocID, stored *segment.StoredDoc) (_ Document, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	if err := ctx.Err(); err != nil {
		return Document{}, err
	}
	id, err := view.ID(doc)
	if err != nil {
		return Document{}, err
	}
	d := Document{ID: string(id)}
	if view.HasStored() {
		if err := view.Stored(doc, stored); err != nil {
			return Document{}, err
		}
		d.Title, d.Text, d.Fields = string(stored.Title), string(stored.Text), fieldsOf(stored)
	}
	return d, nil
}

func fieldsOf(d *segment.StoredDoc) []Field {
	if len(d.Extra) == 0 {
		return nil
	}
	fields := make([]Field, len(d.Extra))
	for i, f := range d.Extra {
		fields[i] = Field{Name: string(f.Name), Value: string(f.Value)}
	}
	return fields
}
