package dispatch

import (
	"context"
	"log/slog"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/vfs"
)

// readyLimits are the longest times for which Ready delays a commit, and a merge. A merged segment
// changes no result, so its lists may take longer; documents wait for a commit.
var readyLimits = [2]time.Duration{100 * time.Millisecond, 30 * time.Second}

// Ready is an index.ReadyFunc: it brings lists and bitmaps that the first query of a snapshot would
// bring otherwise. A
// commit brings the deletions that have changed and the lists of new segments; a merge brings the
// lists of the merged segment before the commit that shows it. Lists are the ones that the
// devices have of the segments of former, the most useful first, while there is free memory. Small
// segments have none (gpu_small.go).
//
// It does nothing for an index whose queries did not use the GPU, and waits at most for readyLimits, or
// until ctx ends. Deletions that are not there by then follow in the background, while queries of next
// run on the CPU and further calls do nothing; lists that are not there follow on demand. Failures have
// no effect but that.
func (g *GPU) Ready(ctx context.Context, next, former *index.Snapshot, merged bool) {
	if g == nil || merged && next.NumDocs < g.smallDocs || g.views.find(former) == nil || !g.holdForReady(next) {
		return
	}
	kind := 0
	if merged {
		kind = 1
	}
	select {
	case g.readying[kind] <- struct{}{}:
	default:
		g.runs.Done()
		return
	}
	ctx, cancel := context.WithTimeout(ctx, g.readyFor[kind])
	defer cancel()
	w := &readying{gpu: g, next: next.Retain(), former: former.Retain(), kind: kind, done: make(chan struct{})}
	w.begin()
	go w.run(ctx)
	select {
	case <-w.done:
	case <-ctx.Done():
	}
}

// holdForReady counts a run, so that Close waits for it, unless the GPU is closed.
func (g *GPU) holdForReady(next *index.Snapshot) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || next.Retired() {
		return false
	}
	g.runs.Add(1)
	return true
}

type readying struct {
	gpu          *GPU
	next, former *index.Snapshot
	kind         int
	done         chan struct{}
	from         *snapshotViews // of former, or of the newest snapshot that has any
	views        []*madeView    // of next, by replica; nil: the replica has none of from
}

// begin keeps queries of next from waiting for its views.
func (w *readying) begin() {
	g := w.gpu
	w.from = g.views.find(w.former)
	w.views = make([]*madeView, len(g.replicas))
	for at, r := range g.replicas {
		if w.from != nil && w.from.postings[at].made.Load() && r.isUsable() {
			w.views[at] = &g.views.get(w.next, len(g.replicas), w.kind == 1 /* merged */).postings[at]
			w.views[at].readying.Store(true)
		}
	}
}

func (w *readying) run(ctx context.Context) {
	defer func() {
		if bug := recover(); bug != nil {
			reportReadyBug(invariant.Catch(bug))
		}
		for _, m := range w.views {
			if m != nil {
				m.readying.Store(false)
			}
		}
		<-w.gpu.readying[w.kind]
		w.next.Release()
		w.former.Release()
		w.gpu.runs.Done()
		close(w.done)
	}()
	var group invariant.Group
	defer group.Wait()
	// All former views, before a new one replaces them.
	former := make([]*pipeline.View, len(w.views))
	for at, m := range w.views {
		if m != nil {
			former[at] = w.from.postings[at].retain()
		}
	}
	for at, m := range w.views {
		if m != nil {
			group.Go(func() { w.on(ctx, at, m, former[at]) })
		}
	}
}

// on makes a replica ready, and releases the former view, which may be nil. What fails, queries do
// themselves.
func (w *readying) on(ctx context.Context, at int, m *madeView, former *pipeline.View) {
	var err error
	defer former.Release()
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	v, err := m.take(w.gpu, at, w.next, false /* impacts */)
	m.readying.Store(false)
	if err != nil {
		return
	}
	defer v.Release()
	if former != nil {
		_, err = v.Prepare(ctx, former)
	}
}

func reportReadyBug(c *invariant.Caught) {
	if invariant.Enabled {
		panic(c)
	}
	slog.Error("griffin: a bug while making a GPU ready for a commit; queries are answered all the same", "panic", c.Value, "stack", string(c.Stack))
}
