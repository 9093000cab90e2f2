package griffin_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

func newRuntime(t *testing.T, o griffin.RuntimeOptions) *griffin.Runtime {
	t.Helper()
	r, err := griffin.NewRuntime(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// A Runtime keeps the calibration in its CostDir across commits. Opening an index writes nothing. A
// damaged file is not an error.
func TestCalibrate(t *testing.T) {
	griffin.ShortCalibration(t, 200)
	ctx := t.Context()
	dir := filepath.Join(t.TempDir(), "index")
	file := filepath.Join(dir, "costs.json")
	runtime := newRuntime(t, griffin.RuntimeOptions{CostDir: dir})
	ix, err := griffin.Create(dir, griffin.Settings{}, griffin.Options{Runtime: runtime})
	if err != nil {
		t.Fatal(err)
	}
	add := func() {
		t.Helper()
		for i := range 50 {
			if err := ix.Add(ctx, griffin.Document{ID: fmt.Sprint("d", i), Text: fmt.Sprintf("apples%d pears%d and plums", i%3, i%5)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := ix.Commit(ctx); err != nil {
			t.Fatal(err)
		}
	}
	add()
	if _, err := os.Stat(file); err == nil || !ix.Calibrated() {
		t.Error("calibrated without a GPU")
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := ix.Calibrate(cancelled, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a cancelled calibration was saved")
	}
	queries := int64(0)
	if err := ix.Calibrate(ctx, func(done, _ int64) { queries = done }); err != nil || queries == 0 {
		t.Errorf("%d queries, %v", queries, err)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	add()
	if err := errors.Join(ix.Verify(ctx, nil), ix.Close()); err != nil {
		t.Error(err)
	}
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("the file changed: %v", err)
	}
	if err := os.WriteFile(file, before[:len(before)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	limited := newRuntime(t, griffin.RuntimeOptions{CostDir: dir, Limits: &griffin.Limits{Running: 1, Waiting: 1}})
	ix, err = griffin.Open(dir, griffin.Options{Runtime: limited})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := ix.Search(ctx, griffin.Query{Text: "plums"}); err != nil || len(r.Hits) == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if err := errors.Join(ix.Verify(ctx, nil), ix.Close()); err != nil {
		t.Error(err)
	}
	if err := ix.Calibrate(ctx, nil); !errors.Is(err, griffin.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// An index with long lists needs one calibration on a GPU; opening it does not calibrate. A
// calibration in the folder of an index is read.
func TestCalibrated(t *testing.T) {
	if testing.Short() {
		t.Skip("indexes 20,000 documents: left out with -short")
	}
	griffin.ShortCalibration(t, 30)
	t.Setenv(libraryVariable, gputest.Library(t).Path())
	ctx := t.Context()
	dir, costs := filepath.Join(t.TempDir(), "index"), t.TempDir()
	options := func(costs string) griffin.RuntimeOptions {
		size := griffin.MemorySize{Bytes: 64 << 20}
		return griffin.RuntimeOptions{GPU: griffin.GPUOptions{Device: "0", Memory: size, HostMemory: size}, CostDir: costs}
	}
	runtime, err := griffin.NewRuntime(options(costs))
	if err != nil {
		t.Fatal(err)
	}
	ix, err := griffin.Create(dir, griffin.Settings{NoStored: true, NoPositions: true}, griffin.Options{Runtime: runtime})
	if err != nil {
		t.Fatal(err)
	}
	if err := ix.Calibrate(ctx, nil); err != nil || !ix.Calibrated() {
		t.Errorf("an empty index needs a calibration: %v", err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	var text strings.Builder
	for i := range 20_000 {
		text.Reset()
		for range 80 {
			fmt.Fprintf(&text, "word%d ", int(2000*rng.Float64()*rng.Float64()))
		}
		if err := ix.Add(ctx, griffin.Document{ID: fmt.Sprint(i), Text: text.String()}); err != nil {
			t.Fatal(err)
		}
	}
	if err := ix.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if ix.Calibrated() {
		t.Error("a grown index needs no calibration")
	}
	if err := errors.Join(ix.Close(), runtime.Close()); err != nil {
		t.Fatal(err)
	}
	open := func(costs string, use func(ix *griffin.Index)) {
		t.Helper()
		runtime, err := griffin.NewRuntime(options(costs))
		if err != nil {
			t.Fatal(err)
		}
		ix, err := griffin.Open(dir, griffin.Options{Runtime: runtime})
		if err != nil {
			t.Fatal(err)
		}
		use(ix)
		if err := errors.Join(ix.Close(), runtime.Close()); err != nil {
			t.Fatal(err)
		}
	}
	open(costs, func(ix *griffin.Index) {
		if ix.Calibrated() {
			t.Error("opening the index calibrated")
		}
		if err := ix.Calibrate(ctx, nil); err != nil || !ix.Calibrated() {
			t.Errorf("calibrate: %v", err)
		}
	})
	open(costs, func(ix *griffin.Index) {
		if !ix.Calibrated() {
			t.Error("the calibration is not kept")
		}
	})
	if err := os.Rename(filepath.Join(costs, "costs.json"), filepath.Join(dir, "costs.json")); err != nil {
		t.Fatal(err)
	}
	open(t.TempDir(), func(ix *griffin.Index) {
		if !ix.Calibrated() {
			t.Error("the calibration in the folder of the index is not read")
		}
	})
}
