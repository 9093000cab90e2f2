package index

import (
	"context"
	"testing"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Each commit, refresh and merge calls ReadyFunc before the snapshot is shown. Beside a merge's,
// commits go on, and its segment is the one that is shown later.
func TestReady(t *testing.T) {
	ix := create(t, vfs.OS, Options{Analyzer: "whitespace"})
	type call struct {
		former, next uint64 // serial numbers
		merged       bool
	}
	var calls []call
	var beside func()
	var mergedSegment *View
	released := 0
	ix.SetReady(func(_ context.Context, next, former *Snapshot, merged bool) {
		now, err := ix.Snapshot()
		check(t, err)
		defer now.Release()
		if now.Serial != former.Serial {
			t.Errorf("snapshot %d is current, the former one is %d", now.Serial, former.Serial)
		}
		calls = append(calls, call{former.Serial, next.Serial, merged})
		next.OnRelease(func() { released++ })
		if merged {
			mergedSegment = &next.Segments[0]
			beside()
		}
	})
	w, err := ix.Writer(WriterOptions{Threads: 1})
	check(t, err)
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	m := newLiveModel(t, ix, 5)
	for range 4 {
		m.publish()
	}
	before, err := ix.Snapshot()
	check(t, err)
	if n := len(calls); n != 5 || calls[n-1].next != before.Serial || calls[n-1].merged {
		t.Errorf("calls %+v, the current snapshot is %d", calls, before.Serial)
	}
	beside = func() { m.publish() }
	merged, err := m.live.Merge(t.Context(), nil, func([]SegmentSize) (int, int) { return 0, 2 })
	if check(t, err); !merged {
		t.Fatal("not merged")
	}
	now, err := ix.Snapshot()
	check(t, err)
	last := calls[len(calls)-1]
	if len(calls) != 8 || !calls[5].merged || calls[5].former != before.Serial || calls[6].merged || last.next != now.Serial || last.former != calls[6].next {
		t.Errorf("calls %+v after a merge with a commit beside it; the current snapshot is %d", calls, now.Serial)
	}
	if now.Segments[0].Segment != mergedSegment.Segment || now.Segments[0].Name != mergedSegment.Name {
		t.Errorf("the merged segment %s was opened again as %s", mergedSegment.Name, now.Segments[0].Name)
	}
	before.Release()
	if released != 7 { // all but the current one
		t.Errorf("%d snapshots were released", released)
	}
	sameLive(t, ix, m.docs)
	check(t, m.live.Close())
	now.Release()

	reader, err := Open(vfs.OS, ix.Dir())
	check(t, err)
	defer reader.Close()
	refreshed := false
	reader.SetReady(func(_ context.Context, next, former *Snapshot, merged bool) {
		refreshed = !merged && next.Generation > former.Generation
	})
	w, err = ix.Writer(WriterOptions{Threads: 1})
	check(t, err)
	check(t, w.Delete("none"))
	check(t, w.Add(&corpus.Document{ID: "new", Text: "a"}))
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	if changed, err := reader.Refresh(); !changed || err != nil || !refreshed {
		t.Errorf("refreshed: %t, %v; ready: %t", changed, err, refreshed)
	}
}
