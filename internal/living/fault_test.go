package living

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

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

// mergeFaults makes the creation of files in new segments fail while it is on.
type mergeFaults struct {
	vfs.FS
	mu     sync.Mutex
	on     bool
	failed int
}

func (f *mergeFaults) Create(name string) (vfs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.on && strings.Contains(name, "seg-") {
		f.failed++
		return nil, vfstest.ErrInjected
	}
	return f.FS.Create(name)
}

func (f *mergeFaults) set(on bool) (failed int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.on = on
	return f.failed
}

// An opened store merges before anything is written, and repeats merges that fail: writes that wait for
// them go on.
func TestMergesAreRepeated(t *testing.T) {
	fsys := &mergeFaults{FS: vfstest.NewMem()}
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
	if n := s.numSegments(); n != segmentsPerLevel+1 {
		t.Fatalf("%d segments", n)
	}
	for fsys.set(true) < 3 { // three attempts
		time.Sleep(time.Millisecond)
	}
	fsys.set(false)
	_, err = s.Apply(t.Context(), []Op{{Doc: doc(100)}})
	check(t, err)
	if n := s.numSegments(); n > 3 {
		t.Errorf("%d segments when the write was accepted", n)
	}
	check(t, s.Close(t.Context()))
	check(t, ix.Close())
}
