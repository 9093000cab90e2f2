package index

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// slowDisk takes a minute to remove a segment, and to create one if creates is set.
type slowDisk struct {
	vfs.FS
	creates atomic.Bool
	removed atomic.Int64 // segments
}

func (f *slowDisk) RemoveAll(name string) error {
	if strings.HasPrefix(filepath.Base(name), "seg-") {
		time.Sleep(time.Minute)
		f.removed.Add(1)
	}
	return f.FS.RemoveAll(name)
}

func (f *slowDisk) Create(name string) (vfs.File, error) {
	if f.creates.Load() && strings.HasPrefix(filepath.Base(filepath.Dir(name)), "seg-") {
		time.Sleep(time.Minute)
	}
	return f.FS.Create(name)
}

// Documents become visible while a Flush removes the files of former segments. The next batch begins, merges
// are chosen, and a Flush ends while documents become visible.
func TestLiveDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &slowDisk{FS: vfstest.NewMem()}
		ix, err := Create(disk, "ix", Options{Analyzer: "whitespace", NoStored: true}) // zstd has goroutines of its own
		check(t, err)
		check(t, commitChange(t.Context(), ix, nil, nil))
		m := newLiveModel(t, ix, 3)
		for range 4 {
			m.publish()
		}
		_, err = m.live.Flush(t.Context())
		check(t, err)
		merged, err := m.live.Merge(t.Context(), nil, func(sizes []SegmentSize) (from, to int) { return 0, len(sizes) })
		check(t, err)
		if !merged {
			t.Fatal("nothing was merged")
		}
		flushed := make(chan error, 1)
		go func() {
			_, err := m.live.Flush(t.Context())
			flushed <- err
		}()
		synctest.Wait()
		began := time.Now()
		m.publish()
		sameLive(t, ix, m.docs)
		if took := time.Since(began); took > 0 || disk.removed.Load() > 0 {
			t.Errorf("Publish waited %v, until %d segments were removed", took, disk.removed.Load())
		}
		check(t, <-flushed)
		if disk.removed.Load() == 0 {
			t.Error("no segment was removed")
		}

		disk.creates.Store(true)
		visible, removed := m.seq, disk.removed.Load()
		published := make(chan struct{})
		go func() {
			defer close(published)
			m.publish()
		}()
		synctest.Wait()
		began = time.Now()
		_, err = m.live.TempDir()
		check(t, err)
		merged, err = m.live.Merge(t.Context(), nil, func(sizes []SegmentSize) (from, to int) { return 0, 0 })
		check(t, err)
		seq, err := m.live.Flush(t.Context())
		check(t, err)
		if took := time.Since(began); took > 0 || merged || seq != visible || disk.removed.Load() > removed {
			t.Errorf("TempDir, Merge and Flush waited %v for Publish; merged %t, committed %d of %d, removed %d segments", took, merged, seq, visible, disk.removed.Load()-removed)
		}
		<-published
		disk.creates.Store(false)
		sameLive(t, ix, m.docs)
		check(t, m.live.Close())
		check(t, ix.Close())
	})
}

// creating calls hook when a file is created.
type creating struct {
	vfs.FS
	hook func()
}

func (f *creating) Create(name string) (vfs.File, error) {
	f.hook()
	return f.FS.Create(name)
}

// Documents of a merge are of a former shape if the shape changes while it runs.
func TestMergeDuringChangeOfShape(t *testing.T) {
	t.Parallel()
	parse := func(ignoreAbove int) *mapping.Mapping {
		m, err := mapping.Parse(fmt.Appendf(nil, `{"properties": {"k": {"type": "keyword", "ignore_above": %d}}}`, ignoreAbove))
		check(t, err)
		return m
	}
	mem := vfstest.NewMem()
	ix, err := Create(mem, "ix", Options{Analyzer: "whitespace", Mapping: parse(3)})
	check(t, err)
	check(t, commitChange(t.Context(), ix, nil, nil))
	m := newLiveModel(t, ix, 3)
	m.publish()
	m.publish()
	var once sync.Once
	merged, err := m.live.Merge(t.Context(), &creating{mem, func() {
		once.Do(func() {
			options := ix.Options()
			changed, _, err := options.Updated(parse(5))
			check(t, err)
			_, err = m.live.Publish(t.Context(), nil, func() error { return nil }, nil, changed.Schema(), 0, m.seq+1)
			check(t, err)
		})
	}}, func(sizes []SegmentSize) (from, to int) { return 0, len(sizes) })
	if err != nil || !merged {
		t.Fatalf("%t, %v", merged, err)
	}
	s, err := ix.Snapshot()
	check(t, err)
	if v := &s.Segments[0]; len(s.Segments) != 1 || v.former != v.NumDocs() {
		t.Errorf("%d segments, %d of %d documents of a former shape", len(s.Segments), v.former, v.NumDocs())
	}
	s.Release()
	check(t, errors.Join(m.live.Close(), ix.Close()))
}

// syncing calls hook before a folder is synced.
type syncing struct {
	vfs.FS
	hook func(dir string)
}

func (f *syncing) SyncDir(dir string) error {
	f.hook(dir)
	return f.FS.SyncDir(dir)
}

// Flush syncs segments and writes deletions while a Publish runs.
func TestFlushBesidePublish(t *testing.T) {
	disk := &syncing{FS: vfstest.NewMem(), hook: func(string) {}}
	ix, err := Create(disk, "ix", Options{Analyzer: "whitespace"})
	check(t, err)
	check(t, commitChange(t.Context(), ix, nil, nil))
	m := newLiveModel(t, ix, 3)
	for range 12 {
		m.publish()
	}
	saved := 0
	var publishing *time.Timer
	disk.hook = func(dir string) {
		switch {
		case publishing == nil && strings.HasPrefix(filepath.Base(dir), "seg-"):
			check(t, m.live.changing.take(t.Context()))
			publishing = time.AfterFunc(20*time.Second, func() {
				t.Error("Flush waits for Publish")
				m.live.changing.giveBack()
			})
		case publishing != nil && dir == "ix" && publishing.Stop():
			saved = len(m.live.files.written)
			m.live.changing.giveBack()
		}
	}
	_, err = m.live.Flush(t.Context())
	check(t, err)
	if saved == 0 && !t.Failed() {
		t.Error("no deletions were written during Publish")
	}
	check(t, m.live.Close())
	check(t, ix.Close())
}
