package index

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

type faultScenario struct {
	name   string
	before []corpus.Document // committed first; nil: there is no index
	// prepared, if set, first changes the index to hold after. inspect, if set, checks the
	// result of work or of a fault.
	prepared func(t *testing.T, fsys vfs.FS)
	inspect  func(t *testing.T, what string, ix *Index, failed bool)
	after    []corpus.Document // documents after work succeeds
	work     func(t *testing.T, fsys vfs.FS) error
}

func faultScenarios() []faultScenario {
	docs, more := randomDocs(30, 60, true), randomDocs(31, 40, false)
	fresh := faultScenario{name: "first build", after: docs, work: func(t *testing.T, fsys vfs.FS) error {
		ix, err := Create(fsys, "ix", Options{})
		if err != nil {
			return err
		}
		defer ix.Close()
		_, err = ix.Build(t.Context(), &memoryReader{docs: docs, batch: 20}, BuildOptions{Threads: 2, MemoryBytes: minMemoryBytes})
		return err
	}}
	reordered := faultScenario{name: "reordered build", before: docs[:10], after: slices.Concat(docs[:10], more), work: func(t *testing.T, fsys vfs.FS) error {
		ix, err := Open(fsys, "ix")
		if err != nil {
			return err
		}
		defer ix.Close()
		_, err = ix.Build(t.Context(), &memoryReader{docs: more, batch: 20}, BuildOptions{Threads: 1, Reorder: ReorderBP})
		return err
	}}
	commit := faultScenario{name: "commit", before: docs, after: slices.Concat(docs[1:], more), work: func(t *testing.T, fsys vfs.FS) error {
		ix, err := Open(fsys, "ix")
		if err != nil {
			return err
		}
		defer ix.Close()
		w, err := ix.Writer(WriterOptions{Threads: 1})
		if err != nil {
			return err
		}
		err = w.Delete(docs[0].ID)
		for i := range more {
			err = errors.Join(err, w.Add(&more[i]))
		}
		if err == nil {
			err = w.Commit(t.Context())
		}
		return errors.Join(err, w.Close())
	}}
	impacts := faultScenario{name: "impacts", before: docs, after: docs, work: func(t *testing.T, fsys vfs.FS) error {
		ix, err := Open(fsys, "ix")
		if err != nil {
			return err
		}
		defer ix.Close()
		_, err = ix.BuildImpacts(t.Context(), ImpactOptions{})
		return err
	}}
	return []faultScenario{fresh, reordered, commit, impacts, mergeScenario(docs, more)}
}

// One segment has a deleted document; impact-ordered lists are rebuilt.
func mergeScenario(docs, more []corpus.Document) faultScenario {
	live := slices.Concat(docs[1:], more[:1])
	prepare := func(t *testing.T, fsys vfs.FS) {
		ix, err := Open(fsys, "ix")
		check(t, err)
		w := newWriter(t, ix)
		check(t, errors.Join(w.Delete(docs[0].ID), w.Add(&more[0]), w.Commit(t.Context()), w.Close()))
		_, err = ix.BuildImpacts(t.Context(), ImpactOptions{})
		check(t, errors.Join(err, ix.Close()))
	}
	work := func(t *testing.T, fsys vfs.FS) error {
		ix, err := Open(fsys, "ix")
		if err != nil {
			return err
		}
		defer ix.Close()
		_, err = ix.Merge(t.Context(), MergeOptions{Threads: 1})
		return err
	}
	inspect := func(t *testing.T, what string, ix *Index, failed bool) {
		s, err := ix.Snapshot()
		check(t, err)
		defer s.Release()
		if merged := len(s.Segments) == 1; merged != (s.NumLive == s.NumDocs) || !merged && (!failed || len(s.Segments) != 2) {
			t.Fatalf("%s: %d segments, %d of %d documents live", what, len(s.Segments), s.NumLive, s.NumDocs)
		}
		if _, err := s.Impacts(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	return faultScenario{name: "merge", before: docs, prepared: prepare, after: live, work: work, inspect: inspect}
}

func (s *faultScenario) prepare(t *testing.T) *vfstest.Mem {
	mem := vfstest.NewMem()
	if s.before == nil {
		return mem
	}
	ix, err := Create(mem, "ix", Options{})
	check(t, err)
	_, err = ix.Build(t.Context(), &memoryReader{docs: s.before, batch: 20}, BuildOptions{Threads: 1})
	check(t, err)
	check(t, ix.Close())
	if s.prepared != nil {
		s.prepared(t, mem)
	}
	return mem
}

// A fault or crash left the state before or after, and work can be repeated.
func (s *faultScenario) checkState(t *testing.T, what string, fsys vfs.FS, failed bool) {
	t.Helper()
	ix, err := Open(fsys, "ix")
	if errors.Is(err, base.ErrNotIndex) && s.before == nil {
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	defer ix.Close()
	verify(t, ix)
	if s.inspect != nil {
		s.inspect(t, what, ix, failed)
	}
	got := byID(dump(t, ix))
	before, after := byID(expect(t, s.before, Options{})), byID(expect(t, s.after, Options{}))
	switch len(got) {
	case len(after):
		sameDocs(t, got, after)
	case len(before):
		if !failed {
			t.Fatalf("%s: no error, but nothing is committed", what)
		}
		sameDocs(t, got, before)
	default:
		t.Fatalf("%s: %d documents, neither %d nor %d", what, len(got), len(before), len(after))
	}
}

// Each file operation fails, alone or with all later ones, with and without partial writes.
func TestFaults(t *testing.T) {
	for _, s := range faultScenarios() {
		t.Run(s.name, func(t *testing.T) {
			count := vfstest.NewFaulty(s.prepare(t), vfstest.Plan{})
			check(t, s.work(t, count))
			total := count.Ops()
			prepared := s.prepare(t)
			operations := make([]int, total)
			for i := range operations {
				operations[i] = 1 + i
			}
			for _, at := range sampletest.Some(t, (total+2)/sampletest.UnderRace(3, 16), operations) {
				plan := vfstest.Plan{FailAt: at, Once: at%2 == 0, ShortWrite: at%4 < 2}
				mem := prepared.Clone()
				err := s.work(t, vfstest.NewFaulty(mem, plan))
				what := fmt.Sprintf("operation %d of %d failed (%+v): %v", at, total, plan, err)
				if err != nil && !errors.Is(err, vfstest.ErrInjected) {
					t.Fatalf("%s: not the injected error", what)
				}
				s.checkState(t, what, mem, err != nil)
				if at%5 == 0 {
					if err := s.work(t, mem.Clone()); err != nil && !errors.Is(err, base.ErrExists) {
						t.Fatalf("%s: repeated: %v", what, err)
					}
				}
			}
		})
	}
}

// It returns ENOSPC and leaves the former state without new files.
func TestDiskFull(t *testing.T) {
	for _, s := range faultScenarios() {
		t.Run(s.name, func(t *testing.T) {
			prepared := s.prepare(t)
			names := prepared.Names()
			for bytes := int64(1); ; bytes += bytes/sampletest.UnderRace[int64](3, 1) + 500 {
				mem := prepared.Clone()
				err := s.work(t, vfstest.NewFaulty(mem, vfstest.Plan{DiskBytes: bytes}))
				if err == nil {
					s.checkState(t, "enough room", mem, false)
					return
				}
				if !errors.Is(err, syscall.ENOSPC) {
					t.Fatalf("room for %d bytes: error %v, want ENOSPC", bytes, err)
				}
				s.checkState(t, fmt.Sprintf("room for %d bytes", bytes), mem, true)
				for _, name := range mem.Names() {
					if !slices.Contains(names, name) && name != "ix/"+lockName {
						t.Errorf("room for %d bytes: %s was left behind", bytes, name)
					}
				}
			}
		})
	}
}
