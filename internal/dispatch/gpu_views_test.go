package dispatch

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
)

func TestGPUOptionsCheck(t *testing.T) {
	for _, c := range []struct {
		o    GPUOptions
		want string // what the error names; "": there is none
	}{
		{GPUOptions{}, ""},
		{GPUOptions{Device: "0,1", Memory: "10%", HostMemory: "0", Share: 3}, ""},
		{GPUOptions{Device: "gpus", Memory: "1GiB", HostMemory: "1GiB"}, "gpus"},
		{GPUOptions{Device: "auto", Memory: "lots", HostMemory: "1GiB"}, "lots"},
		{GPUOptions{Device: "auto", Memory: "1GiB", HostMemory: "much"}, "much"},
		{GPUOptions{Device: "gpus", Memory: "lots", HostMemory: "much"}, "gpus"},
		{GPUOptions{Memory: "lots", HostMemory: "much"}, "lots"},
	} {
		err := c.o.Check()
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
}

// Several GPUs of a process share the page-locked memory.
func TestOpenGPUShares(t *testing.T) {
	t.Setenv(cuda.LibraryVariable, gputest.Library(t).Path())
	limit := func(share int) int64 {
		g, err := OpenGPU(GPUOptions{Device: "0", Memory: "1MiB", Share: share}, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		}()
		return g.Stats().Devices[0].Host.LimitBytes
	}
	if all, part := limit(0), limit(1000); part == 0 || part > all/100 {
		t.Errorf("%d bytes of page-locked memory alone, and %d as one of 1000", all, part)
	}
}

func TestListBytes(t *testing.T) {
	ix := segmentedIndex(t, 100, 1, 2)
	files, err := filepath.Glob(filepath.Join(ix.Dir(), "seg-*", "postings"))
	if err != nil || len(files) != 2 {
		t.Fatalf("files %v, %v", files, err)
	}
	var want int64
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		want += info.Size()
	}
	if got := ListBytes(indextest.Snapshot(t, ix)); got != want || want == 0 {
		t.Errorf("%d bytes of lists, want %d", got, want)
	}
}

// A GPU keeps the views of a snapshot while somebody holds the snapshot.
func TestGPUViewsOfSnapshots(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	ix := indextest.Write(t, index.Options{Analyzer: "whitespace"}, func(w *indextest.Writer) {
		for i := range 3 {
			w.AddText(i, "a b")
		}
	})
	w, err := ix.Writer(index.WriterOptions{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	var snapshots []*index.Snapshot
	made := map[*pipeline.View]bool{}
	for i := range 3 {
		if err := errors.Join(w.Delete(strconv.Itoa(i)), w.Commit(t.Context())); err != nil {
			t.Fatal(err)
		}
		s, err := ix.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		snapshots = append(snapshots, s)
		for j := range 2 * (i + 1) {
			s := snapshots[j%(i+1)]
			v, err := g.begin(s, false)
			if err != nil {
				t.Fatal(err)
			}
			g.end(v)
			if again := made[v]; again != (s != snapshots[i] || j > i) {
				t.Errorf("commit %d, use %d: view made before: %v", i, j, again)
			}
			made[v] = true
		}
	}
	if n := len(g.views.snapshots); n != 3 || len(made) != 3 {
		t.Errorf("views of %d snapshots, %d made; want 3", n, len(made))
	}
	for i, s := range snapshots {
		s.Release()
		g.views.wait()
		if n, want := len(g.views.snapshots), min(2-i, 2); n != max(want, 1) { // the last is the index's
			t.Errorf("after %d releases: views of %d snapshots", i+1, n)
		}
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	if g.views.wait(); len(g.views.snapshots) != 0 {
		t.Errorf("views of %d snapshots of a closed index", len(g.views.snapshots))
	}
}

// A GPU that is closed, or an index without impacts, has nothing to load.
func TestGPUWarmErrors(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	snapshot := indextest.Snapshot(t, segmentedIndex(t, 10, 1))
	if lists, total, err := g.Warm(t.Context(), snapshot, WarmOptions{Impacts: true}); err == nil || lists != 0 || total != 0 {
		t.Errorf("without impacts: %d of %d lists, %v", lists, total, err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if lists, total, err := g.Warm(t.Context(), snapshot, WarmOptions{}); !errors.Is(err, errGPUClosed) || lists != 0 || total != 0 {
		t.Errorf("of a GPU that is closed: %d of %d lists, %v", lists, total, err)
	}
}

// No GPU forgets nothing.
func TestNoGPUForgets(t *testing.T) {
	ix := segmentedIndex(t, 10, 1)
	var none *GPU
	none.Forget(ix)
	if indextest.Snapshot(t, ix).Retired() {
		t.Error("the index is retired")
	}
}
