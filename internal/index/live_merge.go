package index

import (
	"context"
	"errors"
	"math/bits"
	"slices"

	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// SegmentSize describes a visible segment for the choice of merges.
type SegmentSize struct {
	NumDocs, NumLive int
	Bytes            int64 // of its files
	Busy             bool  // another merge has it
}

// Merge joins the segments [from, to) that choose returns, in the order of writing, into one without
// deleted documents. None of them may be busy: other merges run at the same time. fsys writes the
// files, to limit the rate; nil: the index's own. It returns false if choose returns an empty range.
func (l *Live) Merge(ctx context.Context, fsys vfs.FS, choose func([]SegmentSize) (from, to int)) (merged bool, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	m, err := l.beginMerge(nil, choose)
	if m == nil {
		return false, err
	}
	err = m.run(ctx, fsys)
	return err == nil, err
}

// MergeAll merges the segments that are visible when it begins, again and again, until choose returns an
// empty range of them. Other merges do not begin on them meanwhile; MergeAll waits for those that
// run, and for other calls of it.
func (l *Live) MergeAll(ctx context.Context, fsys vfs.FS, choose func([]SegmentSize) (from, to int)) (err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	if err := l.merging.all.take(ctx); err != nil {
		return err
	}
	defer l.merging.all.giveBack()
	held, err := l.hold()
	if err != nil {
		return err
	}
	defer l.unhold()
	for {
		if err := l.awaitMerges(ctx, held); err != nil {
			return err
		}
		m, err := l.beginMerge(held, choose)
		if m == nil {
			return err
		}
		m.recompress = true
		if err := m.run(ctx, fsys); err != nil {
			return err
		}
	}
}

// merging is the state of merges. Live.mu guards it.
type merging struct {
	all     baton           // MergeAll or BuildImpacts has it
	busy    map[string]bool // segments that a merge joins
	held    map[string]bool // segments that MergeAll has for itself; nil: it does not run
	ended   chan struct{}   // closed when a merge ends, and replaced
	running int             // and BuildImpacts
	stop    func()          // ends BuildImpacts; nil: it does not run
}

// ends is for the end of a merge, with Live.mu held.
func (m *merging) ends() {
	m.running--
	close(m.ended)
	m.ended = make(chan struct{})
}

func newMerging() merging {
	return merging{all: newBaton(), busy: map[string]bool{}, ended: make(chan struct{})}
}

func (l *Live) hold() (held map[string]bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return nil, errLiveClosed
	}
	held = map[string]bool{}
	for _, ms := range l.ix.currentManifest().Segments {
		held[ms.Name] = true
	}
	l.merging.held = held
	return held, nil
}

func (l *Live) unhold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.merging.held = nil
}

// awaitMerges waits until no merge runs of segments of held, or of any if held is nil.
func (l *Live) awaitMerges(ctx context.Context, held map[string]bool) error {
	for {
		l.mu.Lock()
		running := held == nil && l.merging.running > 0
		for name := range held {
			running = running || l.merging.busy[name]
		}
		ended := l.merging.ended
		l.mu.Unlock()
		if !running {
			return nil
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// beginMerge returns a merge of the segments that choose returns, of held if it is not nil; nil: of none.
func (l *Live) beginMerge(held map[string]bool, choose func([]SegmentSize) (from, to int)) (*liveMerge, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return nil, errLiveClosed
	}
	snapshot, err := l.ix.Snapshot()
	if err != nil {
		return nil, err
	}
	sizes := snapshot.sizes()
	for i := range sizes {
		name := snapshot.Segments[i].Name
		sizes[i].Busy = l.merging.busy[name] || held == nil && l.merging.held[name]
	}
	if held != nil {
		n := 0
		for n < len(sizes) && held[snapshot.Segments[n].Name] { // others are newer
			n++
		}
		sizes = sizes[:n]
	}
	from, to := choose(sizes)
	if from >= to {
		snapshot.Release()
		return nil, nil
	}
	m := &liveMerge{live: l, base: snapshot, from: from, to: to, name: l.newSegmentLocked()}
	l.merging.running++
	for i := from; i < to; i++ {
		name := snapshot.Segments[i].Name
		invariant.Check(!sizes[i].Busy, "segment %s is in two merges", name)
		l.merging.busy[name] = true
	}
	return m, nil
}

func (m *liveMerge) run(ctx context.Context, fsys vfs.FS) (err error) {
	l := m.live
	defer m.end()
	if fsys == nil {
		fsys = l.ix.fs
	}
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return m.write(ctx, vfs.Volatile(fsys)) },
		m.ready, m.deleteEarly, m.install,
	} {
		if err = step(ctx); err != nil {
			break
		}
	}
	if err != nil {
		return errors.Join(explainMissing(l.session, err), l.ix.fs.RemoveAll(l.ix.path(m.name)))
	}
	return nil
}

func (m *liveMerge) end() {
	m.release()
	m.removeTemp()
	l := m.live
	l.made(m.name)
	l.mu.Lock()
	for i := m.from; i < m.to; i++ {
		delete(l.merging.busy, m.base.Segments[i].Name)
	}
	l.mu.Unlock()
	m.base.Release() // of files that can be removed by now; before the end, which Close awaits
	l.mu.Lock()
	defer l.mu.Unlock()
	l.merging.ends()
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
	// recompress makes stored documents smaller: somebody waits for a merge that takes its time.
	recompress bool
	meta       *segment.Meta // nil: no live documents
	former     int           // as in the manifest, before changes of the shape since the base
	merged     *Snapshot     // of the new segment only; nil: no live documents
	deleted    mergeDeletions
}

// write joins the documents that are live in the base.
func (m *liveMerge) write(ctx context.Context, fsys vfs.FS) error {
	var sources []segment.Source
	numDocs := 0
	for i := m.from; i < m.to; i++ {
		v := &m.base.Segments[i]
		dropped := droppedOf(v)
		src, err := v.Source(dropped)
		if err != nil {
			return err
		}
		sources = append(sources, src)
		numDocs += v.numLive()
		former, err := formerIn(v, dropped)
		if err != nil {
			return err
		}
		m.former += former
	}
	if numDocs == 0 {
		return nil
	}
	if err := m.live.session.checkFolder(); err != nil {
		return err
	}
	opts := m.base.Options.segmentOptions(1)
	opts.Recompress = m.recompress
	opts.Turns = m.live.computing.merging.At(bits.Len(uint(numDocs))) // small merges first: more of them end, and fewer segments are left
	meta, err := segment.Write(ctx, fsys, m.live.ix.path(m.name), opts, sources, m.dropPages())
	m.meta = meta
	return err
}

// mergeMapped is about how much of the files of a merge stays in memory.
const mergeMapped = 128 << 20

// dropPages returns a function of progress that frees the memory of the parts that were read. A merge
// reads its
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

// ready opens the new segment, and makes it and other memories ready for writes and searches, beside Publish and Flush.
func (m *liveMerge) ready(ctx context.Context) (err error) {
	ix := m.live.ix
	if m.meta == nil {
		return nil
	}
	alone := ix.currentManifest().clone()
	alone.Segments = []manifestSegment{{Name: m.name, Sum: m.meta.Sum(), NumDocs: m.meta.NumDocs, NumLive: m.meta.NumDocs}}
	if m.merged, err = ix.newSnapshot(alone); err != nil {
		return err
	}
	if err := segment.MakeReady(m.merged.Segments[0].Segment, m.live.computing.merging.Pass); err != nil {
		return err
	}
	ix.makeReady(ctx, m.merged, m.base, true /* merged */)
	return nil
}

func (m *liveMerge) release() {
	if m.merged != nil {
		m.merged.Release()
	}
}

// install puts the new segment in the place of its sources that are left, without the
// documents that were deleted
// from these meanwhile.
func (m *liveMerge) install(ctx context.Context) error {
	l := m.live
	if err := l.changing.take(ctx); err != nil {
		return err
	}
	defer l.changing.giveBack()
	now := l.ix.currentManifest()
	former, err := l.ix.Snapshot()
	if err != nil {
		return err
	}
	defer former.Release()
	next := now.clone()
	next.Generation++
	if err := m.delete(ctx, former); err != nil {
		return err
	}
	ms := m.entry(next)
	sources := map[string]bool{}
	for i := m.from; i < m.to; i++ {
		sources[m.base.Segments[i].Name] = true
	}
	at := max(0, slices.IndexFunc(next.Segments, func(s manifestSegment) bool { return sources[s.Name] }))
	next.Segments = slices.DeleteFunc(slices.Clone(next.Segments), func(s manifestSegment) bool { return sources[s.Name] })
	if ms != nil {
		next.Segments = slices.Insert(next.Segments, at, *ms)
	}
	visible := func() {
		if held := l.merging.held; ms != nil && held[m.base.Segments[m.from].Name] {
			held[m.name] = true
		}
	}
	if err := l.show(next, former, visible, m.merged); err != nil {
		return err
	}
	if ms == nil {
		return l.ix.fs.RemoveAll(l.ix.path(m.name))
	}
	return nil
}

// entry returns the merged segment, for a manifest; nil if nothing is left.
func (m *liveMerge) entry(shown *manifest) *manifestSegment {
	if m.meta == nil {
		return nil
	}
	ms := &manifestSegment{Name: m.name, Sum: m.meta.Sum(), NumDocs: m.meta.NumDocs, NumLive: m.meta.NumDocs, Former: m.former}
	if shown.Options.shape() != m.base.Options.shape() {
		ms.Former = ms.NumDocs
	}
	if d := m.deleted.deletions; d != nil {
		ms.deletions, ms.NumLive = d, d.Live().Count()
	}
	if ms.NumLive == 0 {
		return nil
	}
	return ms
}
