package living

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// The version of a deleted id counts on for a minute, over refreshes, flushes and merges.
func TestDeletedVersions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mem := vfstest.NewMem()
		ix := create(t, mem, "ix")
		s := open(t, mem, ix, Options{RefreshInterval: -1})
		apply := func(op Op) Result {
			t.Helper()
			r, err := s.Apply(t.Context(), []Op{op})
			check(t, err)
			return r[0]
		}
		put := Op{Doc: &corpus.Document{ID: "a", Text: "griffin"}}
		apply(put)
		check(t, s.Flush(t.Context()))
		r := apply(Op{Kind: Delete, Doc: put.Doc, External: 7})
		check(t, s.Flush(t.Context()))
		check(t, s.Merge(t.Context(), 1))
		time.Sleep(keepDeleted - time.Second)
		apply(Op{Doc: &corpus.Document{ID: "b"}})
		check(t, s.Flush(t.Context()))
		if doc, v, pending, err := s.Get("a"); doc != nil || v != r.Version || !pending || err != nil {
			t.Errorf("after 59 s: %v, %+v, %t, %v, want the version %+v", doc, v, pending, err, r.Version)
		}
		older := put
		older.External = 6
		if r := apply(older); r.Err == nil {
			t.Errorf("a write with an older external version succeeded: %+v", r)
		}
		if r := apply(put); r.Version.Number != 8 || r.Outcome != Created {
			t.Errorf("after 59 s: %+v, want version 8", r)
		}
		check(t, s.Flush(t.Context()))
		if r := apply(put); r.Version.Number != 9 || r.Outcome != Updated {
			t.Errorf("after a flush: %+v, want version 9", r)
		}
		apply(Op{Kind: Delete, Doc: put.Doc})
		check(t, s.Flush(t.Context()))
		time.Sleep(keepDeleted + time.Second)
		apply(Op{Doc: &corpus.Document{ID: "c"}})
		check(t, s.Refresh(t.Context()))
		if r := apply(put); r.Version.Number != 1 || r.Outcome != Created {
			t.Errorf("after a minute: %+v, want version 1", r)
		}
		check(t, s.Close(t.Context()))
		check(t, ix.Close())
	})
}

// The memory of deleted ids is bounded, and the last ones are kept.
func TestDeletionsAreBounded(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, v, now := heap(), newVersions(), time.Now()
	const n = 230_000
	for i := range n {
		v.set(fmt.Sprintf("%010d", i), state{version: segment.Version{Seq: uint64(i + 1), Number: 1}})
		if i%1000 == 999 {
			v.begin()
			v.drop(now)
		}
	}
	used := heap() - before
	t.Logf("%d bytes", used)
	if used > maxDeletedBytes*3/2 {
		t.Errorf("%d bytes, want about %d", used, maxDeletedBytes)
	}
	kept := 0
	for i := range n {
		if _, ok := v.find(fmt.Sprintf("%010d", i)); ok {
			kept++
		} else if kept > 1000 { // of an older batch
			t.Fatalf("id %d is not kept, but %d older ones", i, kept)
		}
	}
	if want := maxDeletedBytes / (deletedBytes + 10); kept < want-1000 || kept > want {
		t.Errorf("%d ids are kept, want about %d", kept, want)
	}
	for i := range n { // as in a replay, without batches
		v.deleted.add(fmt.Sprintf("%010d", i), segment.Version{Seq: uint64(n + i), Number: 1}, now)
	}
	if v.deleted.size > maxDeletedBytes {
		t.Errorf("%d bytes of deletions after a replay", v.deleted.size)
	}
	v.begin()
	v.drop(now.Add(keepDeleted + 1))
	if len(v.deleted.versions)+len(v.deleted.queue)+v.deleted.size != 0 {
		t.Errorf("after a minute: %d ids, %d in the queue, %d bytes", len(v.deleted.versions), len(v.deleted.queue), v.deleted.size)
	}
}
