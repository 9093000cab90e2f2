package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
)

// In a folder, a file whose name or title is the query comes before files that have the word more often. With
// --title-weight 1, a title counts as its text.
func TestTitleWeight(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"docs/glossary.md":         "# Terms\n\nOne name for each thing. The glossary is short.",
		"docs/often.md":            "# Often\n\n" + strings.Repeat("glossary, glossary and posting ", 3),
		"docs/src/PostingList.txt": "type list",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	docs := filepath.Join(dir, "docs")
	for _, test := range []struct {
		command []string
		weight  int
		first   map[string]string // by query
	}{
		{[]string{"index", docs, "--out"}, 5, map[string]string{"glossary": "glossary.md", "posting": "src/PostingList.txt", "postinglist": "src/PostingList.txt"}},
		{[]string{"add", "--out"}, 5, map[string]string{"glossary": "glossary.md"}},
		{[]string{"watch", docs, "--once", "--out"}, 5, map[string]string{"glossary": "glossary.md"}},
		{[]string{"index", docs, "--title-weight", "1", "--out"}, 0, map[string]string{"glossary": "often.md", "postinglist": ""}},
		{[]string{"index", docs, "--title-weight", "9", "--out"}, 9, map[string]string{"glossary": "glossary.md"}},
		{[]string{"index", filepath.Join(docs, "often.md"), "--out"}, 0, map[string]string{"glossary": ""}},
	} {
		out := filepath.Join(t.TempDir(), "ix")
		args := append(test.command, out)
		if args[0] == "add" {
			args = []string{"add", out, docs}
		}
		runGriffin(t, args...)
		var stats griffin.Stats
		if err := json.Unmarshal([]byte(runGriffin(t, "stats", out, "--json")), &stats); err != nil {
			t.Fatal(err)
		}
		if stats.TitleWeight != test.weight || (stats.NameField == "path") != (test.weight > 1) {
			t.Errorf("%q: weight %d, field %q", args, stats.TitleWeight, stats.NameField)
		}
		for query, want := range test.first {
			var r griffin.Results
			if err := json.Unmarshal([]byte(runGriffin(t, "search", out, query, "--json")), &r); err != nil {
				t.Fatal(err)
			}
			got := ""
			if len(r.Hits) > 0 {
				got = r.Hits[0].ID
			}
			if want != "" && got != want || query == "postinglist" && want == "" && got != "" {
				t.Errorf("%q: %q finds %q first, want %q", args, query, got, want)
			}
		}
	}
}
