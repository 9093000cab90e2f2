package index

import (
	"context"

	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/reorder"
	"github.com/griffin-search/griffin/internal/segment"
)

// reorderSegment rewrites a segment with similar documents side by side, removes the old
// one, and returns the new one's name and metadata.
func (c *commit) reorderSegment(ctx context.Context, name string) (renamed string, meta *segment.Meta, err error) {
	seg, err := segment.Open(c.ix.fs, c.ix.path(name))
	if err != nil {
		return "", nil, err
	}
	defer seg.Close()
	src, err := seg.Source(nil)
	if err != nil {
		return "", nil, err
	}
	forward, err := inverter.Forward(ctx, src, c.memoryBytes, c.threads)
	if err != nil {
		return "", nil, err
	}
	order, err := reorder.Bisect(ctx, forward, reorder.Options{Threads: c.threads, Progress: c.phase(PhaseReordering)})
	if err != nil {
		return "", nil, err
	}
	opts := c.next.Options.segmentOptions(c.threads)
	opts.Order = order
	renamed = c.newSegment()
	meta, err = segment.Write(ctx, c.ix.fs, c.ix.path(renamed), opts, []segment.Source{src}, c.phase(PhaseWriting))
	if err != nil {
		return "", nil, err
	}
	return renamed, meta, c.ix.fs.RemoveAll(c.ix.path(name))
}
