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
// segments that no other snapshot has.
type views struct {
	mu        sync.Mutex
	snapshots map[*index.Snapshot]*snapshotViews
	releasing int       // goroutines of release
	released  sync.Cond // of mu
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
			v.snapshots = map[*index.Snapshot]*snapshotViews{}
			v.released.L = &v.mu
		}
		v.snapshots[snapshot] = s
		snapshot.OnRelease(func() { v.release(snapshot) })
	}
	return s
}

// find returns the views of a snapshot, nil if the GPU was not used for it.
func (v *views) find(snapshot *index.Snapshot) *snapshotViews {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.snapshots[snapshot]
}

// release releases the views of a snapshot that nobody holds, in the background: a query may have
// been the last to hold it.
func (v *views) release(snapshot *index.Snapshot) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.snapshots[snapshot]
	if s == nil {
		return
	}
	delete(v.snapshots, snapshot)
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
	v.mu.Unlock()
	for _, s := range gone {
		s.release()
	}
	v.wait()
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
	}
	return m.view.Retain(), nil
}
