package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/simd"
	"github.com/griffin-search/griffin/internal/vfs"
)

// A list of numDocs postings, in which document i has frequency i%3+1, and a
// list of one posting for each document.
func makeIndex(t *testing.T, numDocs int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "idx")
	ix, err := index.Create(vfs.OS, dir, index.Options{Analyzer: "simple", NoStored: true})
	if err != nil {
		t.Fatal(err)
	}
	w, err := ix.Writer(index.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range numDocs {
		d := corpus.Document{ID: fmt.Sprint(i), Text: fmt.Sprintf("only%d", i) + strings.Repeat(" all", i%3+1)}
		if err := w.Add(&d); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []func() error{func() error { return w.Commit(context.Background()) }, w.Close, ix.Close} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRun(t *testing.T) {
	const numDocs = 2*blocksOf*128 + 5
	out := t.TempDir()
	o, err := parseOptions([]string{
		"-index", makeIndex(t, numDocs), "-codecs", "simdbp raw lrc", "-widths", "3,20", "-time", "1us", "-commit", "abc",
		"-json", filepath.Join(out, "r.json"), "-markdown", filepath.Join(out, "r.md"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := run(o); err != nil {
		t.Fatal(err)
	}
	var r result
	text, err := os.ReadFile(filepath.Join(out, "r.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	// Codecs of blocks have two figures per set, the codec of lists three.
	if want := (2 + 2 + 3) * 3 * len(simd.Levels()); len(r.Speeds) != want {
		t.Errorf("%d speeds, want %d", len(r.Speeds), want)
	}
	for _, s := range r.Speeds {
		if s.Gints <= 0 || s.Bits <= 0 && s.Data == "uniform" {
			t.Errorf("no figure in %+v", s)
		}
		if s.Codec == "simdbp" && s.Data == "uniform" && s.Bits != float64(s.Width) {
			t.Errorf("%v bits in %+v", s.Bits, s)
		}
	}
	markdown, err := os.ReadFile(filepath.Join(out, "r.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"commit abc", "| raw | 32.0 | 32.0 | 32.0 |", "| codec | 3 | 20 | lists |", "Whole lists"} {
		if !strings.Contains(strings.ToLower(string(markdown)), strings.ToLower(want)) {
			t.Errorf("no %q in\n%s", want, markdown)
		}
	}
}

func TestBars(t *testing.T) {
	speeds := []speed{
		{Codec: "simdbp", SIMD: "avx512", What: "docids", Data: "uniform", Width: 1, Gints: 12},
		{Codec: "simdbp", SIMD: "avx512", What: "docids", Data: "uniform", Width: 16, Gints: 4},
		{Codec: "simdbp", SIMD: "avx512", What: "docids", Data: "uniform", Width: 17, Gints: 1},
		{Codec: "simdbp", SIMD: "avx512", What: "freqs", Data: "uniform", Width: 2, Gints: 1},
		{Codec: "simdbp", SIMD: "avx2", What: "docids", Data: "uniform", Width: 2, Gints: 1},
		{Codec: "simdbp", SIMD: "avx512", What: "docids", Data: "lists", Gints: 5},
		{Codec: "ef", SIMD: "avx512", What: "docids", Data: "uniform", Width: 3, Gints: 1.5},
	}
	got := bars(speeds)
	want := []bar{
		{Codec: "simdbp", Want: 6, Gints: 6, Least: 4, Lists: 5, Holds: true},
		{Codec: "ef", Want: 2, Gints: 1.5, Least: 1.5},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

func TestOptions(t *testing.T) {
	for _, args := range [][]string{{"-widths", "21"}, {"-widths", "x"}, {"-time", "0s"}, {"file"}} {
		if _, err := parseOptions(args); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
	o, err := parseOptions([]string{"-codecs", "no-such"})
	if err != nil {
		t.Fatal(err)
	}
	if err := run(o); err == nil {
		t.Error("an unknown codec is no error")
	}
}
