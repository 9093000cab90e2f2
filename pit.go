package griffin

import (
	"context"
	"fmt"
	"iter"
	"math/bits"
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

// PointInTime opens the visible state of the index. Its files take space on the disk until
// Close, even if a merge has replaced them.
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

// Matches returns the number of the documents that a query matches, and an iteration over their ids and versions in the
// order of their DocIDs. Of q, Text, Node, Lenient, Filter and Mode apply; ModeAndOr finds documents with any of the words
// if none has all. The errors are as of Search and Versions; ModeSaat is ErrBadInput.
func (p *PointInTime) Matches(ctx context.Context, q Query) (n int64, docs iter.Seq2[VersionedDocument, error], err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	q = Query{Text: q.Text, Node: q.Node, Lenient: q.Lenient, Filter: q.Filter, Mode: q.Mode, K: 1}
	if err := q.check(); err != nil {
		return 0, nil, err
	}
	if q.Mode == ModeSaat {
		return 0, nil, fmt.Errorf("mode saat does not find all matches: %w", ErrBadInput)
	}
	snapshot, err := p.retain()
	if err != nil {
		return 0, nil, err
	}
	s := new(search)
	if err := beginOf(s, p.index, snapshot, &q); err != nil {
		return 0, nil, err
	}
	matches, err := matching(ctx, s)
	if err != nil {
		return 0, nil, publicError(err)
	}
	return ones(matches), func(yield func(VersionedDocument, error) bool) { p.versions(ctx, matches, yield) }, nil
}

// matching returns the documents that the query of a search matches, a bitmap for each segment, and ends the search.
func matching(ctx context.Context, s *search) ([][]uint64, error) {
	defer s.snapshot.Release()
	gate := s.index.runtime.gate
	gate.Enter()
	defer gate.Leave()
	out := make([][]uint64, len(s.snapshot.Segments))
	s.stop = ctx
	_, err := s.prepare(&s.sc.query, false /* cached */)
	if err == nil {
		err = s.sc.query.Matches(ctx, &s.sc.search.Scratch, copyTo(out))
	}
	s.index.scratches.Put(s.sc) // not deferred, as in answer
	return out, err
}

func (p *PointInTime) versions(ctx context.Context, matches [][]uint64, yield func(VersionedDocument, error) bool) {
	snapshot, err := p.retain()
	if err != nil {
		yield(VersionedDocument{}, err)
		return
	}
	defer snapshot.Release()
	for i, words := range matches {
		for at, word := range words {
			for ; word != 0; word &= word - 1 {
				d, err := readVersion(ctx, &snapshot.Segments[i], base.DocID(64*at+bits.TrailingZeros64(word)))
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
