package dispatch

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
)

// views are the views of the snapshots that a GPU has been used for. Each lives as long as its
// snapshot: the last query, or the index, that releases the snapshot releases what the devices have of
// segments that no other snapshot has. The newest views of an index live until newer ones are made,
// so that the lists stay when no query comes between two commits.
type views struct {
	mu        sync.Mutex
	snapshots map[*index.Snapshot]*snapshotViews
	last      map[index.Owner]*snapshotViews // of released snapshots, whose segments may be closed
	releasing int                            // goroutines of release
	released  sync.Cond                      // of mu
}

// snapshotViews are the views of a snapshot.
type snapshotViews struct {
	snapshot          *index.Snapshot
	postings, impacts []madeView // by replica
}

type madeView struct {
	mu   sync.Mutex     // held while the view is made, which takes the time of uploading its deletions
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
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.snapshots[snapshot]
	if s == nil {
		s = &snapshotViews{snapshot: snapshot, postings: make([]madeView, replicas), impacts: make([]madeView, replicas)}
		if v.snapshots == nil {
			v.snapshots, v.last = map[*index.Snapshot]*snapshotViews{}, map[index.Owner]*snapshotViews{}
			v.released.L = &v.mu
		}
		v.snapshots[snapshot] = s
		snapshot.OnRelease(func() { v.release(snapshot) })
	}
	return s
}

// find returns the views of a snapshot, or else the last ones of its index; nil if the GPU was not used
// for it.
func (v *views) find(snapshot *index.Snapshot) *snapshotViews {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s := v.snapshots[snapshot]; s != nil {
		return s
	}
	return v.last[snapshot.Owner()]
}

// release releases the views of a snapshot that nobody holds, unless they are the newest.
func (v *views) release(snapshot *index.Snapshot) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.snapshots[snapshot]
	if s == nil {
		return
	}
	delete(v.snapshots, snapshot)
	if s.made() && v.isNewest(snapshot) {
		s, v.last[snapshot.Owner()] = v.last[snapshot.Owner()], s
	}
	v.drop(s)
}

// v.mu is held.
func (v *views) isNewest(snapshot *index.Snapshot) bool {
	for other, s := range v.snapshots {
		if other.Owner() == snapshot.Owner() && other.Serial > snapshot.Serial && s.made() {
			return false
		}
	}
	last := v.last[snapshot.Owner()]
	return last == nil || last.snapshot.Serial < snapshot.Serial
}

// replace releases the last views of an index after some of a snapshot were made.
func (v *views) replace(snapshot *index.Snapshot) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if last := v.last[snapshot.Owner()]; last != nil && last.snapshot.Serial < snapshot.Serial {
		delete(v.last, snapshot.Owner())
		v.drop(last)
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
	for owner, s := range v.last {
		if which(s.snapshot) {
			gone = append(gone, s)
			delete(v.last, owner)
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
