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

// An index keeps what was measured in its folder, whatever is committed then; where there
// is no GPU or no long list, opening it measures nothing; a file that is damaged is no
// error.
func TestCalibrate(t *testing.T) {
	griffin.ShortCalibration(t, 200)
	ctx := t.Context()
	dir := filepath.Join(t.TempDir(), "index")
	file := filepath.Join(dir, "costs.json")
	ix, err := griffin.Create(dir)
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
		t.Error("it was measured without a GPU")
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := ix.Calibrate(cancelled, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("there is a file of what was cancelled")
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
		t.Errorf("the file has changed: %v", err)
	}
	if err := os.WriteFile(file, before[:len(before)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	// The option that admits searches has the file read.
	ix, err = griffin.Open(dir, griffin.WithConcurrency(1, 1), griffin.WithoutCalibration())
	if err != nil {
		t.Fatal(err)
	}
	if r, err := ix.Search(ctx, "plums"); err != nil || len(r.Hits) == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if err := errors.Join(ix.Verify(ctx, nil), ix.Close()); err != nil {
		t.Error(err)
	}
	if err := ix.Calibrate(ctx, nil); !errors.Is(err, griffin.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// An index with long lists is measured when it is first opened with a GPU, and not again. One
// that has got them since it was made can be.
func TestOpenCalibrates(t *testing.T) {
	if testing.Short() {
		t.Skip("indexes 20,000 documents: left out with -short")
	}
	griffin.ShortCalibration(t, 30)
	t.Setenv(libraryVariable, gputest.Library(t).Path())
	ctx := t.Context()
	dir := filepath.Join(t.TempDir(), "index")
	device := []griffin.Option{griffin.WithDevice("0"), griffin.WithGPUMemory("64MiB"), griffin.WithGPUHostMemory("64MiB")}
	ix, err := griffin.Create(dir, append(device, griffin.WithoutStored())...)
	if err != nil {
		t.Fatal(err)
	}
	if err := ix.Calibrate(ctx, nil); err != nil || !ix.Calibrated() {
		t.Errorf("an empty index is worth to be measured: %v", err)
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
		t.Error("an index that has grown is not worth to be measured")
	}
	if err := ix.Calibrate(ctx, nil); err != nil || !ix.Calibrated() {
		t.Errorf("calibrate an index that has grown: %v", err)
	}
	costs := filepath.Join(dir, "costs.json")
	if err := errors.Join(ix.Close(), os.Remove(costs)); err != nil {
		t.Fatal(err)
	}
	open := func(opts ...griffin.Option) (calibrated bool) {
		t.Helper()
		ix, err := griffin.Open(dir, append(opts, device...)...)
		if err != nil {
			t.Fatal(err)
		}
		calibrated = ix.Calibrated()
		if err := ix.Close(); err != nil {
			t.Fatal(err)
		}
		return calibrated
	}
	if open(griffin.WithoutCalibration()) {
		t.Error("it was measured though the option says not to")
	}
	if !open() {
		t.Error("it was not measured")
	}
	if _, err := os.Stat(costs); err != nil {
		t.Error(err)
	}
	if !open(griffin.WithoutCalibration()) {
		t.Error("what was measured is not kept")
	}
}
