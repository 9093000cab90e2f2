package living

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
	"github.com/griffin-search/griffin/internal/wal"
)

// If the log has no room, no operation of the call took effect or conflicts with another one of it.
func TestFullLog(t *testing.T) {
	full := vfstest.NewFaulty(vfstest.NewMem(), vfstest.Plan{DiskBytes: 1 << 20})
	ix := create(t, full, "ix")
	s := open(t, full, ix, Options{RefreshInterval: -1})
	large := func(id string) Op {
		return Op{Kind: Create, Doc: &corpus.Document{ID: id, Text: strings.Repeat("griffin ", 1<<18)}}
	}
	if r, err := s.Apply(t.Context(), []Op{large("a"), large("a")}); !errors.Is(err, wal.ErrFull) || r != nil {
		t.Fatalf("results %+v, error %v, want ErrFull", r, err)
	}
	if doc, version, _, err := s.Get("a"); doc != nil || version.Seq != 0 || err != nil {
		t.Errorf("document %v with version %+v, error %v, want none", doc, version, err)
	}
	check(t, s.end()) // a flush would wait for room
	check(t, ix.Close())
}

// faults makes the creation of files of segments fail while it is on.
type faults struct {
	vfs.FS
	mu     sync.Mutex
	on     bool
	failed int
}

func (f *faults) Create(name string) (vfs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.on && strings.Contains(name, "seg-") {
		f.failed++
		return nil, vfstest.ErrInjected
	}
	return f.FS.Create(name)
}

func (f *faults) set(on bool) (failed int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.on = on
	return f.failed
}

// An opened store merges before anything is written, and repeats merges that fail: writes that wait for
// them go on.
func TestMergesAreRepeated(t *testing.T) {
	fsys := &faults{FS: vfstest.NewMem()}
	ix := create(t, fsys, "ix")
	w, err := ix.Writer(index.WriterOptions{})
	check(t, err)
	doc := func(i int) *corpus.Document { return &corpus.Document{ID: fmt.Sprint(i), Text: "griffin"} }
	for i := range segmentsPerLevel + 1 { // a commit leaves up to 10 similar segments
		check(t, errors.Join(w.Add(doc(i)), w.Commit(t.Context())))
	}
	check(t, w.Close())
	fsys.set(true)
	s, err := Open(t.Context(), fsys, ix, Options{RefreshInterval: -1, MaxSegments: 3, MaxWait: 30 * time.Second})
	check(t, err)
	if n := numSegments(s.ix); n != segmentsPerLevel+1 {
		t.Fatalf("%d segments", n)
	}
	for fsys.set(true) < 3 { // three attempts
		time.Sleep(time.Millisecond)
	}
	fsys.set(false)
	_, err = s.Apply(t.Context(), []Op{{Doc: doc(100)}})
	check(t, err)
	if n := numSegments(s.ix); n > 3 {
		t.Errorf("%d segments when the write was accepted", n)
	}
	check(t, s.Close(t.Context()))
	check(t, ix.Close())
}

// A document that cannot be stored is refused before it is in the log.
func TestTooManyFields(t *testing.T) {
	mem := vfstest.NewMem()
	ix := create(t, mem, "ix")
	s := open(t, mem, ix, Options{})
	r, err := s.Apply(t.Context(), []Op{
		{Doc: &corpus.Document{ID: "a", Extra: make([]corpus.Field, corpus.MaxFields+1)}},
		{Doc: &corpus.Document{ID: "b", Extra: make([]corpus.Field, corpus.MaxFields)}},
	})
	if err != nil || !errors.Is(r[0].Err, base.ErrBadInput) || r[1].Outcome != Created {
		t.Fatalf("%+v, %v", r, err)
	}
	check(t, s.Close(t.Context()))
	check(t, ix.Close())
}

// If nothing can be published, Close ends with the error, nothing later is published or committed, and
// the log has all writes for the next Open.
func TestCloseWithoutRoom(t *testing.T) {
	fsys := &faults{FS: vfstest.NewMem()}
	ix := create(t, fsys, "ix")
	s, err := Open(t.Context(), fsys, ix, Options{RefreshInterval: -1, MemoryBytes: 4000})
	check(t, err)
	m := &model{states: map[string]state{}}
	apply := func(op Op) {
		t.Helper()
		r, err := s.Apply(t.Context(), []Op{op})
		check(t, err)
		m.apply(op, r[0].Version.Seq)
	}
	apply(Op{Doc: &corpus.Document{ID: "a", Text: "visible"}})
	check(t, s.Refresh(t.Context()))
	fsys.set(true)
	for i := range 10 { // several batches, the last one of a deletion only
		apply(Op{Doc: &corpus.Document{ID: fmt.Sprint(i), Text: "griffin"}})
	}
	apply(Op{Kind: Delete, Doc: &corpus.Document{ID: "a"}})
	if err := s.Close(t.Context()); !errors.Is(err, vfstest.ErrInjected) {
		t.Fatalf("Close: %v", err)
	}
	fsys.set(false)
	check(t, ix.Close())
	ix, err = index.Open(fsys, "ix")
	check(t, err)
	s = open(t, fsys, ix, Options{})
	m.same(t, ix)
	check(t, s.Close(t.Context()))
	check(t, ix.Close())
}

// syncFault makes one sync of a segment's file fail; the file is then as without the sync.
type syncFault struct {
	vfs.FS
	mu   sync.Mutex
	fail bool
}

func (f *syncFault) Open(name string) (vfs.File, error) {
	file, err := f.FS.Open(name)
	return syncFaultFile{file, f}, err
}

type syncFaultFile struct {
	vfs.File
	fs *syncFault
}

func (f syncFaultFile) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if f.fs.fail {
		f.fs.fail = false
		return vfstest.ErrInjected
	}
	return f.File.Sync()
}

// After a failed sync, nothing is committed, since the next sync may report success for data that is
// lost. The log keeps the writes.
func TestFailedSync(t *testing.T) {
	fsys := &syncFault{FS: vfstest.NewMem()}
	ix := create(t, fsys, "ix")
	s := open(t, fsys, ix, Options{RefreshInterval: -1})
	_, err := s.Apply(t.Context(), []Op{{Doc: &corpus.Document{ID: "a", Text: "griffin"}}})
	check(t, err)
	fsys.fail = true
	for range 2 {
		if err := s.Flush(t.Context()); !errors.Is(err, vfstest.ErrInjected) {
			t.Fatalf("Flush: %v", err)
		}
	}
	if err := s.Close(t.Context()); !errors.Is(err, vfstest.ErrInjected) {
		t.Fatalf("Close: %v", err)
	}
	reader, err := index.Open(fsys, "ix")
	check(t, err)
	(&model{}).same(t, reader)
	check(t, reader.Close())
	s = open(t, fsys, ix, Options{})
	if doc, _, _, err := s.Get("a"); err != nil || doc != nil || numSegments(s.ix) != 1 {
		t.Errorf("after Open: %v, %v, %d segments", doc, err, numSegments(s.ix))
	}
	check(t, s.Close(t.Context()))
	check(t, ix.Close())
}
