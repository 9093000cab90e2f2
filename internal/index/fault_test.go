package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	work     func(ctx context.Context, ix *Index) error
	// unnoticed are the operations whose failure alone does not fail the work, in order.
	unnoticed []string

	wantBefore, wantAfter []indexedDoc
}

func faultScenarios(t *testing.T) []*faultScenario {
	docs, more := randomDocs(30, 30, true), randomDocs(31, 20, false)
	fresh := &faultScenario{name: "first build", unnoticed: []string{"stat ix", "stat .", "stat ix/seg-000001/meta", "readdir ix"}, after: docs, work: func(ctx context.Context, ix *Index) error {
		_, err := ix.Build(ctx, &memoryReader{docs: docs, batch: 20}, BuildOptions{Threads: 2, MemoryBytes: minMemoryBytes})
		return err
	}}
	reordered := &faultScenario{name: "reordered build", unnoticed: []string{"stat ix/MANIFEST", "map ix/impacts-000001", "stat ix/seg-000002/meta", "stat ix/seg-000003/meta", "readdir ix", "remove ix/seg-000001"}, before: docs[:10], after: slices.Concat(docs[:10], more), work: func(ctx context.Context, ix *Index) error {
		_, err := ix.Build(ctx, &memoryReader{docs: more, batch: 20}, BuildOptions{Threads: 1, Reorder: ReorderBP})
		return err
	}}
	commit := &faultScenario{name: "commit", unnoticed: []string{"stat ix/MANIFEST", "map ix/impacts-000001", "stat ix/seg-000002/meta", "stat ix/seg-000003/meta", "readdir ix", "remove ix/seg-000001"}, before: docs, after: slices.Concat(docs[1:], more), work: func(ctx context.Context, ix *Index) error {
		return commitChange(ctx, ix, docs[:1], more)
	}}
	// The new document makes one segment of too many.
	merging := &faultScenario{name: "merging commit", before: more[:1], after: more[:12], work: func(ctx context.Context, ix *Index) error {
		return commitChange(ctx, ix, nil, more[10:12])
	}, prepared: func(t *testing.T, fsys vfs.FS) {
		ix, err := Open(fsys, "ix")
		check(t, err)
		for i := 1; i < 10; i++ {
			check(t, commitChange(t.Context(), ix, nil, more[i:i+1]))
		}
		check(t, ix.Close())
	}}
	deletion := &faultScenario{name: "deletion", unnoticed: []string{"stat ix/MANIFEST", "map ix/impacts-000001", "readdir ix"}, before: docs, after: docs[1:], work: func(ctx context.Context, ix *Index) error {
		return commitChange(ctx, ix, docs[:1], nil)
	}}
	impacts := &faultScenario{name: "impacts", unnoticed: []string{"stat ix/MANIFEST", "readdir ix"}, before: docs, after: docs, work: func(ctx context.Context, ix *Index) error {
		_, err := ix.BuildImpacts(ctx, ImpactOptions{})
		return err
	}}
	merging.unnoticed = []string{"stat ix/MANIFEST", "map ix/impacts-000010", "stat ix/seg-000011/meta", "readdir ix"}
	for i := range 10 {
		merging.unnoticed = append(merging.unnoticed, fmt.Sprintf("remove ix/seg-%06d", 1+i))
	}
	all := []*faultScenario{fresh, reordered, commit, deletion, merging, impacts, mergeScenario(docs, more)}
	for _, s := range all {
		s.wantBefore, s.wantAfter = byID(expect(t, s.before, Options{})), byID(expect(t, s.after, Options{}))
	}
	merging.wantBefore = byID(expect(t, more[:10], Options{}))
	return all
}

func commitChange(ctx context.Context, ix *Index, remove, add []corpus.Document) error {
	w, err := ix.Writer(WriterOptions{Threads: 1})
	if err != nil {
		return err
	}
	for i := range remove {
		err = errors.Join(err, w.Delete(remove[i].ID))
	}
	for i := range add {
		err = errors.Join(err, w.Add(&add[i]))
	}
	if err == nil {
		err = w.Commit(ctx)
	}
	return errors.Join(err, w.Close())
}

// One segment has a deleted document; impact-ordered lists are rebuilt.
func mergeScenario(docs, more []corpus.Document) *faultScenario {
	live := slices.Concat(docs[1:], more[:1])
	prepare := func(t *testing.T, fsys vfs.FS) {
		ix, err := Open(fsys, "ix")
		check(t, err)
		check(t, commitChange(t.Context(), ix, docs[:1], more[:1]))
		_, err = ix.BuildImpacts(t.Context(), ImpactOptions{})
		check(t, errors.Join(err, ix.Close()))
	}
	work := func(ctx context.Context, ix *Index) error {
		_, err := ix.Merge(ctx, MergeOptions{Threads: 1})
		return err
	}
	inspect := func(t *testing.T, what string, ix *Index, failed bool) {
		s, err := ix.Snapshot()
		check(t, err)
		defer s.Release()
		if merged := len(s.Segments) == 1; merged != (s.NumLive == s.NumDocs) || !merged && (!failed || len(s.Segments) != 2) {
			t.Fatalf("%s: %d segments, %d of %d documents live", what, len(s.Segments), s.NumLive, s.NumDocs)
		}
		if _, err := s.StoredImpacts(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	return &faultScenario{name: "merge", unnoticed: []string{"stat ix/MANIFEST", "stat ix/seg-000003/meta", "readdir ix", "remove ix/impacts-000003", "remove ix/seg-000001", "remove ix/seg-000001.live-000002", "remove ix/seg-000002"}, before: docs, prepared: prepare, after: live, work: work, inspect: inspect}
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

func (s *faultScenario) open(fsys vfs.FS) (*Index, error) {
	if s.before == nil {
		return Create(fsys, "ix", Options{})
	}
	return Open(fsys, "ix")
}

func (s *faultScenario) run(ctx context.Context, fsys vfs.FS) error {
	ix, err := s.open(fsys)
	if err != nil {
		return err
	}
	defer ix.Close()
	return s.work(ctx, ix)
}

// A fault or crash left the state before or after.
func (s *faultScenario) checkState(t *testing.T, what string, fsys vfs.FS, failed bool) {
	t.Helper()
	ix, err := Open(fsys, "ix")
	if errors.Is(err, base.ErrNotIndex) && s.before == nil && failed {
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
	switch len(got) {
	case len(s.wantAfter):
		sameDocs(t, got, s.wantAfter)
	case len(s.wantBefore):
		if !failed {
			t.Fatalf("%s: no error, but nothing is committed", what)
		}
		sameDocs(t, got, s.wantBefore)
	default:
		t.Fatalf("%s: %d documents, neither %d nor %d", what, len(got), len(s.wantBefore), len(s.wantAfter))
	}
}

// Each file operation fails, alone or with all later ones, with and without partial writes. The
// error is returned, all files are closed, and nothing is left behind.
func TestFaults(t *testing.T) {
	for _, s := range faultScenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			prepared := s.prepare(t)
			count := vfstest.NewFaulty(prepared.Clone(), vfstest.Plan{})
			check(t, s.run(t.Context(), count))
			var unnoticed []string
			every := sampletest.UnderRace(1, 16)
			for at := 1; at <= count.Ops(); at += every {
				for _, once := range []bool{true, false} {
					if !once && at%3 != 0 {
						continue
					}
					mem := prepared.Clone()
					faulty := vfstest.NewFaulty(mem, vfstest.Plan{FailAt: at, Once: once, ShortWrite: at%4 < 2})
					err := s.run(t.Context(), faulty)
					operation := faulty.Operations()[at-1]
					what := fmt.Sprintf("%s failed (once: %t): %v", operation, once, err)
					if err != nil && (!errors.Is(err, vfstest.ErrInjected) || errors.Is(err, base.ErrCorrupt)) {
						t.Fatalf("%s: not the injected error alone", what)
					}
					if err == nil && once {
						unnoticed = append(unnoticed, operation)
					}
					if open := faulty.StillOpen(); len(open) > 0 {
						t.Fatalf("%s: %q are still open", what, open)
					}
					s.checkChanged(t, what, mem, prepared, err != nil)
					if left := leftBehind(t, mem); len(left) > 0 && once && !mayLeave(operation) {
						t.Errorf("%s: %q were left behind", what, left)
					}
					if at%11 == 0 {
						if err := s.run(t.Context(), mem); err != nil && !errors.Is(err, base.ErrExists) {
							t.Fatalf("%s: repeated: %v", what, err)
						}
						s.checkState(t, what, mem, false)
					}
				}
			}
			if !slices.Equal(unnoticed, s.unnoticed) && every == 1 {
				t.Errorf("failures of %q were unnoticed, want %q", unnoticed, s.unnoticed)
			}
		})
	}
}

// Without a removal there are leftovers. Without a sync, a power failure may restore the former
// manifest, so its files stay.
func mayLeave(operation string) bool {
	return strings.HasPrefix(operation, "remove ") || operation == "readdir ix" || operation == "sync ix"
}

// Most faults leave the former files as they were.
func (s *faultScenario) checkChanged(t *testing.T, what string, mem, prepared *vfstest.Mem, failed bool) {
	t.Helper()
	for _, name := range prepared.Names() {
		if !failed || !bytes.Equal(mem.Get(name), prepared.Get(name)) {
			s.checkState(t, what, mem, failed)
			return
		}
	}
}

// leftBehind returns the names in the folder that the manifest does not name; without one, all.
func leftBehind(t *testing.T, mem *vfstest.Mem) []string {
	t.Helper()
	names, err := mem.ReadDir("ix")
	check(t, ignoreMissing(err))
	keep := map[string]bool{}
	if m, err := loadManifest(mem, "ix"); err == nil {
		keep = m.names()
	} else if !errors.Is(err, base.ErrNotIndex) {
		t.Fatal(err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return keep[name] })
}

// It returns ENOSPC and leaves the former state without new files.
func TestDiskFull(t *testing.T) {
	for _, s := range faultScenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			prepared := s.prepare(t)
			names := prepared.Names()
			for bytes := int64(1); ; bytes += bytes/sampletest.UnderRace[int64](3, 1) + 500 {
				mem := prepared.Clone()
				err := s.run(t.Context(), vfstest.NewFaulty(mem, vfstest.Plan{DiskBytes: bytes}))
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

// A commit that is cancelled before it publishes changes nothing.
func TestCancelledCommits(t *testing.T) {
	for _, s := range faultScenarios(t) {
		if s.name == "impacts" {
			continue // not a commit
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			prepared := s.prepare(t)
			count := vfstest.NewFaulty(prepared.Clone(), vfstest.Plan{})
			check(t, s.run(t.Context(), count))
			for at, operation := range count.Operations() {
				if strings.HasPrefix(operation, "write ") || at%sampletest.UnderRace(1, 16) > 0 {
					continue // there are many
				}
				ctx, cancel := context.WithCancel(t.Context())
				mem := prepared.Clone()
				operations := 0
				faulty := vfstest.NewFaulty(mem, vfstest.Plan{Before: func() {
					if operations++; operations == 1+at {
						cancel()
					}
				}})
				err := s.run(ctx, faulty)
				cancel()
				what := fmt.Sprintf("cancelled at %s: %v", operation, err)
				switch published := slices.Index(faulty.Operations(), "create ix/"+manifestTemp) >= 0; {
				case published && err != nil, !published && !errors.Is(err, context.Canceled):
					t.Fatalf("%s, published: %t", what, published)
				case published:
					s.checkState(t, what, mem, false)
					return
				}
				if left := leftBehind(t, mem); len(left) > 0 {
					t.Errorf("%s: %q were left behind", what, left)
				}
				s.checkChanged(t, what, mem, prepared, true)
			}
		})
	}
}

// The index is closed before an operation: the change is committed, or nothing is.
func TestClosedMeanwhile(t *testing.T) {
	for _, s := range faultScenarios(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			prepared := s.prepare(t)
			count := vfstest.NewFaulty(prepared.Clone(), vfstest.Plan{})
			check(t, s.run(t.Context(), count))
			for at, operation := range count.Operations() {
				if strings.HasPrefix(operation, "write ") || at%sampletest.UnderRace(1, 16) > 0 {
					continue // there are many
				}
				mem := prepared.Clone()
				var ix *Index
				operations := 0
				faulty := vfstest.NewFaulty(mem, vfstest.Plan{Before: func() {
					if operations++; operations == 1+at && ix != nil {
						check(t, ix.Close())
					}
				}})
				opened, err := s.open(faulty)
				check(t, err)
				if ix = opened; operations > at {
					check(t, ix.Close())
				}
				err = s.work(t.Context(), ix)
				check(t, ix.Close())
				what := fmt.Sprintf("closed at %s: %v", operation, err)
				if published := slices.Contains(faulty.Operations(), "create ix/"+manifestTemp); err != nil && !errors.Is(err, base.ErrClosed) || err == nil && !published && s.name != "impacts" {
					t.Fatal(what)
				}
				if open := faulty.StillOpen(); len(open) > 0 {
					t.Fatalf("%s: %q are still open", what, open)
				}
				if left := leftBehind(t, mem); len(left) > 0 {
					t.Errorf("%s: %q were left behind", what, left)
				}
				s.checkChanged(t, what, mem, prepared, err != nil)
			}
		})
	}
}
