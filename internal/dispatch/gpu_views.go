package dispatch

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
)

// views are the views of the snapshots that a GPU has been used for. Each lives until its snapshot is
// released. This frees the memory of segments that no other snapshot has. The newest views of an index live
// until newer ones are made, so that the lists stay when no query arrives between two commits. The same
// applies to the views of the newest merged segment, if no other views contain it.
type views struct {
	mu        sync.RWMutex
	snapshots map[*index.Snapshot]*snapshotViews
	// Views of released snapshots, whose segments may be closed. The views in alone have only a merged segment.
	last, alone map[index.Owner]*snapshotViews

	releasing int       // goroutines of release
	released  sync.Cond // of mu
}

// snapshotViews are the views of a snapshot.
type snapshotViews struct {
	snapshot          *index.Snapshot
	merged            bool       // the snapshot has a merged segment alone
	postings, impacts []madeView // by replica
}

type madeView struct {
	mu   sync.RWMutex   // held while the view is made, which takes the time of uploading its deletions
	view *pipeline.View // nil: not asked for yet
	gone bool           // it was released
	made atomic.Bool    // view is set
	// readying: it is being made for a snapshot that queries have already. They do not wait for it.
	readying atomic.Bool
}

// errReadying means that the GPU is late with a commit.
var errReadying = errors.New("the GPU is not ready for the commit yet")

// of returns the views of a snapshot that the caller holds.
func (v *views) of(snapshot *index.Snapshot, replicas int) *snapshotViews {
	return v.get(snapshot, replicas, false /* merged */)
}

func (v *views) get(snapshot *index.Snapshot, replicas int, merged bool) *snapshotViews {
	v.mu.RLock()
	s := v.snapshots[snapshot]
	v.mu.RUnlock()
	if s != nil {
		return s
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	s = v.snapshots[snapshot]
	if s == nil {
		s = &snapshotViews{snapshot: snapshot, merged: merged, postings: make([]madeView, replicas), impacts: make([]madeView, replicas)}
		if v.snapshots == nil {
			v.snapshots = map[*index.Snapshot]*snapshotViews{}
			v.last, v.alone = map[index.Owner]*snapshotViews{}, map[index.Owner]*snapshotViews{}
			v.released.L = &v.mu
		}
		v.snapshots[snapshot] = s
		snapshot.OnRelease(func() { v.release(snapshot) })
	}
	return s
}

// find returns the views of a snapshot, or else the newest ones of its index; nil if no view was made.
func (v *views) find(snapshot *index.Snapshot) *snapshotViews {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s := v.snapshots[snapshot]; s != nil && s.made() {
		return s
	}
	return v.newest(snapshot.Owner())
}

// newest returns the newest views of an index; nil if none was made. v.mu is held.
func (v *views) newest(owner index.Owner) *snapshotViews {
	newest := v.last[owner]
	for snapshot, s := range v.snapshots {
		if snapshot.Owner() == owner && !s.merged && s.made() && s.isAfter(newest) {
			newest = s
		}
	}
	return newest
}

// isAfter reports whether other, which may be nil, is of a former snapshot.
func (s *snapshotViews) isAfter(other *snapshotViews) bool {
	return other == nil || other.snapshot.Serial < s.snapshot.Serial
}

// release releases the views of a snapshot that nobody holds, unless they are to stay.
func (v *views) release(snapshot *index.Snapshot) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.snapshots[snapshot]
	if s == nil {
		return
	}
	delete(v.snapshots, snapshot)
	owner := snapshot.Owner()
	switch {
	case !s.made() || snapshot.Retired():
	case s.merged && s.isAfter(v.alone[owner]) && !v.has(snapshot):
		s, v.alone[owner] = v.alone[owner], s
	case !s.merged && s.isAfter(v.newest(owner)):
		s, v.last[owner] = v.last[owner], s
	}
	v.drop(s)
}

// has reports whether a made view has the merged segment of a snapshot. v.mu is held.
func (v *views) has(merged *index.Snapshot) bool {
	in := func(s *snapshotViews) bool {
		return s.snapshot.Owner() == merged.Owner() && s.made() && slices.ContainsFunc(s.snapshot.Segments, func(view index.View) bool {
			return view.Name == merged.Segments[0].Name
		})
	}
	if last := v.last[merged.Owner()]; last != nil && in(last) {
		return true
	}
	for _, s := range v.snapshots {
		if in(s) {
			return true
		}
	}
	return false
}

// replace releases the last views of an index after views of a newer snapshot were made. Views of a
// merged segment alone replace none, because the last views have the other segments.
func (v *views) replace(snapshot *index.Snapshot) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.snapshots[snapshot]
	if s == nil || s.merged {
		return
	}
	for _, kept := range []map[index.Owner]*snapshotViews{v.last, v.alone} {
		if former := kept[snapshot.Owner()]; former != nil && s.isAfter(former) {
			delete(kept, snapshot.Owner())
			v.drop(former)
		}
	}
}

// drop releases views, which may be nil, in the background: a query may have been the last to hold them.
// v.mu is held.
func (v *views) drop(s *snapshotViews) {
	if s == nil {
		return
	}
	v.releasing++
	go func() {
		s.release()
		v.mu.Lock()
		defer v.mu.Unlock()
		if v.releasing--; v.releasing == 0 {
			v.released.Broadcast()
		}
	}()
}

// wait waits until all views of released snapshots are released.
func (v *views) wait() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for v.releasing > 0 {
		v.released.Wait()
	}
}

// releaseAll releases the views of some snapshots that others may hold.
func (v *views) releaseAll(which func(*index.Snapshot) bool) {
	var gone []*snapshotViews
	v.mu.Lock()
	for snapshot, s := range v.snapshots {
		if which(snapshot) {
			gone = append(gone, s)
			delete(v.snapshots, snapshot)
		}
	}
	for _, kept := range []map[index.Owner]*snapshotViews{v.last, v.alone} {
		for owner, s := range kept {
			if which(s.snapshot) {
				gone = append(gone, s)
				delete(kept, owner)
			}
		}
	}
	v.mu.Unlock()
	for _, s := range gone {
		s.release()
	}
	v.wait()
}

// made reports whether a view was made.
func (s *snapshotViews) made() bool {
	for i := range s.postings {
		if s.postings[i].made.Load() || s.impacts[i].made.Load() {
			return true
		}
	}
	return false
}

func (s *snapshotViews) release() {
	for i := range s.postings {
		s.postings[i].release()
		s.impacts[i].release()
	}
}

func (m *madeView) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.view.Release()
	m.view, m.gone = nil, true
	m.made.Store(false)
}

// retain returns the view with a new reference; nil if there is none.
func (m *madeView) retain() *pipeline.View {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.view == nil {
		return nil
	}
	return m.view.Retain()
}

// take returns a view with a new reference, made if necessary.
func (s *snapshotViews) take(g *GPU, at int, impacts bool) (*pipeline.View, error) {
	m := &s.postings[at]
	if impacts {
		m = &s.impacts[at]
	}
	if m.readying.Load() {
		return nil, errReadying
	}
	return m.take(g, at, s.snapshot, impacts)
}

func (m *madeView) take(g *GPU, at int, snapshot *index.Snapshot, impacts bool) (*pipeline.View, error) {
	if v := m.retain(); v != nil {
		return v, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone {
		return nil, errGPUClosed
	}
	if m.view == nil {
		segments, err := g.segmentsOf(snapshot, impacts)
		if err != nil {
			return nil, err
		}
		if m.view, err = g.replicas[at].engine.Attach(segments); err != nil {
			return nil, err
		}
		m.made.Store(true)
		g.views.replace(snapshot)
	}
	return m.view.Retain(), nil
}
