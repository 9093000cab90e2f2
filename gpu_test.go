package griffin_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/sampletest"
)

const libraryVariable = "GRIFFIN_CUDA_LIBRARY"

// The answers are the CPU's before and after commits, and during Close.
func TestIndexOnGPU(t *testing.T) {
	t.Setenv(libraryVariable, gputest.Library(t).Path())
	ctx := t.Context()
	dir := filepath.Join(t.TempDir(), "index")
	runtime, err := griffin.NewRuntime(griffin.RuntimeOptions{
		GPU: griffin.GPUOptions{Device: "0", Memory: griffin.MemorySize{Bytes: 4 << 20}}, Policy: griffin.PolicyGPU, CostDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ix, err := griffin.Create(dir, griffin.Settings{}, griffin.Options{Runtime: runtime})
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
	search := func(policy griffin.Policy) *griffin.Results {
		t.Helper()
		r, err := ix.Search(ctx, griffin.Query{Text: "apples1 pears2 plums", Policy: policy, Count: true})
		if err != nil {
			t.Fatal(err)
		}
		r.Took = 0
		return r
	}
	compare := func() {
		t.Helper()
		got, want := search(""), search(griffin.PolicyCPU)
		if got.Traversal != griffin.TraversalGPU || want.Traversal == griffin.TraversalGPU || int(got.Matches) != got.NumDocs {
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
	compareCounts(t, ix, "+apples1 pears2 -pears3", "apples1 pears2")
	r, err := ix.Warm(ctx, griffin.WarmOptions{})
	if err != nil || r.Lists == 0 || r.Lists != r.Total {
		t.Errorf("warm: %+v, error %v", r, err)
	}
	compare()
	s, used := runtime.GPUStats()
	if !used || s.OnGPU != 10 || s.OnCPU != 10 || s.Devices[0].Lists == 0 {
		t.Errorf("used %t, %+v: want 10 queries on each processor", used, s)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				if _, err := ix.Search(context.Background(), griffin.Query{Text: "plums"}); err != nil {
					if !errors.Is(err, griffin.ErrClosed) {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	if err := errors.Join(ix.Close(), runtime.Close()); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if !gputest.OnGPU() {
		if report := gputest.Report(t); report != "" {
			t.Errorf("the emulator reports: %s", report)
		}
	}
}

// compareCounts counts in every mode on the GPU and on the CPU.
func compareCounts(t *testing.T, ix *griffin.Index, texts ...string) {
	t.Helper()
	for _, text := range texts {
		for _, mode := range []griffin.Mode{griffin.ModeOr, griffin.ModeAnd, griffin.ModeAndOr} {
			var n [2]int64
			for i, policy := range []griffin.Policy{"", griffin.PolicyCPU} {
				var err error
				if n[i], err = griffin.Count(t.Context(), ix, griffin.Query{Text: text, Mode: mode, Policy: policy}); err != nil {
					t.Fatal(err)
				}
			}
			if n[0] != n[1] || n[0] == 0 {
				t.Errorf("%s, %s: %d on the GPU, %d on the CPU", text, mode, n[0], n[1])
			}
		}
	}
}

const sharedWords = 24

// createWords returns an index in which each of sharedWords words is in two thirds of the documents.
func createWords(t *testing.T, r *griffin.Runtime, seed uint64) *griffin.Index {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	ix, err := griffin.Create(filepath.Join(t.TempDir(), "index"), griffin.Settings{NoStored: true, NoPositions: true, Fields: []string{}}, griffin.Options{Runtime: r})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ix.Close() })
	for i := range 600 {
		var text strings.Builder
		for w := range sharedWords {
			if rng.IntN(3) > 0 {
				fmt.Fprintf(&text, "w%d ", w)
			}
		}
		if err := ix.Add(t.Context(), griffin.Document{ID: fmt.Sprint(i), Text: text.String()}); err != nil {
			t.Fatal(err)
		}
	}
	if err := ix.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return ix
}

// The GPU has memory for one and a half of the indexes. Each gets its lists there. Closing one frees its lists and does
// not disturb the other.
func TestTwoIndexesShareAGPU(t *testing.T) {
	t.Setenv(libraryVariable, gputest.Library(t).Path())
	ctx := t.Context()
	const numWords = sharedWords
	create := func(r *griffin.Runtime, seed uint64) *griffin.Index { return createWords(t, r, seed) }
	newGPU := func(bytes int64) *griffin.Runtime {
		return newRuntime(t, griffin.RuntimeOptions{
			GPU:    griffin.GPUOptions{Device: "0", Memory: griffin.MemorySize{Bytes: bytes}, NoHostMemory: true},
			Policy: griffin.PolicyGPU, CostDir: t.TempDir(),
		})
	}
	resident := func(r *griffin.Runtime) int64 {
		s, _ := r.GPUStats()
		return s.Devices[0].SizeBytes
	}
	// The lists of one index, measured with room for all of them.
	roomy := newGPU(64 << 20)
	one := create(roomy, 1)
	if r, err := one.Warm(ctx, griffin.WarmOptions{}); err != nil || r.Lists != numWords {
		t.Fatalf("warm: %+v, %v", r, err)
	}
	size := resident(roomy)
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if left := resident(roomy); left != 0 {
		t.Errorf("a closed index holds %d bytes of %d", left, size)
	}

	shared := newGPU(size * 3 / 2)
	indexes := []*griffin.Index{create(shared, 1), create(shared, 2)}
	ask := func(ix *griffin.Index, i int) (onGPU bool) {
		q := griffin.Query{Text: fmt.Sprintf("w%d w%d w%d", i%numWords, i*5%numWords, i*7%numWords), Mode: []griffin.Mode{griffin.ModeOr, griffin.ModeAnd}[i%2], K: 5}
		got, err := ix.Search(ctx, q)
		if err != nil {
			t.Error(err)
			return false
		}
		q.Policy = griffin.PolicyCPU
		want, err := ix.Search(ctx, q)
		if err != nil || !reflect.DeepEqual(got.Hits, want.Hits) {
			t.Errorf("%s: %+v, on the CPU %+v, %v", q.Text, got.Hits, want.Hits, err)
		}
		return got.Traversal == "gpu"
	}
	// One at a time, no query waits, so that no CPU helps.
	for i := range sharedWords {
		for n, ix := range indexes {
			if !ask(ix, i) {
				t.Errorf("search %d of index %d runs on the CPU", i, n)
			}
		}
	}
	// Several at a time form batches, and idle CPUs answer queries of a batch while lists are brought to the GPU.
	searches := sampletest.UnderRace(120, 30)
	var wg sync.WaitGroup
	for _, ix := range indexes {
		for g := range 2 {
			wg.Go(func() {
				for i := range searches / 2 {
					ask(ix, i+g*searches)
				}
			})
		}
	}
	wg.Wait()
	both := resident(shared)
	if err := indexes[0].Close(); err != nil {
		t.Fatal(err)
	}
	if left := resident(shared); left >= both || left > size {
		t.Errorf("%d bytes are resident after closing one of two indexes, %d before", left, both)
	}
	if r, err := indexes[1].Warm(ctx, griffin.WarmOptions{}); err != nil || r.Lists != r.Total {
		t.Errorf("the other index has room for all lists: %+v, %v", r, err)
	}
	for i := range 10 {
		if !ask(indexes[1], i) {
			t.Error("a search of the other index runs on the CPU")
		}
	}
	if err := indexes[1].Close(); err != nil {
		t.Error(err)
	}
}

// An index that filled the GPU's memory and is idle makes room for another one, and batches of one do not
// keep single searches of the other waiting.
func TestIndexesShareAGPUFairly(t *testing.T) {
	t.Setenv(libraryVariable, gputest.Library(t).Path())
	ctx := t.Context()
	newGPU := func(bytes int64) *griffin.Runtime {
		return newRuntime(t, griffin.RuntimeOptions{
			GPU:    griffin.GPUOptions{Device: "0", Memory: griffin.MemorySize{Bytes: bytes}, NoHostMemory: true},
			Policy: griffin.PolicyGPU, CostDir: t.TempDir(),
		})
	}
	device := func(r *griffin.Runtime) griffin.GPUDeviceStats {
		s, _ := r.GPUStats()
		return s.Devices[0]
	}
	roomy := newGPU(64 << 20)
	one := createWords(t, roomy, 1)
	if _, err := one.Warm(ctx, griffin.WarmOptions{}); err != nil {
		t.Fatal(err)
	}
	shared := newGPU(device(roomy).SizeBytes * 5 / 4)
	idle, busy := createWords(t, shared, 1), createWords(t, shared, 2)
	if r, err := idle.Warm(ctx, griffin.WarmOptions{}); err != nil || r.Lists != r.Total {
		t.Fatalf("warm: %+v, %v", r, err)
	}
	ask := func(ix *griffin.Index, i int) {
		if _, err := ix.Search(ctx, griffin.Query{Text: fmt.Sprintf("w%d", i%sharedWords), K: 5}); err != nil {
			t.Error(err)
		}
	}
	for i := range 4 * sharedWords {
		ask(busy, i)
	}
	before := device(shared)
	for i := range sharedWords {
		ask(busy, i)
	}
	if after := device(shared); after.Misses-before.Misses > sharedWords/8 || after.Evictions == 0 {
		t.Errorf("the lists of the busy index are not resident: %d of %d lists were missing, %d evictions", after.Misses-before.Misses, sharedWords, after.Evictions)
	}

	var queries []griffin.Query
	for i := range 32 {
		queries = append(queries, griffin.Query{Text: fmt.Sprintf("w%d w%d", i%sharedWords, i*7%sharedWords), K: 5})
	}
	var group sync.WaitGroup
	var ended atomic.Bool
	for range 5 { // more than the GPU has lanes
		group.Go(func() {
			for !ended.Load() {
				if _, err := idle.SearchBatch(ctx, queries); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 4 {
		from := device(shared).Launches
		ask(busy, i)
		if launches := device(shared).Launches - from; launches > 40 {
			t.Errorf("search %d waited for %d launches", i, launches)
		}
	}
	ended.Store(true)
	group.Wait()
}

func TestNoSuchDevice(t *testing.T) {
	t.Setenv(libraryVariable, "/nowhere/libcuda.so.1")
	options := func(device string) griffin.RuntimeOptions {
		return griffin.RuntimeOptions{GPU: griffin.GPUOptions{Device: device}, CostDir: t.TempDir()}
	}
	if _, err := griffin.NewRuntime(options("gpu")); err == nil {
		t.Error("a GPU opened without a driver")
	}
	runtime, err := griffin.NewRuntime(options("auto"))
	if err != nil {
		t.Fatal(err)
	}
	if _, used := runtime.GPUStats(); used {
		t.Error("there is a GPU without a driver")
	}
	if err := runtime.Close(); err != nil {
		t.Error(err)
	}
}
