package index

import (
	"context"
	"math/bits"

	"github.com/griffin-search/griffin/internal/segment"
)

// mergeDeletions are the documents of a merged segment that were deleted since the base of the merge.
type mergeDeletions struct {
	deletions *segment.Deletions // nil: none
	// live are the sources' documents that are not among them; an element is nil if all are.
	live []*segment.Bitmap
	temp string // folder for files; "": not made
}

// deleteEarly counts the deletions so far, beside Publish and Flush, so that install has few left. Those of a round are the
// ones since the round before.
func (m *liveMerge) deleteEarly(ctx context.Context) error {
	const rounds, few = 4, 64
	for range rounds {
		now, err := m.live.ix.Snapshot()
		if err != nil {
			return err
		}
		n := m.numLive()
		err = m.delete(ctx, now)
		now.Release()
		if err != nil || n-m.numLive() <= few {
			return err
		}
	}
	return nil
}

func (m *liveMerge) numLive() int {
	if m.deleted.deletions != nil {
		return m.deleted.deletions.Live().Count()
	}
	if m.meta != nil {
		return m.meta.NumDocs
	}
	return 0
}

// delete adds the deletions that now has.
func (m *liveMerge) delete(ctx context.Context, now *Snapshot) error {
	if m.meta == nil {
		return nil
	}
	d := &m.deleted
	if d.live == nil {
		for i := m.from; i < m.to; i++ {
			d.live = append(d.live, m.base.Segments[i].Live)
		}
	}
	gone := segment.NewBitmap(m.meta.NumDocs)
	live := make([]*segment.Bitmap, len(d.live))
	next := 0 // number of the first document of a source in the merged segment
	for i, before := range d.live {
		v := &m.base.Segments[m.from+i]
		live[i] = liveNow(now, v)
		addGone(gone, next, v.Live, before, live[i])
		next += v.numLive()
	}
	if gone.Count() > 0 {
		recount := recount{fs: m.live.ix.fs, options: &m.base.Options, grown: m.base.grown, temp: m.temp}
		counts, err := recount.count(ctx, m.merged.Segments[0].Segment, gone, m.former > 0)
		if err != nil {
			return err
		}
		d.deletions = d.deletions.With(gone, counts)
	}
	d.live = live
	return nil
}

// liveNow returns the live documents that a segment of an older snapshot has in now; nil: all.
func liveNow(now *Snapshot, old *View) *segment.Bitmap {
	for i := range now.Segments {
		if v := &now.Segments[i]; v.Name == old.Name {
			return v.Live
		}
	}
	return segment.NewBitmap(old.NumDocs()) // all were deleted
}

// addGone adds the documents of a source that are live in before and not in after. In gone, the ones of base have the
// numbers from next on. nil bitmaps have all documents.
func addGone(gone *segment.Bitmap, next int, base, before, after *segment.Bitmap) {
	if after == before {
		return
	}
	lost := after.Complement()
	if before != nil {
		lost = before.Minus(after)
	}
	for i, word := range lost.Words() {
		kept := ^uint64(0)
		if base != nil {
			kept = base.Words()[i]
		}
		for ; word != 0; word &= word - 1 {
			lower := word&-word - 1
			gone.Set(next + bits.OnesCount64(kept&lower))
		}
		next += bits.OnesCount64(kept)
	}
}

// temp returns the folder of the merge's temporary files.
func (m *liveMerge) temp() (dir string, err error) {
	if m.deleted.temp == "" {
		m.deleted.temp, err = m.live.TempDir()
	}
	return m.deleted.temp, err
}

// removeTemp removes the folder of temp. What it leaves is removed when the index is closed; the merge has not failed by it.
func (m *liveMerge) removeTemp() {
	if m.deleted.temp != "" {
		_ = m.live.ix.fs.RemoveAll(m.deleted.temp)
	}
}
