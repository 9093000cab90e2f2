package index

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

func build(t testing.TB, docs []corpus.Document, opts Options, b BuildOptions) (*Index, Report) {
	t.Helper()
	ix, err := Create(vfs.OS, filepath.Join(t.TempDir(), "index"), opts)
	if err != nil {
		t.Fatal(err)
	}
	report, err := ix.Build(t.Context(), &memoryReader{docs: docs, batch: 37}, b)
	if err != nil {
		t.Fatal(err)
	}
	verify(t, ix)
	return ix, report
}

func verify(t testing.TB, ix *Index) {
	t.Helper()
	s, err := ix.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	if err := s.Verify(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}

// The manifest names all files.
func checkClean(t testing.TB, fsys vfs.FS, dir string) {
	t.Helper()
	m, err := loadManifest(fsys, dir)
	if err != nil {
		t.Fatal(err)
	}
	names, err := fsys.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	keep := m.names()
	for _, name := range names {
		if !keep[name] {
			t.Errorf("%s was left behind", name)
		}
	}
}

// For any threads, memory and batches.
func TestBuildAgainstOracle(t *testing.T) {
	docs := randomDocs(10, sampletest.UnderRace(4000, 500), true)
	for _, c := range []struct {
		opts Options
		b    BuildOptions
	}{
		{Options{}, BuildOptions{Threads: 1}},
		{Options{Positions: true, Fields: []string{"title", "author"}}, BuildOptions{Threads: 4, MemoryBytes: minMemoryBytes}},
		{Options{NoStored: true, Analyzer: "simple", Codec: "raw", Fields: []string{}}, BuildOptions{Threads: 3}},
		{Options{Positions: true}, BuildOptions{Reorder: ReorderBP}},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			ix, report := build(t, docs, c.opts, c.b)
			defer ix.Close()
			got, want := dump(t, ix), expect(t, docs, c.opts)
			if c.b.Reorder == ReorderBP {
				if slices.EqualFunc(got, want, func(a, b indexedDoc) bool { return a.ID == b.ID }) {
					t.Error("reordering changed nothing")
				}
				got, want = byID(got), byID(want)
			}
			sameDocs(t, got, want)
			if int(report.Docs) != len(want) || int(report.Duplicates) != len(docs)-len(want) {
				t.Errorf("report %+v, want %d documents", report, len(want))
			}
			checkClean(t, vfs.OS, ix.Dir())
		})
	}
}

// For any threads, memory and batches.
func TestBuildSameBytes(t *testing.T) {
	docs := randomDocs(11, 6000, true)
	files := func(batch int, b BuildOptions) map[string]string {
		mem := vfstest.NewMem()
		ix, err := Create(mem, "ix", Options{Positions: true, NoStored: true})
		if err != nil {
			t.Fatal(err)
		}
		report, err := ix.Build(t.Context(), &memoryReader{docs: docs, batch: batch}, b)
		if err != nil {
			t.Fatal(err)
		}
		if b.MemoryBytes == minMemoryBytes && report.Partials < 2 {
			t.Fatalf("%d partial indexes, the test needs several", report.Partials)
		}
		out := map[string]string{}
		for _, name := range mem.Names() {
			if strings.Contains(name, "seg-") {
				out[name] = string(mem.Get(name))
			}
		}
		return out
	}
	want := files(100, BuildOptions{Threads: 1, MemoryBytes: minMemoryBytes})
	for _, b := range []BuildOptions{{Threads: 2}, {Threads: 7, MemoryBytes: minMemoryBytes}} {
		got := files(41, b)
		for name, data := range want {
			if got[name] != data {
				t.Errorf("%+v: %s differs", b, name)
			}
		}
	}
}

func TestBuildSpills(t *testing.T) {
	sampletest.SkipRace(t) // internal/inverter spills under the race detector
	docs := randomDocs(12, 400, true)
	for i := range docs {
		var b strings.Builder
		for j := range 2000 {
			fmt.Fprintf(&b, "unique%dx%d ", i, j)
		}
		docs[i].Text += b.String()
	}
	opts := Options{Positions: true, Analyzer: "whitespace"}
	ix, report := build(t, docs, opts, BuildOptions{MemoryBytes: minMemoryBytes, Threads: 2})
	defer ix.Close()
	if report.Spilled == 0 || report.Spilled == report.Partials {
		t.Errorf("%d of %d partial indexes were spilled, want some", report.Spilled, report.Partials)
	}
	sameDocs(t, dump(t, ix), expect(t, docs, opts))
}

func TestBuildEmptyCorpus(t *testing.T) {
	ix, report := build(t, nil, Options{}, BuildOptions{})
	if report.Docs != 0 || len(dump(t, ix)) != 0 {
		t.Errorf("report %+v of no documents", report)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(vfs.OS, ix.Dir())
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func TestBuildDuplicates(t *testing.T) {
	var docs []corpus.Document
	for i, id := range []string{"a", "b", "a", "c", "a", "b"} {
		docs = append(docs, corpus.Document{ID: id, Text: fmt.Sprint("text", i), Source: corpus.Location{File: "f", Line: int64(i + 1)}})
	}
	var told []string
	ix, report := build(t, docs, Options{}, BuildOptions{OnDuplicate: func(id string, earlier, later corpus.Location) {
		told = append(told, fmt.Sprintf("%s %v %v", id, earlier, later))
	}})
	defer ix.Close()
	want := []string{"a f:1 f:5", "b f:2 f:6", "a f:3 f:5"}
	if !slices.Equal(told, want) || report.Duplicates != 3 || report.Docs != 3 {
		t.Errorf("told %q, report %+v; want %q", told, report, want)
	}
	sameDocs(t, dump(t, ix), expect(t, docs, Options{}))
}

func TestBuildAgain(t *testing.T) {
	first, second := randomDocs(13, 500, false), randomDocs(14, 700, false)[300:]
	ix, _ := build(t, first, Options{}, BuildOptions{})
	defer ix.Close()
	report, err := ix.Build(t.Context(), &memoryReader{docs: second, batch: 10}, BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Replaced != 200 || report.Docs != 400 {
		t.Errorf("report %+v, want 200 of 400 replaced", report)
	}
	verify(t, ix)
	sameDocs(t, dump(t, ix), expect(t, slices.Concat(first, second), Options{}))
	checkClean(t, vfs.OS, ix.Dir())
}

func TestBuildBadRecords(t *testing.T) {
	docs := randomDocs(15, 300, false)
	docs[77].ID = ""
	bad := map[int]error{5: errors.New("syntax"), 200: errors.New("encoding")}
	var told []string
	try := func(maxErrors int) (Report, error) {
		told = nil
		ix, err := Create(vfs.OS, filepath.Join(t.TempDir(), "index"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer ix.Close()
		return ix.Build(t.Context(), &memoryReader{docs: docs, batch: 10, bad: bad}, BuildOptions{
			Threads: 1, MaxErrors: maxErrors,
			OnBadRecord: func(e *corpus.RecordError) { told = append(told, e.Error()) },
		})
	}
	for _, limit := range []int{-1, 3} {
		report, err := try(limit)
		want := []string{"file-0:6: syntax", "file-0:78: empty document id: bad input", "file-0:201: encoding"}
		if err != nil || report.BadRecords != 3 || report.Docs != 297 || !slices.Equal(told, want) {
			t.Errorf("limit %d: report %+v, error %v, told %q", limit, report, err, told)
		}
	}
	for limit, text := range map[int]string{
		0: "bad record: file-0:6: syntax",
		2: "more than 2 bad records, the first: file-0:6: syntax",
	} {
		_, err := try(limit)
		var tooMany *inverter.TooManyErrors
		if !errors.As(err, &tooMany) || !errors.Is(err, base.ErrBadInput) || err.Error() != text || tooMany.Limit != limit {
			t.Errorf("limit %d: error %v, want %q", limit, err, text)
		}
	}
}

// The earlier state, or no index, stays, and no temporary files.
func TestBuildCancelled(t *testing.T) {
	docs := randomDocs(16, 3000, true)
	for _, committed := range []bool{false, true} {
		for at := 0; at <= len(docs); at += sampletest.UnderRace(500, 1500) {
			dir := filepath.Join(t.TempDir(), "index")
			ix, err := Create(vfs.OS, dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if committed {
				if _, err := ix.Build(t.Context(), &memoryReader{docs: docs[:100], batch: 10}, BuildOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			_, err = ix.Build(ctx, &memoryReader{docs: docs, batch: 10, next: func(now int) {
				if now >= at {
					cancel()
				}
			}}, BuildOptions{MemoryBytes: minMemoryBytes})
			cancel()
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("error %v, want context.Canceled", err)
			}
			if !committed {
				if _, err := Open(vfs.OS, dir); !errors.Is(err, base.ErrNotIndex) {
					t.Errorf("cancelled first build: Open says %v, want ErrNotIndex", err)
				}
				if names, _ := vfs.OS.ReadDir(dir); len(names) > 0 && !slices.Equal(names, []string{lockName}) {
					t.Errorf("cancelled first build left %q", names)
				}
			} else {
				checkClean(t, vfs.OS, dir)
				sameDocs(t, dump(t, ix), expect(t, docs[:100], Options{}))
			}
			ix.Close()
		}
	}
}

// It does not wait for blocked input.
func TestBuildCancelledWhileReading(t *testing.T) {
	ix := create(t, vfs.OS, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	blocked, let := make(chan struct{}), make(chan struct{})
	reader := &memoryReader{docs: randomDocs(16, 100, false), batch: 10, next: func(at int) {
		if at == 50 {
			close(blocked)
			<-let
		}
	}, closed: make(chan struct{})}
	go func() {
		<-blocked
		cancel()
	}()
	if _, err := ix.Build(ctx, reader, BuildOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	close(let)
	<-reader.closed
}

func TestBuildReaderFails(t *testing.T) {
	ix, err := Create(vfs.OS, filepath.Join(t.TempDir(), "index"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	fail := errors.New("the tape broke")
	_, err = ix.Build(t.Context(), &memoryReader{docs: randomDocs(17, 50, false), batch: 10, fail: fail}, BuildOptions{})
	if !errors.Is(err, fail) {
		t.Errorf("error %v, want %v", err, fail)
	}
}

func TestBuildProgress(t *testing.T) {
	var mu sync.Mutex
	var last Progress
	docs := randomDocs(18, sampletest.UnderRace(3000, 600), false)
	build(t, docs, Options{}, BuildOptions{Reorder: ReorderBP, Progress: func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		last = p
	}})
	mu.Lock()
	defer mu.Unlock()
	if last.Phase != PhaseWriting || last.Docs != int64(len(docs)) || last.Bytes == 0 || last.Fraction != 1 {
		t.Errorf("last progress %+v", last)
	}
}

func TestBuildOptionsRefused(t *testing.T) {
	for _, o := range []BuildOptions{{MemoryBytes: 1000}, {Reorder: "best"}} {
		ix, err := Create(vfs.OS, filepath.Join(t.TempDir(), "index"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ix.Build(t.Context(), &memoryReader{batch: 1}, o); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%+v: error %v, want ErrBadInput", o, err)
		}
	}
}
