package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// failingFS fails removals, and syncs after the manifest is replaced, while these are set.
type failingFS struct {
	vfs.FS
	remove, sync, unlock error
	replaced             bool
}

func (f *failingFS) RemoveAll(name string) error {
	if f.remove != nil {
		return f.remove
	}
	return f.FS.RemoveAll(name)
}

func (f *failingFS) Rename(from, to string) error {
	f.replaced = f.replaced || to == "ix/"+manifestName
	return f.FS.Rename(from, to)
}

func (f *failingFS) SyncDir(dir string) error {
	if f.replaced && f.sync != nil {
		return f.sync
	}
	return f.FS.SyncDir(dir)
}

func (f *failingFS) Lock(name string) (io.Closer, error) {
	lock, err := f.FS.Lock(name)
	if err != nil || f.unlock == nil {
		return lock, err
	}
	return failingLock{lock, f.unlock}, nil
}

type failingLock struct {
	io.Closer
	err error
}

func (l failingLock) Close() error { return errors.Join(l.Closer.Close(), l.err) }

var (
	errSync   = errors.New("injected into a sync")
	errRemove = errors.New("injected into a removal")
	errUnlock = errors.New("injected into an unlock")
)

// A commit whose folder could not be synced is an error; the next one syncs first, once.
func TestCommitAfterFailedSync(t *testing.T) {
	docs := randomDocs(130, 4, false)
	count := vfstest.NewFaulty(vfstest.NewMem(), vfstest.Plan{})
	fsys := &failingFS{FS: count}
	ix, err := Create(fsys, "ix", Options{})
	check(t, err)
	defer ix.Close()
	check(t, commitChange(t.Context(), ix, nil, docs[:1]))
	w := newWriter(t, ix)
	syncsSince := func(start int) (n int) {
		for _, operation := range count.Operations()[start:] {
			if operation == "sync ix" {
				n++
			}
		}
		return n
	}
	syncs := func(i int) (n int, err error) {
		start := count.Ops()
		check(t, w.Add(&docs[i]))
		err = w.Commit(t.Context())
		return syncsSince(start), err
	}
	fsys.replaced, fsys.sync = false, errSync
	_, err = syncs(1)
	if want := "generation 2 is committed, but its folder could not be synced"; !errors.Is(err, errSync) || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	fsys.sync = nil
	first, err := syncs(2)
	check(t, err)
	second, err := syncs(3)
	check(t, err)
	if first != second+1 {
		t.Errorf("%d syncs after the failure, then %d, want one less", first, second)
	}
	check(t, w.Close())
	ss, err := ix.begin()
	check(t, err)
	ss.unsynced = true
	for _, want := range []int{1, 0} { // without a change
		start := count.Ops()
		_, err = ss.apply(t.Context(), change{failed: func() error { return nil }})
		check(t, err)
		if got := syncsSince(start); got != want {
			t.Errorf("%d syncs without a change, want %d", got, want)
		}
	}
	check(t, ss.end())
	if got := ix.currentManifest().Generation; got != 4 {
		t.Errorf("generation %d, want 4", got)
	}
	sameDocs(t, dump(t, ix), expect(t, docs, Options{}))
}

// A merge whose folder could not be synced is reported; one that failed is not.
func TestMergeReportAfterErrors(t *testing.T) {
	docs := randomDocs(131, 8, false)
	fsys := &failingFS{FS: vfstest.NewMem()}
	ix, err := Create(fsys, "ix", Options{})
	check(t, err)
	defer ix.Close()
	check(t, commitChange(t.Context(), ix, nil, docs[:5]))
	check(t, commitChange(t.Context(), ix, docs[:1], docs[5:]))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	report, err := ix.Merge(ctx, MergeOptions{})
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "merge: ") || report != (MergeReport{}) {
		t.Errorf("cancelled: report %+v, error %v", report, err)
	}
	before := sizeNow(t, ix)
	fsys.replaced, fsys.sync = false, errSync
	report, err = ix.Merge(t.Context(), MergeOptions{})
	if want := (MergeReport{Before: before, After: sizeNow(t, ix), Changed: true}); !errors.Is(err, errSync) || report != want || report.After.Segments != 1 {
		t.Errorf("not synced: report %+v, error %v, want %+v", report, err, want)
	}
	fsys.sync = nil
	// The phase belongs to a merge even without work.
	var last Progress
	report, err = ix.Merge(t.Context(), MergeOptions{Progress: func(p Progress) { last = p }})
	if err != nil || report.Changed || last.Phase != PhaseMerging {
		t.Errorf("again: report %+v, error %v, last progress %+v", report, err, last)
	}
}

// The plan of an index that needs no merge leaves the impact-ordered lists alone.
func TestMergePlanWithoutWork(t *testing.T) {
	ix, err := Create(vfstest.NewMem(), "ix", Options{})
	check(t, err)
	defer ix.Close()
	if plan, err := ix.Merge(t.Context(), MergeOptions{DryRun: true}); !errors.Is(err, base.ErrBadInput) || plan != (MergeReport{}) {
		t.Errorf("without a commit: plan %+v, error %v", plan, err)
	}
	check(t, commitChange(t.Context(), ix, nil, randomDocs(132, 5, false)))
	_, err = ix.BuildImpacts(t.Context(), ImpactOptions{})
	check(t, err)
	size := sizeNow(t, ix)
	plan, err := ix.Merge(t.Context(), MergeOptions{DryRun: true})
	if want := (MergeReport{Before: size, After: size}); err != nil || plan != want {
		t.Errorf("plan %+v, error %v, want %+v", plan, err, want)
	}
}

// Segments before and after merged ones are kept, and the impact-ordered lists report their own
// progress.
func TestMergeKeepsSegments(t *testing.T) {
	for name, c := range map[string]struct {
		sizes []int
		want  string
	}{
		"first":          {[]int{9, 5, 3, 1}, "seg-000001 seg-000005"},
		"last":           {[]int{2, 1, 9}, "seg-000004 seg-000003"},
		"first and last": {[]int{9, 1, 2, 9}, "seg-000001 seg-000005 seg-000004"},
	} {
		t.Run(name, func(t *testing.T) {
			ix, err := Create(vfstest.NewMem(), "ix", Options{})
			check(t, err)
			defer ix.Close()
			docs := randomDocs(133, 30, false)
			n := 0
			for _, size := range c.sizes {
				check(t, commitChange(t.Context(), ix, nil, docs[n:n+size]))
				n += size
			}
			_, err = ix.BuildImpacts(t.Context(), ImpactOptions{})
			check(t, err)
			s, err := ix.Snapshot()
			check(t, err)
			defer s.Release()
			impacts := 0
			ss, err := ix.begin()
			check(t, err)
			result, err := ss.apply(t.Context(), change{
				failed: func() error { return nil }, threads: 1, memoryBytes: DefaultMemoryBytes,
				merge: s.mergeGroups(&MergeOptions{MaxSegments: strings.Count(c.want, " ") + 1}),
				progress: func(p Phase, _, total int64) {
					if p != PhaseImpacts {
						return
					}
					if impacts++; total != 2*int64(s.Fields[0].NumPostings) {
						t.Errorf("impacts: total %d, want two passes over %d postings", total, s.Fields[0].NumPostings)
					}
				},
			})
			check(t, errors.Join(err, ss.end()))
			var names []string
			for _, ms := range ix.currentManifest().Segments {
				names = append(names, ms.Name)
			}
			if got := strings.Join(names, " "); got != c.want || impacts == 0 || result.impacts != ImpactsRebuilt {
				t.Errorf("segments %s, want %s; %d reports of impacts, %+v", got, c.want, impacts, result)
			}
			sameDocs(t, dump(t, ix), expect(t, docs[:n], Options{}))
		})
	}
}

// Errors of the clean-up join the error of the operation.
func TestCleanUpErrors(t *testing.T) {
	docs := randomDocs(134, 6, false)
	from := create(t, vfstest.NewMem(), Options{NoStored: true})
	check(t, commitChange(t.Context(), from, nil, docs))
	s, err := from.Snapshot()
	check(t, err)
	defer s.Release()
	src, err := s.Segments[0].Source(nil)
	check(t, err)
	t.Run("import", func(t *testing.T) {
		fsys := &failingFS{FS: vfstest.NewMem(), unlock: errUnlock}
		ix, err := Create(fsys, "ix", Options{NoStored: true})
		check(t, err)
		defer ix.Close()
		if _, err := ix.Import(t.Context(), src, ImportOptions{Threads: 1}); !errors.Is(err, errUnlock) {
			t.Errorf("error %v, want that of the lock", err)
		}
		sameDocs(t, dump(t, ix), expect(t, docs, Options{NoStored: true}))
	})
	t.Run("failed commit", func(t *testing.T) {
		fail := errors.New("injected into a source")
		fsys := &failingFS{FS: vfstest.NewMem()}
		ix, err := Create(fsys, "ix", Options{NoStored: true})
		check(t, err)
		defer ix.Close()
		ss, err := ix.begin()
		check(t, err)
		_, err = ss.apply(t.Context(), change{sources: []segment.Source{src}, threads: 1, failed: func() error {
			fsys.remove = errRemove
			return fail
		}})
		if !errors.Is(err, fail) || !errors.Is(err, errRemove) {
			t.Errorf("error %v, want those of the source and of the removal", err)
		}
		fsys.remove = nil
		check(t, ss.end())
	})
}

// A document that a source drops replaces no committed one.
func TestDroppedDocumentsReplaceNothing(t *testing.T) {
	docs := randomDocs(135, 6, false)
	from := create(t, vfstest.NewMem(), Options{NoStored: true})
	check(t, commitChange(t.Context(), from, nil, docs))
	s, err := from.Snapshot()
	check(t, err)
	defer s.Release()
	drop := segment.NewBitmap(len(docs))
	drop.Set(1)
	src, err := s.Segments[0].Source(drop)
	check(t, err)
	ix := create(t, vfstest.NewMem(), Options{NoStored: true})
	check(t, commitChange(t.Context(), ix, nil, docs[1:3]))
	report, err := ix.Import(t.Context(), src, ImportOptions{Threads: 1})
	check(t, err)
	if report.Docs != 5 || report.Replaced != 1 {
		t.Errorf("report %+v, want 5 documents, 1 replaced", report)
	}
	want := slices.Concat(docs[1:2], docs[:1], docs[2:])
	sameDocs(t, dump(t, ix), expect(t, want, Options{NoStored: true}))
}

// smallSegments has n commits of one document each, after one of first documents.
func smallSegments(t *testing.T, fsys vfs.FS, first, n int) (*Index, []corpus.Document) {
	t.Helper()
	ix, err := Create(fsys, "ix", Options{})
	check(t, err)
	var docs []corpus.Document
	for i := range first + n {
		docs = append(docs, corpus.Document{ID: fmt.Sprint("d", i), Text: fmt.Sprint("word w", i%7)})
	}
	check(t, commitChange(t.Context(), ix, nil, docs[:first]))
	for i := first; i < first+n; i++ {
		check(t, commitChange(t.Context(), ix, nil, docs[i:i+1]))
	}
	return ix, docs
}

// A deletion can make a segment small enough to be merged, without a new document.
func TestDeletionMergesSegments(t *testing.T) {
	ix, docs := smallSegments(t, vfstest.NewMem(), 1000, maxSimilarSegments)
	defer ix.Close()
	if got := sizeNow(t, ix).Segments; got != 1+maxSimilarSegments {
		t.Fatalf("%d segments before", got)
	}
	check(t, commitChange(t.Context(), ix, docs[:1], nil))
	if got := sizeNow(t, ix); got.Segments != 1 || got.Docs != 999+maxSimilarSegments || got.Deleted != 0 {
		t.Errorf("%+v, want one segment of the live documents", got)
	}
	sameDocs(t, dump(t, ix), expect(t, docs[1:], Options{}))
}

// A commit that reads damaged segments fails and changes nothing. It does not read those
// without a live document.
func TestCommitOfDamagedSegments(t *testing.T) {
	for name, c := range map[string]struct {
		first, small int
		remove       int
		add          bool
		want         error
	}{
		"mostly deleted":        {first: 6, remove: 4, want: base.ErrCorrupt},
		"deleted":               {first: 6, remove: 6},
		"merged":                {first: 1, small: maxSimilarSegments - 1, add: true, want: base.ErrCorrupt},
		"deleted, others merge": {first: 1, small: maxSimilarSegments - 1, remove: 1, add: true},
	} {
		t.Run(name, func(t *testing.T) {
			mem := vfstest.NewMem()
			ix, docs := smallSegments(t, mem, c.first, c.small)
			check(t, ix.Close())
			damageLengths(mem)
			ix, err := Open(mem, "ix")
			check(t, err)
			defer ix.Close()
			var add []corpus.Document
			if c.add {
				add = append(add, corpus.Document{ID: "new", Text: "word"})
			}
			names := mem.Names()
			err = commitChange(t.Context(), ix, docs[:c.remove], add)
			if !errors.Is(err, c.want) || c.want != nil && !slices.Equal(mem.Names(), names) {
				t.Fatalf("error %v, files %q, want %v and %q", err, mem.Names(), c.want, names)
			}
			if c.want == nil {
				sameDocs(t, dump(t, ix), expect(t, slices.Concat(docs[c.remove:], add), Options{}))
			}
		})
	}
}

// damageLengths changes a length of the first segment.
func damageLengths(mem *vfstest.Mem) {
	data := mem.Get("ix/seg-000001/lengths")
	data[64] ^= 1 // the first byte after the head
	mem.Set("ix/seg-000001/lengths", data)
}

// damagingFS damages the first segment's lengths before they are read.
type damagingFS struct{ *vfstest.Mem }

func (f damagingFS) Map(name string) (*vfs.Mapping, error) {
	if name == "ix/seg-000001/lengths" {
		damageLengths(f.Mem)
	}
	return f.Mem.Map(name)
}

// Each error of reordering ends the commit before the reordered segment is begun.
func TestReorderErrors(t *testing.T) {
	docs := randomDocs(136, 300, false)
	from := create(t, vfstest.NewMem(), Options{})
	check(t, commitChange(t.Context(), from, nil, docs))
	s, err := from.Snapshot()
	check(t, err)
	defer s.Release()
	src, err := s.Segments[0].Source(nil)
	check(t, err)
	for name, c := range map[string]struct {
		memory         int64
		damage, cancel bool
		want           error
	}{
		"too little memory": {memory: 1, want: base.ErrBadInput},
		"damaged segment":   {memory: DefaultMemoryBytes, damage: true, want: base.ErrCorrupt},
		"cancelled":         {memory: DefaultMemoryBytes, cancel: true, want: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			mem := vfstest.NewMem()
			var fsys vfs.FS = mem
			if c.damage {
				fsys = damagingFS{mem}
			}
			faulty := vfstest.NewFaulty(fsys, vfstest.Plan{})
			ix, err := Create(faulty, "ix", Options{})
			check(t, err)
			defer ix.Close()
			ss, err := ix.begin()
			check(t, err)
			_, err = ss.apply(ctx, change{
				sources: []segment.Source{src}, threads: 1, memoryBytes: c.memory, reorder: true,
				failed: func() error { return nil },
				progress: func(p Phase, _, _ int64) {
					if c.cancel && p == PhaseReordering {
						cancel()
					}
				},
			})
			if !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
			check(t, ss.end())
			for _, operation := range faulty.Operations() {
				if strings.Contains(operation, "seg-000002") {
					t.Fatalf("the reordered segment was begun: %s", operation)
				}
			}
		})
	}
}
