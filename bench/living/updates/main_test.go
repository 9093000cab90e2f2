package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// The measurement runs on the CPU and on a GPU: queries and updates in both, and no error of the device.
func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	queries := filepath.Join(dir, "queries.tsv")
	if err := os.WriteFile(queries, []byte("1\ta b\n2\tc\n3\tb c d\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, device := range []string{"cpu", "0"} {
		t.Run(device, func(t *testing.T) {
			if device != "cpu" {
				t.Setenv("GRIFFIN_CUDA_LIBRARY", gputest.Library(t).Path())
			}
			o := options{
				index: makeIndex(t, filepath.Join(dir, "index-"+device)), queries: queries, prefix: "gov2-", device: device, memory: "4000000",
				rate: 500, resident: 1, idle: 100 * time.Millisecond, updating: 400 * time.Millisecond,
			}
			if device != "cpu" {
				o.policy = string(griffin.PolicyGPU)
			}
			r, err := measure(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			u := &r.Updating
			if r.Documents != 300 || r.Idle.Or.Queries == 0 || r.Idle.And.P50 <= 0 || u.Or.Queries == 0 || u.And.Max < u.And.P99 || u.Updates != 200 || r.RatioOrP50 <= 0 || r.After.Updates != 0 || r.After.Or.Queries == 0 {
				t.Errorf("%+v", r)
			}
			if device == "cpu" {
				return
			}
			if r.Idle.OnGPU == 0 || u.OnGPU == 0 || u.Errors != 0 || u.ListBytes == 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

func makeIndex(t *testing.T, dir string) string {
	ix, err := griffin.Create(dir, griffin.Settings{Analyzer: "simple", NoStored: true}, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	}()
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		text := ""
		for j, w := range []string{"a", "b", "c", "d"} {
			if rng.IntN(j+1) == 0 {
				text += w + " "
			}
		}
		if err := ix.Add(t.Context(), griffin.Document{ID: fmt.Sprint("gov2-", i), Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	if err := ix.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestReadQueries(t *testing.T) {
	if _, err := readQueries(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a missing file is no error")
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, []byte("no tab\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readQueries(empty); err == nil {
		t.Error("a file without queries is no error")
	}
}
