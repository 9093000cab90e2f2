package index

import (
	"context"
	"errors"
	"slices"

	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// SegmentSize describes a visible segment for the choice of merges.
type SegmentSize struct {
	NumDocs, NumLive int
	Bytes            int64 // of its files
}

// Merge joins the segments [from, to) that choose returns, in the order of writing, into one without
// deleted documents. fsys writes the files, to limit the rate; nil: the index's own. It
// returns false if choose returns an empty range.
func (l *Live) Merge(ctx context.Context, fsys vfs.FS, choose func([]SegmentSize) (from, to int)) (merged bool, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	l.merging.Lock()
	defer l.merging.Unlock()
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return false, errLiveClosed
	}
	snapshot, err := l.ix.Snapshot()
	if err != nil {
		l.mu.Unlock()
		return false, err
	}
	defer snapshot.Release()
	from, to := choose(snapshot.sizes())
	if from >= to {
		l.mu.Unlock()
		return false, nil
	}
	m := &liveMerge{live: l, base: snapshot, from: from, to: to, name: segmentName(l.nextSegment)}
	l.nextSegment++
	l.making[m.name]++
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.made(m.name)
		l.mu.Unlock()
	}()
	defer m.release()
	if fsys == nil {
		fsys = l.ix.fs
	}
	if err = m.write(ctx, vfs.Volatile(fsys)); err == nil {
		err = m.ready(ctx)
	}
	if err == nil {
		err = m.install(ctx)
	}
	if err != nil {
		return false, errors.Join(err, l.ix.fs.RemoveAll(l.ix.path(m.name)))
	}
	return true, nil
}

func (s *Snapshot) sizes() []SegmentSize {
	sizes := make([]SegmentSize, len(s.Segments))
	for i := range s.Segments {
		v := &s.Segments[i]
		sizes[i] = SegmentSize{NumDocs: v.NumDocs(), NumLive: v.numLive(), Bytes: v.Meta().SizeBytes()}
	}
	return sizes
}

type liveMerge struct {
	live     *Live
	base     *Snapshot
	from, to int
	name     string
	meta     *segment.Meta // nil: no live documents
	merged   *Snapshot     // of the new segment only; nil: nobody wants it
}

// write joins the documents that are live in the base.
func (m *liveMerge) write(ctx context.Context, fsys vfs.FS) error {
	var sources []segment.Source
	numDocs := 0
	for i := m.from; i < m.to; i++ {
		v := &m.base.Segments[i]
		var dropped *segment.Bitmap
		if v.Live != nil {
			dropped = v.Live.Complement()
		}
		src, err := v.Source(dropped)
		if err != nil {
			return err
		}
		sources = append(sources, src)
		numDocs += v.numLive()
	}
	if numDocs == 0 {
		return nil
	}
	opts := m.base.Options.segmentOptions(1)
	meta, err := segment.Write(ctx, fsys, m.live.ix.path(m.name), opts, sources, m.dropPages())
	m.meta = meta
	return err
}

// mergeMapped is about how much of the files of a merge stays in memory.
const mergeMapped = 128 << 20

// dropPages returns a function of progress that frees the memory of what was read. A merge reads its
// files once, which can have many times the memory of the process.
func (m *liveMerge) dropPages() func(done, total int64) {
	segments := m.base.Segments[m.from:m.to]
	size := int64(0)
	for i := range segments {
		size += segments[i].Meta().SizeBytes()
	}
	if size < mergeMapped {
		return nil
	}
	next, steps := int64(1), size/mergeMapped+1
	return func(done, total int64) {
		if done*steps < next*total {
			return
		}
		next = done*steps/max(total, 1) + 1
		for i := range segments {
			_ = segment.DropPages(segments[i].Segment) // memory is all that it is about
		}
	}
}

// ready makes other memories ready for the new segment, beside Publish and Flush.
func (m *liveMerge) ready(ctx context.Context) (err error) {
	ix := m.live.ix
	if m.meta == nil || ix.ready == nil {
		return nil
	}
	alone := ix.currentManifest().clone()
	alone.Segments = []manifestSegment{{Name: m.name, Sum: m.meta.Sum(), NumDocs: m.meta.NumDocs, NumLive: m.meta.NumDocs}}
	if m.merged, err = ix.newSnapshot(alone); err == nil {
		ix.makeReady(ctx, m.merged, m.base, true /* merged */)
	}
	return err
}

func (m *liveMerge) release() {
	if m.merged != nil {
		m.merged.Release()
	}
}

// install puts the new segment in the place of its sources, without the documents that were deleted
// from these meanwhile.
func (m *liveMerge) install(ctx context.Context) error {
	l := m.live
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errLiveClosed
	}
	now := l.ix.currentManifest()
	former, err := l.ix.Snapshot()
	if err != nil {
		return err
	}
	defer former.Release()
	next := now.clone()
	next.Generation++
	next.NextSegment = l.nextSegment
	ms, err := m.entry(ctx, former)
	if err != nil {
		return err
	}
	sources := map[string]bool{}
	for i := m.from; i < m.to; i++ {
		sources[m.base.Segments[i].Name] = true
	}
	at := m.position(now)
	next.Segments = slices.DeleteFunc(slices.Clone(next.Segments), func(s manifestSegment) bool { return sources[s.Name] })
	if ms != nil {
		next.Segments = slices.Insert(next.Segments, at, *ms)
	}
	if err := l.show(next, former, m.merged); err != nil {
		return err
	}
	if ms == nil {
		return l.ix.fs.RemoveAll(l.ix.path(m.name))
	}
	return nil
}

// position is the number of segments of now before the merged ones. All segments of the base
// before them that are left come first, and segments with later documents follow.
func (m *liveMerge) position(now *manifest) int {
	before := map[string]bool{}
	for i := range m.from {
		before[m.base.Segments[i].Name] = true
	}
	n := 0
	for i := range now.Segments {
		if before[now.Segments[i].Name] {
			n++
		}
	}
	return n
}

// entry returns the merged segment with the deletions since the base; nil if nothing is left.
func (m *liveMerge) entry(ctx context.Context, now *Snapshot) (*manifestSegment, error) {
	if m.meta == nil {
		return nil, nil
	}
	gone := segment.NewBitmap(m.meta.NumDocs)
	next := 0
	for i := m.from; i < m.to; i++ {
		v := &m.base.Segments[i]
		live := liveNow(now, v)
		for doc := range v.NumDocs() {
			if v.Live != nil && !v.Live.Has(doc) {
				continue
			}
			if !live(doc) {
				gone.Set(next)
			}
			next++
		}
	}
	ms := &manifestSegment{Name: m.name, Sum: m.meta.Sum(), NumDocs: m.meta.NumDocs, NumLive: m.meta.NumDocs - gone.Count()}
	switch {
	case ms.NumLive == 0:
		return nil, nil
	case gone.Count() == 0:
		return ms, nil
	}
	seg, err := segment.Open(m.live.ix.fs, m.live.ix.path(m.name))
	if err != nil {
		return nil, err
	}
	defer seg.Close()
	c := &commit{session: m.live.session, next: &manifest{Options: m.base.Options, Grown: m.base.grown}}
	counts, err := c.countDocs(ctx, seg, gone)
	if err != nil {
		return nil, err
	}
	ms.deletions = (*segment.Deletions)(nil).With(gone, counts)
	return ms, nil
}

// liveNow returns whether documents of a segment of an older snapshot are live in now.
func liveNow(now *Snapshot, old *View) func(doc int) bool {
	for i := range now.Segments {
		v := &now.Segments[i]
		if v.Name != old.Name {
			continue
		}
		if v.Live == nil || v.Live == old.Live {
			return func(int) bool { return true }
		}
		return v.Live.Has
	}
	return func(int) bool { return false } // all were deleted
}
