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
	if err := run(t.Context(), []string{"-json", out, "-markdown", tables, "-k", "1,5", "-every", "2", "-skip", "wand", filepath.Join(dir, "ix"), log}); err != nil {
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
		want := len(plan.Traversals(g.Mode)) // with the planner's choice, without wand
		if g.Mode == plan.ModeAnd {
			want++
		}
		if len(g.Figures) != want || g.find("wand") != nil || g.find(chosen) == nil {
			t.Errorf("group %d has %d rows, want %d", i, len(g.Figures), want)
		}
		for _, f := range g.Figures {
			if f.Latency.Mean <= 0 || f.Ratio < 1 && f.Traversal != chosen || f.PostingsScored <= 0 || !strings.Contains(string(markdown), "| `"+f.Traversal+"` |") {
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

func TestSets(t *testing.T) {
	dir := t.TempDir()
	docs := filepath.Join(dir, "docs.jsonl")
	var lines strings.Builder
	name := func(n int) string { return strings.Map(func(r rune) rune { return r + 'a' - '0' }, fmt.Sprint(n)) }
	for i := range 400 {
		fmt.Fprintf(&lines, `{"id":"%d","title":"","text":"%s"}`+"\n", i, strings.Repeat("Common words, ", 15))
	}
	for i := range 2000 * leastRare {
		fmt.Fprintf(&lines, `{"id":"r%d","title":"","text":"x%s once%s"}`+"\n", i, name(i%2000), name(i))
	}
	write(t, docs, lines.String())
	if err := run(t.Context(), []string{"-sets", dir, docs}); err != nil {
		t.Fatal(err)
	}
	for file, words := range map[string]int{longName: longWords, rareName: 1, pairsName: 2} {
		topics, err := readLog(filepath.Join(dir, file), 1)
		if err != nil || len(topics) != numRare && (file != longName || len(topics) != numLong) {
			t.Fatalf("%s: %d queries: %v", file, len(topics), err)
		}
		for _, topic := range topics {
			got := strings.Fields(topic.Title)
			if len(got) != words || file != longName && !strings.HasPrefix(got[0], "x") || file == longName && got[0] != "common" {
				t.Errorf("%s: query %q", file, topic.Title)
			}
		}
	}
}

func TestRunSaysWhatIsWrong(t *testing.T) {
	for _, args := range [][]string{nil, {t.TempDir()}, {t.TempDir(), "log"}, {"-k", "0", "ix", "log"}, {"-runs", "0", "ix", "log"}, {"-skip", "nothing", "ix", "log"}, {"-sets", t.TempDir(), "nothing.jsonl"}} {
		if err := run(context.Background(), args); err == nil {
			t.Errorf("no error for %q", args)
		}
	}
}
