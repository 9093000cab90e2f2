package index

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// keepsTemp does not remove folders of temporary files while it fails.
type keepsTemp struct {
	vfs.FS
	fails bool
	kept  int
}

func (f *keepsTemp) RemoveAll(name string) error {
	if f.fails && strings.Contains(name, tempName) {
		f.kept++
		return syscall.EIO
	}
	return f.FS.RemoveAll(name)
}

// A merge that is visible has not failed, and its segment stays, if its temporary files cannot be removed.
func TestMergeWithoutRemoval(t *testing.T) {
	fs := &keepsTemp{FS: vfstest.NewMem()}
	ix, err := Create(fs, "ix", Options{Analyzer: "whitespace"})
	check(t, err)
	check(t, commitChange(t.Context(), ix, nil, nil))
	m := newLiveModel(t, ix, 3)
	ix.SetReady(func(_ context.Context, _, _ *Snapshot, merged bool) {
		if merged {
			m.publish()
		}
	})
	for range 30 {
		m.publish()
	}
	fs.fails = true
	merged, err := m.live.Merge(t.Context(), nil, joinAll)
	if err != nil || !merged || fs.kept == 0 {
		t.Fatalf("merged %t with %d failed removals: %v", merged, fs.kept, err)
	}
	sameLive(t, ix, m.docs)
	checkStatistics(t, ix)
}

// Documents that are deleted while a merge runs are deleted in its segment, in whichever of its steps it learns of them.
func TestDeletionsBesideMerge(t *testing.T) {
	early, late := 0, 0 // deletions
	for seed := range uint64(40) {
		ix, err := Create(vfstest.NewMem(), "ix", Options{Analyzer: "whitespace", NoStored: seed%4 == 3, Fields: []string{"title"}})
		check(t, err)
		check(t, commitChange(t.Context(), ix, nil, nil))
		m := newLiveModel(t, ix, seed)
		for range 12 {
			m.publish()
		}
		merge, err := m.live.beginMerge(nil, func(sizes []SegmentSize) (from, to int) { return len(sizes) / 4, len(sizes) })
		check(t, err)
		if merge == nil {
			t.Fatalf("seed %d: nothing to merge", seed)
		}
		change := func() {
			for range m.rng.IntN(4) {
				m.publish()
			}
			if m.rng.IntN(3) == 0 { // neighbours of the merge's segments, or nothing
				_, err := m.live.Merge(t.Context(), nil, anyNeighbours(m.rng))
				check(t, err)
			}
		}
		change()
		check(t, merge.write(t.Context(), ix.fs))
		change()
		check(t, merge.ready(t.Context()))
		change()
		check(t, merge.deleteEarly(t.Context()))
		n := merge.numLive()
		early += merge.meta.NumDocs - n
		for m.publish(); m.rng.IntN(2) == 0; m.publish() {
		}
		check(t, merge.install(t.Context()))
		late += n - merge.numLive()
		merge.end()
		sameLive(t, ix, m.docs)
		checkStatistics(t, ix)
		_, err = m.live.Flush(t.Context())
		check(t, err)
		check(t, m.live.Close())
		sameLive(t, ix, m.docs)
		check(t, ix.Close())
	}
	if early < 100 || late < 100 {
		t.Errorf("%d and %d documents were deleted beside merges", early, late)
	}
}
