package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs"
)

// segment.Verify reads each byte twice.
const verifyUnits = 2

// Verify reads every byte of the segments and impact-ordered lists; it checks checksums,
// invariants, counts of deleted documents, and that live ids are unique. progress may be nil.
func (s *Snapshot) Verify(ctx context.Context, progress func(done, total int64)) (err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	var total, before int64
	for i := range s.Segments {
		total += verifyUnits * s.Segments[i].Meta().SizeBytes()
	}
	impacts, err := s.StoredImpacts()
	switch {
	case err == nil:
		total += verifyUnits * impacts.SizeBytes()
	case !errors.Is(err, ErrNoImpacts):
		return err
	}
	var failed []error
	for i := range s.Segments {
		v := &s.Segments[i]
		err := v.Segment.Verify(ctx, func(done, _ int64) {
			if progress != nil {
				progress(before+done, total)
			}
		})
		before += verifyUnits * v.Meta().SizeBytes()
		if err == nil {
			err = v.VerifyDeletions(ctx, v.Deletions)
		}
		if err == nil {
			err = s.verifyIDs(ctx, i)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("segment %s: %w", v.Name, err))
		}
	}
	if impacts != nil {
		err := impacts.Verify(ctx, func(bytes int64) {
			if before += bytes; progress != nil {
				progress(min(before, total), total)
			}
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failed = append(failed, err)
		if err == nil && progress != nil {
			progress(total, total) // with the head of the file
		}
	}
	return errors.Join(failed...)
}

// verifyIDs checks that no live id of segment i is live in a later segment.
func (s *Snapshot) verifyIDs(ctx context.Context, i int) error {
	v := &s.Segments[i]
	for doc := range v.NumDocs() {
		if doc%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if len(s.Segments) == i+1 {
			return nil
		}
		if v.Live != nil && !v.Live.Has(doc) {
			continue
		}
		id, err := v.ID(base.DocID(doc))
		if err != nil {
			return err
		}
		later, _, found, err := s.Lookup(string(id))
		if err != nil {
			return err
		}
		if !found || later != i {
			return fmt.Errorf("document %d: id %q is live in segment %s too: %w", doc, id, s.Segments[later].Name, base.ErrCorrupt)
		}
	}
	return nil
}
