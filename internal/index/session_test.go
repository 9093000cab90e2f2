package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// Each operation fails while a writer of a new index gives up: it removes its files.
func TestGivenUpIndex(t *testing.T) {
	t.Parallel()
	run := func(top string, plan vfstest.Plan) (*vfstest.Faulty, error) {
		faulty := vfstest.NewFaulty(vfs.OS, plan)
		ix, err := Create(faulty, filepath.Join(top, "a", "b", "index"), Options{})
		if err != nil {
			return faulty, err
		}
		defer ix.Close()
		w, err := ix.Writer(WriterOptions{})
		if err != nil {
			return faulty, err
		}
		return faulty, errors.Join(w.Add(&corpus.Document{ID: "a", Text: "b"}), w.Close())
	}
	whole, err := run(t.TempDir(), vfstest.Plan{})
	check(t, err)
	var unnoticed []string
	for at := 1; at <= whole.Ops(); at++ {
		top := t.TempDir()
		faulty, err := run(top, vfstest.Plan{FailAt: at, Once: true})
		what, path, _ := strings.Cut(faulty.Operations()[at-1], " ")
		path, relErr := filepath.Rel(top, path)
		check(t, relErr)
		operation := what + " " + filepath.ToSlash(path)
		if err == nil {
			unnoticed = append(unnoticed, operation)
		} else if !errors.Is(err, vfstest.ErrInjected) {
			t.Errorf("%s failed: error %v, want the injected one", operation, err)
		}
		if open := faulty.StillOpen(); len(open) > 0 {
			t.Errorf("%s failed: %q are still open", operation, open)
		}
		names, err := os.ReadDir(top)
		check(t, err)
		if len(names) > 0 && what != "remove" && what != "readdir" && what != "stat" && what != "mkdir" && what != "sync" {
			t.Errorf("%s failed: %v was left behind", operation, names[0])
		}
	}
	want := []string{"stat a/b/index", "stat a/b", "stat a", "stat .", "readdir a/b/index", "remove a/b/index", "remove a/b", "remove a"}
	if !slices.Equal(unnoticed, want) {
		t.Errorf("failures of %q were unnoticed, want %q", unnoticed, want)
	}
}

// The lock's file stays in a folder with other content.
func TestGivenUpIndexInUse(t *testing.T) {
	mem := vfstest.NewMem()
	ix, err := Create(mem, "ix", Options{})
	check(t, err)
	w := newWriter(t, ix)
	mem.Set("ix/letter.txt", []byte("dear"))
	check(t, w.Close())
	if got := mem.Names(); !slices.Equal(got, []string{"ix/LOCK", "ix/letter.txt"}) {
		t.Errorf("files %q", got)
	}
}

// Each operation fails while a writer removes leftovers of all kinds. Other files stay.
func TestLeftovers(t *testing.T) {
	prepared := vfstest.NewMem()
	ix, err := Create(prepared, "ix", Options{})
	check(t, err)
	check(t, commitChange(t.Context(), ix, nil, randomDocs(90, 3, false)))
	check(t, ix.Close())
	kept := []string{"ix/impacts-000001", "ix/letter.txt", "ix/seg-1"}
	for _, name := range kept {
		prepared.Set(name, []byte("x"))
	}
	want := prepared.Names()
	for _, name := range []string{manifestTemp, tempName + "/stored", "seg-000009/ids", "seg-000001.live-000001", impactsTemp, "impacts-000002", cost.FileName + ".0123456789abcdef.tmp"} {
		prepared.Set("ix/"+name, []byte("x"))
	}
	run := func(fsys vfs.FS) error {
		ix, err := Open(fsys, "ix")
		if err != nil {
			return err
		}
		defer ix.Close()
		w, err := ix.Writer(WriterOptions{})
		if err != nil {
			return err
		}
		return w.Close()
	}
	mem := prepared.Clone()
	whole := vfstest.NewFaulty(mem, vfstest.Plan{})
	check(t, run(whole))
	if got := mem.Names(); !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
	if sync, remove := slices.Index(whole.Operations(), "sync ix"), slices.Index(whole.Operations(), "remove ix/"+manifestTemp); sync < 0 || sync > remove {
		t.Errorf("leftovers are removed before the commit is durable: %q", whole.Operations())
	}
	for at := 1; at <= whole.Ops(); at++ {
		faulty := vfstest.NewFaulty(prepared.Clone(), vfstest.Plan{FailAt: at, Once: true})
		err := run(faulty)
		if operation := faulty.Operations()[at-1]; !errors.Is(err, vfstest.ErrInjected) && operation != "stat ix/MANIFEST" {
			t.Errorf("%s failed: error %v, want the injected one", operation, err)
		}
		if open := faulty.StillOpen(); len(open) > 0 {
			t.Errorf("operation %d failed: %q are still open", at, open)
		}
	}
}

// A handle of an index that another one replaced never writes to that one.
func TestSecondCreatorNeverWrites(t *testing.T) {
	mem := vfstest.NewMem()
	first, err := Create(mem, "ix", Options{})
	check(t, err)
	second, err := Create(mem, "ix", Options{})
	check(t, err)
	check(t, commitChange(t.Context(), first, nil, randomDocs(91, 3, false)))
	for range 2 {
		if _, err := second.Writer(WriterOptions{}); !errors.Is(err, base.ErrExists) {
			t.Errorf("error %v, want ErrExists", err)
		}
	}
	s, err := second.Snapshot()
	check(t, err)
	defer s.Release()
	if s.Generation != 0 {
		t.Errorf("it shows generation %d of the other", s.Generation)
	}
}

func TestWriterAfterClose(t *testing.T) {
	ix := create(t, vfstest.NewMem(), Options{})
	w := newWriter(t, ix)
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	d := corpus.Document{ID: "a", Text: "b"}
	for name, err := range map[string]error{"Add": w.Add(&d), "Delete": w.Delete("a"), "Commit": w.Commit(t.Context()), "Rollback": w.Rollback()} {
		if !errors.Is(err, base.ErrClosed) {
			t.Errorf("%s after Close: error %v, want ErrClosed", name, err)
		}
	}
	check(t, w.Close())
	check(t, ix.Close())
	check(t, ix.Close())
	_, snapshotErr := ix.Snapshot()
	_, refreshErr := ix.Refresh()
	_, writerErr := ix.Writer(WriterOptions{})
	_, planErr := ix.Merge(t.Context(), MergeOptions{DryRun: true})
	for name, err := range map[string]error{"Snapshot": snapshotErr, "Refresh": refreshErr, "Writer": writerErr, "Merge": planErr} {
		if !errors.Is(err, base.ErrClosed) {
			t.Errorf("%s after Index.Close: error %v, want ErrClosed", name, err)
		}
	}
}

// Rollback, like Commit, removes temporary files, and later changes are committed.
func TestRollback(t *testing.T) {
	mem := vfstest.NewMem()
	ix, err := Create(mem, "ix", Options{})
	check(t, err)
	w := newWriter(t, ix)
	check(t, w.Commit(t.Context()))
	docs := randomDocs(92, 4, false)
	temporary := func() bool {
		return slices.ContainsFunc(mem.Names(), func(name string) bool { return strings.HasPrefix(name, "ix/tmp") })
	}
	for i := range docs {
		check(t, w.Add(&docs[i]))
		if !temporary() {
			t.Fatal("no temporary file, the test needs one")
		}
		if i%2 == 0 {
			check(t, w.Rollback())
		} else {
			check(t, w.Commit(t.Context()))
		}
		if temporary() {
			t.Error("a temporary file was left behind")
		}
	}
	if err := w.Add(&corpus.Document{ID: "a", Text: "\xff"}); !errors.Is(err, base.ErrBadInput) || temporary() {
		t.Errorf("invalid UTF-8: error %v", err)
	}
	check(t, w.Close())
	sameDocs(t, dump(t, ix), expect(t, []corpus.Document{docs[1], docs[3]}, Options{}))
}

// An error of a source that has no error result ends a commit.
func TestFailedSource(t *testing.T) {
	fail := errors.New("injected into a source")
	from := create(t, vfstest.NewMem(), Options{})
	check(t, commitChange(t.Context(), from, nil, randomDocs(93, 5, false)))
	s, err := from.Snapshot()
	check(t, err)
	defer s.Release()
	for _, committed := range []int{0, 3} {
		for at := 1; ; at++ {
			mem := vfstest.NewMem()
			ix, err := Create(mem, "ix", Options{})
			check(t, err)
			if committed > 0 {
				check(t, commitChange(t.Context(), ix, nil, randomDocs(94, committed, false)))
			}
			generation := ix.currentManifest().Generation
			src, err := s.Segments[0].Source(nil)
			check(t, err)
			ss, err := ix.begin()
			check(t, err)
			calls := 0
			_, err = ss.apply(t.Context(), change{sources: []segment.Source{src}, threads: 1, failed: func() error {
				if calls++; calls == at {
					return fail
				}
				return nil
			}})
			check(t, ss.end())
			if calls < at {
				if check(t, err); at < 2 {
					t.Errorf("%d documents: errors are never asked for", committed)
				}
				break
			}
			if !errors.Is(err, fail) || ix.currentManifest().Generation != generation || len(leftBehind(t, mem)) > 0 {
				t.Errorf("%d documents, call %d fails: error %v, files %q", committed, at, err, mem.Names())
			}
		}
	}
}

// The reader is closed once, whatever fails.
func TestBuildClosesReader(t *testing.T) {
	docs := randomDocs(95, 5, false)
	for name, c := range map[string]struct {
		before  func(ix *Index) error
		options BuildOptions
		cancel  bool
		want    error
	}{
		"success":   {},
		"options":   {options: BuildOptions{Reorder: "best"}, want: base.ErrBadInput},
		"locked":    {before: func(ix *Index) error { _, err := ix.begin(); return err }, want: base.ErrLocked},
		"closed":    {before: (*Index).Close, want: base.ErrClosed},
		"cancelled": {cancel: true, want: context.Canceled},
		"memory":    {options: BuildOptions{MemoryBytes: 1}, want: base.ErrBadInput},
	} {
		ix := create(t, vfstest.NewMem(), Options{})
		if c.before != nil {
			check(t, c.before(ix))
		}
		ctx, cancel := context.WithCancel(t.Context())
		if c.cancel {
			cancel()
		}
		reader := &memoryReader{docs: docs, batch: 2, closed: make(chan struct{})}
		_, err := ix.Build(ctx, reader, c.options)
		if !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
		<-reader.closed // a second Close panics
		cancel()
	}
	ix := create(t, vfstest.NewMem(), Options{})
	if _, err := ix.Build(t.Context(), failingCloser{&memoryReader{}}, BuildOptions{Reorder: "best"}); !errors.Is(err, errCloser) || !errors.Is(err, base.ErrBadInput) {
		t.Errorf("error %v, want both", err)
	}
}

var errCloser = errors.New("injected into Close")

type failingCloser struct{ corpus.Reader }

func (failingCloser) Close() error { return errCloser }

// Temporary files of a build that spills are closed.
func TestSpillFilesAreClosed(t *testing.T) {
	sampletest.SkipRace(t)
	t.Parallel()
	docs := make([]corpus.Document, 200)
	for i := range docs {
		var b strings.Builder
		for j := range 3000 {
			fmt.Fprintf(&b, "unique%dx%dlonger ", i, j)
		}
		docs[i] = corpus.Document{ID: fmt.Sprint(i), Text: b.String()}
	}
	for _, cancelled := range []bool{false, true} {
		faulty := vfstest.NewFaulty(vfs.OS, vfstest.Plan{})
		ix, err := Create(faulty, filepath.Join(t.TempDir(), "index"), Options{NoStored: true, Analyzer: "whitespace", Fields: []string{}})
		check(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		reader := &memoryReader{docs: docs, batch: 10, next: func(at int) {
			if cancelled && at == len(docs) {
				cancel()
			}
		}}
		report, err := ix.Build(ctx, reader, BuildOptions{MemoryBytes: minMemoryBytes, Threads: 1})
		cancel()
		if cancelled != errors.Is(err, context.Canceled) || !cancelled && report.Spilled == 0 {
			t.Errorf("error %v, %d of %d partial indexes spilled, the test needs some", err, report.Spilled, report.Partials)
		}
		check(t, ix.Close())
		if open := faulty.StillOpen(); len(open) > 0 {
			t.Errorf("cancelled: %t: %q are still open", cancelled, open)
		}
	}
}
