package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// liveModel has the documents of a live index in the order of writing.
type liveModel struct {
	t    *testing.T
	rng  *rand.Rand
	live *Live
	docs []corpus.Document
	seq  uint64
	dir  string
	// publishing, if not nil, is called when docs and seq are what Publish makes visible.
	publishing func()
}

func newLiveModel(t *testing.T, ix *Index, seed uint64) *liveModel {
	t.Helper()
	l, err := ix.Live()
	check(t, err)
	m := &liveModel{t: t, rng: rand.New(rand.NewPCG(seed, 1)), live: l}
	m.dir, err = l.TempDir()
	check(t, err)
	return m
}

// publish adds, replaces and deletes documents at random.
func (m *liveModel) publish() {
	m.t.Helper()
	schema := m.live.Schema()
	a, err := analysis.New(schema.Analyzer)
	check(m.t, err)
	b := inverter.NewBatch(inverter.Options{Schema: schema, FS: m.live.ix.fs, Dir: m.dir, MemoryBytes: 32 << 20}, a)
	defer b.Close()
	remove := func(id string) {
		m.docs = slices.DeleteFunc(m.docs, func(d corpus.Document) bool { return d.ID == id })
	}
	for range m.rng.IntN(25) {
		m.seq++
		id := fmt.Sprint(m.rng.IntN(400))
		remove(id)
		if m.rng.IntN(4) == 0 {
			b.Delete(id)
			continue
		}
		d := corpus.Document{ID: id, Title: randomText(m.rng, m.rng.IntN(3)), Text: randomText(m.rng, m.rng.IntN(20))}
		check(m.t, b.AddVersion(&d, segment.Version{Seq: m.seq, Number: 1}))
		m.docs = append(m.docs, d)
	}
	partials, err := b.Partials()
	check(m.t, err)
	if m.publishing != nil {
		m.publishing()
	}
	_, err = m.live.Publish(m.t.Context(), partials.Sources(), partials.Err, b.Deletes(), nil, 0, m.seq)
	check(m.t, err)
}

// same checks that a snapshot has the documents, in the order of writing, with rising versions.
func sameLive(t *testing.T, ix *Index, docs []corpus.Document) {
	t.Helper()
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	last, n := uint64(0), 0
	for i := range s.Segments {
		v := &s.Segments[i]
		for doc := range base.DocID(v.NumDocs()) {
			if v.Live != nil && !v.Live.Has(int(doc)) {
				continue
			}
			id, err := v.ID(doc)
			check(t, err)
			version, err := v.Version(doc)
			check(t, err)
			if n >= len(docs) || string(id) != docs[n].ID || version.Seq <= last {
				t.Fatalf("document %d of %d is %s with version %d after %d", n, len(docs), id, version.Seq, last)
			}
			last = version.Seq
			n++
		}
	}
	if n != len(docs) || s.NumLive != n {
		t.Fatalf("%d documents, %d counted, want %d", n, s.NumLive, len(docs))
	}
}

func anyNeighbours(rng *rand.Rand) func([]SegmentSize) (from, to int) {
	return func(sizes []SegmentSize) (from, to int) {
		if len(sizes) == 0 {
			return 0, 0
		}
		from = rng.IntN(len(sizes))
		to = from + 1 + rng.IntN(min(4, len(sizes)-from))
		if slices.ContainsFunc(sizes[from:to], func(s SegmentSize) bool { return s.Busy }) {
			return 0, 0
		}
		return from, to
	}
}

// Documents are visible after Publish, durable after Flush, and merges change neither, in any order.
func TestLiveHistories(t *testing.T) {
	for seed := range uint64(6) {
		mem := vfstest.NewMem()
		ix, err := Create(mem, "ix", Options{Analyzer: "whitespace", NoStored: seed%3 == 2})
		check(t, err)
		check(t, commitChange(t.Context(), ix, nil, nil))
		m := newLiveModel(t, ix, seed)
		var flushed []corpus.Document
		for range 60 {
			switch m.rng.IntN(5) {
			case 0:
				_, err := m.live.Merge(t.Context(), nil, anyNeighbours(m.rng))
				check(t, err)
			case 1:
				seq, err := m.live.Flush(t.Context())
				check(t, err)
				if seq != m.seq || m.live.Seq() != seq {
					t.Fatalf("flushed %d, %d, want %d", seq, m.live.Seq(), m.seq)
				}
				flushed = slices.Clone(m.docs)
				reader, err := Open(mem, "ix")
				check(t, err)
				sameLive(t, reader, flushed)
				checkStatistics(t, reader)
				check(t, reader.Close())
			default:
				m.publish()
			}
			sameLive(t, ix, m.docs)
			checkStatistics(t, ix)
		}
		check(t, m.live.Close())
		sameLive(t, ix, flushed)
		if seed%2 == 0 { // the others go on with the same Index
			check(t, ix.Close())
			ix, err = Open(mem, "ix")
			check(t, err)
		}
		sameLive(t, ix, flushed)
		s, err := ix.Snapshot()
		check(t, err)
		check(t, s.Verify(t.Context(), nil))
		s.Release()
		var removed []corpus.Document
		if len(flushed) > 1 {
			removed = flushed[:2]
		}
		check(t, commitChange(t.Context(), ix, removed, []corpus.Document{{ID: "last"}})) // leaves no other files
		checkStatistics(t, ix)
		for _, d := range removed {
			s, err := ix.Snapshot()
			check(t, err)
			if _, _, found, err := s.Lookup(d.ID); found || err != nil {
				t.Errorf("deleted document %s: found %t, %v", d.ID, found, err)
			}
			s.Release()
		}
		if left, err := (&session{ix: ix}).leftovers(); err != nil || len(left) > 0 {
			t.Errorf("files %q are left, %v", left, err)
		}
		check(t, ix.Close())
	}
}

// Merges and flushes run beside Publish and searches.
func TestLiveConcurrent(t *testing.T) {
	ix, err := Create(vfstest.NewMem(), "ix", Options{Analyzer: "whitespace"})
	check(t, err)
	defer ix.Close()
	check(t, commitChange(t.Context(), ix, nil, nil))
	m := newLiveModel(t, ix, 7)
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for worker := range 6 {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(worker), 5))
			for ctx.Err() == nil {
				switch worker {
				case 0, 3, 4:
					if _, err := m.live.Merge(t.Context(), nil, anyNeighbours(rng)); err != nil {
						t.Errorf("merge: %v", err)
						return
					}
				case 5:
					if err := m.live.MergeAll(t.Context(), nil, joinAll); err != nil {
						t.Errorf("merge all: %v", err)
						return
					}
				case 1:
					if _, err := m.live.Flush(t.Context()); err != nil {
						t.Errorf("flush: %v", err)
						return
					}
				case 2:
					s, err := ix.Snapshot()
					if err != nil {
						t.Errorf("snapshot: %v", err)
						return
					}
					if _, _, _, err := s.Lookup(fmt.Sprint(rng.IntN(400))); err != nil {
						t.Errorf("lookup: %v", err)
					}
					s.Release()
				}
			}
		})
	}
	for range 80 {
		m.publish()
		sameLive(t, ix, m.docs)
	}
	stop()
	group.Wait()
	checkStatistics(t, ix)
	if _, err := m.live.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, m.live.Close())
	sameLive(t, ix, m.docs)
	checkStatistics(t, ix)
}

func joinAll(sizes []SegmentSize) (from, to int) {
	if len(sizes) < 2 {
		return 0, 0
	}
	return 0, len(sizes)
}

// After a merge to one segment, its files equal the files of a new index of the live documents, so that queries
// are as fast. Only blocks of stored documents end at other places, and a new index has no versions.
func TestMergedLikeNew(t *testing.T) {
	for seed := range uint64(4) {
		mem := vfstest.NewMem()
		options := Options{Analyzer: "whitespace", Fields: []string{"title"}, Positions: seed%2 == 0}
		ix, err := Create(mem, "ix", options)
		check(t, err)
		check(t, commitChange(t.Context(), ix, nil, nil))
		m := newLiveModel(t, ix, seed)
		for range 30 {
			m.publish()
			if m.rng.IntN(3) == 0 {
				_, err := m.live.Merge(t.Context(), nil, anyNeighbours(m.rng))
				check(t, err)
			}
		}
		_, err = m.live.Merge(t.Context(), nil, func(sizes []SegmentSize) (from, to int) { return 0, len(sizes) })
		check(t, err)
		fresh, err := Create(mem, "fresh", options)
		check(t, err)
		_, err = fresh.Build(t.Context(), &memoryReader{docs: m.docs, batch: 37}, BuildOptions{})
		check(t, err)
		folder := func(ix *Index) string {
			s, err := ix.Snapshot()
			check(t, err)
			defer s.Release()
			if len(s.Segments) != 1 {
				t.Fatalf("%d segments", len(s.Segments))
			}
			return filepath.Join(ix.Dir(), s.Segments[0].Name)
		}
		merged, built := folder(ix), folder(fresh)
		names, err := mem.ReadDir(built)
		check(t, err)
		compared := 0
		for _, name := range names {
			if name == "meta" || name == "stored" {
				continue
			}
			if !bytes.Equal(mem.Get(filepath.Join(merged, name)), mem.Get(filepath.Join(built, name))) {
				t.Errorf("seed %d: %s differs", seed, name)
			}
			compared++
		}
		if compared < 6 {
			t.Errorf("%d files", compared)
		}
		check(t, m.live.Close())
		check(t, errors.Join(ix.Close(), fresh.Close()))
	}
}

// After a failed sync of the folder of an index, nothing is committed: the next sync can report success for
// names that are lost. The log keeps its records.
func TestFlushAfterFailedDirSync(t *testing.T) {
	disk := vfstest.NewDisk()
	fail := false
	fsys := hookFS{FS: disk, before: func(op, name string) error {
		if fail && op == "sync" && name == "ix" {
			fail = false
			return syscall.EIO
		}
		return nil
	}}
	ix, err := Create(fsys, "ix", Options{Analyzer: "whitespace"})
	check(t, err)
	check(t, commitChange(t.Context(), ix, nil, nil))
	m := newLiveModel(t, ix, 1)
	for m.seq == 0 || len(m.docs) == 0 {
		m.publish()
	}
	fail = true
	for range 2 {
		if seq, err := m.live.Flush(t.Context()); !errors.Is(err, ErrSyncFailed) || !errors.Is(err, syscall.EIO) || seq != 0 {
			t.Errorf("Flush after a failed sync of the folder: %d, %v", seq, err)
		}
	}
	check(t, m.live.Close())
	check(t, ix.Close())
	ix, err = Open(disk, "ix")
	check(t, err)
	if ix.Seq() != 0 {
		t.Errorf("record %d is committed", ix.Seq())
	}
	check(t, ix.Close())
}

// A process can end after it has renamed the manifest, before the folder is synced. The next one cuts the
// log by that commit, so it makes the commit durable first.
func TestLiveMakesTheCommitDurable(t *testing.T) {
	disk := vfstest.NewDisk()
	var killed *vfstest.Disk
	renamed := false
	fsys := hookFS{FS: disk, before: func(op, name string) error {
		renamed = renamed || op == "rename"
		if renamed && op == "sync" && name == "ix" && killed == nil {
			killed = disk.AfterKill()
		}
		return nil
	}}
	ix, err := Create(disk, "ix", Options{Analyzer: "whitespace"})
	check(t, err)
	check(t, commitChange(t.Context(), ix, nil, nil))
	check(t, ix.Close())
	ix, err = Open(fsys, "ix")
	check(t, err)
	m := newLiveModel(t, ix, 1)
	for m.seq == 0 || len(m.docs) == 0 {
		m.publish()
	}
	seq, err := m.live.Flush(t.Context())
	check(t, err)
	check(t, m.live.Close())
	check(t, ix.Close())
	if seq == 0 || killed == nil {
		t.Fatalf("record %d, killed %t", seq, killed != nil)
	}
	check(t, killed.RemoveAll("ix/"+tempName)) // removing leftovers would sync the folder
	next, err := Open(killed, "ix")
	check(t, err)
	live, err := next.Live()
	check(t, err)
	if live.Seq() != seq {
		t.Fatalf("record %d is committed after the kill, want %d", live.Seq(), seq)
	}
	for seed := range uint64(50) {
		after, err := Open(killed.AfterCrash(rand.New(rand.NewPCG(seed, 1))), "ix")
		check(t, err)
		if after.Seq() != seq {
			t.Errorf("seed %d: record %d is committed after a power failure, want %d", seed, after.Seq(), seq)
		}
		check(t, after.Close())
	}
	check(t, live.Close())
	check(t, next.Close())
}
