package griffin

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/vfs"
)

// PointInTime is the state of an index at a moment. Later writes, merges and commits do not change
// it. It is safe for concurrent use until Close.
type PointInTime struct {
	index *Index

	mu       sync.Mutex
	snapshot *index.Snapshot // nil after Close
}

// PointInTime holds what is visible now. Its files take space on the disk until Close, even if a
// merge has replaced them.
func (ix *Index) PointInTime() (*PointInTime, error) {
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		return nil, err
	}
	return &PointInTime{index: ix, snapshot: snapshot}, nil
}

func (p *PointInTime) retain() (*index.Snapshot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.snapshot == nil {
		return nil, fmt.Errorf("point in time of index %s: %w", p.index.ix.Dir(), ErrClosed)
	}
	return p.snapshot.Retain(), nil
}

// Search is Index.Search at this point in time.
func (p *PointInTime) Search(ctx context.Context, q Query) (_ *Results, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	began := time.Now()
	if err := q.check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	snapshot, err := p.retain()
	if err != nil {
		return nil, err
	}
	s := new(search)
	if err := beginOf(s, p.index, snapshot, &q); err != nil {
		return nil, err
	}
	return s.answer(ctx, began)
}

// Versions iterates over the ids and versions of all documents, without the other parts, in the order of their
// DocIDs. An error ends the iteration; it is the error of ctx, ErrClosed, or ErrCorrupt.
func (p *PointInTime) Versions(ctx context.Context) iter.Seq2[VersionedDocument, error] {
	return func(yield func(VersionedDocument, error) bool) {
		snapshot, err := p.retain()
		if err != nil {
			yield(VersionedDocument{}, err)
			return
		}
		defer snapshot.Release()
		for i := range snapshot.Segments {
			view := &snapshot.Segments[i]
			for doc := range view.NumDocs() {
				if view.Live != nil && !view.Live.Has(doc) {
					continue
				}
				d, err := readVersion(ctx, view, base.DocID(doc))
				if !yield(d, err) || err != nil {
					return
				}
			}
		}
	}
}

func readVersion(ctx context.Context, view *index.View, doc base.DocID) (_ VersionedDocument, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	if err := ctx.Err(); err != nil {
		return VersionedDocument{}, err
	}
	id, err := view.ID(doc)
	if err != nil {
		return VersionedDocument{}, err
	}
	version, err := view.Version(doc)
	return VersionedDocument{Document: Document{ID: string(id)}, SeqNo: version.Seq, Version: version.Count()}, err
}

// NumDocs is the number of documents.
func (p *PointInTime) NumDocs() (int, error) {
	snapshot, err := p.retain()
	if err != nil {
		return 0, err
	}
	defer snapshot.Release()
	return snapshot.NumLive, nil
}

// Close releases its files. Running searches end; later calls do nothing.
func (p *PointInTime) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.snapshot != nil {
		p.snapshot.Release()
		p.snapshot = nil
	}
	return nil
}
