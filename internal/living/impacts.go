package living

import (
	"context"

	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/index"
)

// BuildImpacts commits all acknowledged writes and makes their impact-ordered lists (index.Live.BuildImpacts).
func BuildImpacts(ctx context.Context, k *Kept, opts *index.ImpactOptions) (meta *impact.Meta, err error) {
	err = k.use(func(s *Store) (err error) {
		if err = s.Flush(ctx); err != nil {
			return err
		}
		meta, err = s.live.BuildImpacts(ctx, opts)
		return s.explain(err)
	})
	return meta, err
}

// hasImpacts reports whether somebody made impact-ordered lists of the index.
func hasImpacts(ix *index.Index) bool {
	snapshot, err := ix.Snapshot()
	if err != nil {
		return false
	}
	defer snapshot.Release()
	return snapshot.ImpactSettings() != nil
}
