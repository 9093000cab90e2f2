package griffin_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"sync"
	"testing"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// libraryVariable names the driver.
const libraryVariable = "GRIFFIN_CUDA_LIBRARY"

// An index on a GPU gives the results of the CPU, before and after commits that add
// and delete documents, and while it is being closed.
func TestIndexOnGPU(t *testing.T) {
	t.Setenv(libraryVariable, gputest.Library(t).Path())
	ctx := t.Context()
	dir := filepath.Join(t.TempDir(), "index")
	ix, err := griffin.Create(dir, griffin.WithDevice("0"), griffin.WithGPUMemory("4MiB"), griffin.WithPolicy("gpu"))
	if err != nil {
		t.Fatal(err)
	}
	next := 0
	add := func(n int) {
		t.Helper()
		for range n {
			doc := griffin.Document{ID: fmt.Sprint("d", next), Title: fmt.Sprint("number ", next), Text: fmt.Sprintf("apples%d pears%d and plums", next%3, next%5)}
			if err := ix.Add(ctx, doc); err != nil {
				t.Fatal(err)
			}
			next++
		}
	}
	search := func(opts ...griffin.SearchOption) *griffin.Results {
		t.Helper()
		r, err := ix.Search(ctx, "apples1 pears2 plums", append(opts, griffin.WithCount())...)
		if err != nil {
			t.Fatal(err)
		}
		r.Took = 0
		return r
	}
	compare := func() {
		t.Helper()
		got, want := search(), search(griffin.WithCPU())
		if got.Traversal != "gpu" || want.Traversal == "gpu" || int(got.Matches) != got.NumDocs {
			t.Fatalf("%s on the GPU, %s on the CPU, %d matches in %d documents", got.Traversal, want.Traversal, got.Matches, got.NumDocs)
		}
		want.Traversal = got.Traversal
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("the GPU has\n%+v, the CPU\n%+v", got, want)
		}
	}
	for range 3 {
		add(40)
		if err := errors.Join(ix.Delete(ctx, fmt.Sprint("d", next-7)), ix.Commit(ctx)); err != nil {
			t.Fatal(err)
		}
		compare()
	}
	r, err := ix.Warm(ctx, griffin.WarmOptions{})
	if err != nil || r.Lists == 0 || r.Lists != r.Total {
		t.Errorf("warm: %+v, error %v", r, err)
	}
	compare()
	s, used := ix.GPUStats()
	if !used || s.OnGPU != 4 || s.OnCPU != 4 || s.Devices[0].Lists == 0 {
		t.Errorf("used %t, %+v: want 4 queries on each processor", used, s)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				if _, err := ix.Search(context.Background(), "plums"); err != nil {
					if !errors.Is(err, griffin.ErrClosed) {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	if err := ix.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if !gputest.OnGPU() {
		if report := gputest.Report(t); report != "" {
			t.Errorf("the emulator reports: %s", report)
		}
	}
}

// A device that there is not, or that cannot be read, is an error of Open.
func TestNoSuchDevice(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	t.Setenv(libraryVariable, "/nowhere/libcuda.so.1")
	if _, err := griffin.Create(dir, griffin.WithDevice("gpu")); err == nil {
		t.Error("a GPU was opened without a driver")
	}
	ix, err := griffin.Create(dir, griffin.WithDevice("auto"))
	if err != nil {
		t.Fatal(err)
	}
	if _, used := ix.GPUStats(); used {
		t.Error("there is a GPU without a driver")
	}
	if err := ix.Close(); err != nil {
		t.Error(err)
	}
	for _, o := range []griffin.Option{griffin.WithDevice("fast"), griffin.WithGPUMemory("some")} {
		if _, err := griffin.Create(dir, o); !errors.Is(err, griffin.ErrBadInput) {
			t.Errorf("error %v, want ErrBadInput", err)
		}
	}
}
