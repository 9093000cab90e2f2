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
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Every traversal of both modes has a row in the tables and figures in the
// JSON.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	docs, log := filepath.Join(dir, "docs.jsonl"), filepath.Join(dir, "log.tsv")
	var lines strings.Builder
	for i := range 300 {
		fmt.Fprintf(&lines, `{"id":"%d","title":"","text":"the %s cat%d"}`+"\n", i, strings.Repeat("dog ", i%7), i%5)
	}
	write(t, docs, lines.String())
	write(t, log, "1\tthe dog\n2\tdog cat3\n3\tcat1\n")
	ix, err := index.Create(vfs.OS, filepath.Join(dir, "ix"), index.Options{Analyzer: "simple"})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	reader, err := corpus.Open([]string{docs}, corpus.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ix.Build(t.Context(), reader, index.BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	out, tables := filepath.Join(dir, "out.json"), filepath.Join(dir, "tables.md")
	if err := run(t.Context(), []string{"-json", out, "-markdown", tables, "-k", "1,5", "-every", "2", filepath.Join(dir, "ix"), log}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var r result
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Groups) != 4 || r.NumDocs != 300 || r.Groups[0].Queries != 2 {
		t.Errorf("%d groups, want 2 modes of 2 k; %+v", len(r.Groups), r)
	}
	markdown, err := os.ReadFile(tables)
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range r.Groups {
		if len(g.Figures) != len(plan.Traversals(g.Mode)) {
			t.Errorf("group %d has %d traversals of %d", i, len(g.Figures), len(plan.Traversals(g.Mode)))
		}
		for _, f := range g.Figures {
			if f.Latency.Mean <= 0 || f.Ratio < 1 || f.PostingsScored <= 0 || !strings.Contains(string(markdown), "| `"+f.Traversal+"` |") {
				t.Errorf("%s: %+v", f.Traversal, f)
			}
		}
	}
}

func write(t *testing.T, path, text string) {
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestRunSaysWhatIsWrong(t *testing.T) {
	for _, args := range [][]string{nil, {t.TempDir()}, {t.TempDir(), "log"}, {"-k", "0", "ix", "log"}, {"-runs", "0", "ix", "log"}} {
		if err := run(context.Background(), args); err == nil {
			t.Errorf("no error for %q", args)
		}
	}
}
