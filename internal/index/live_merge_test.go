package index

import (
	"testing"

	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

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
		check(t, merge.removeTemp())
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
