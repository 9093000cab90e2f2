package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The answers are compared with plain loops by the measurement itself.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	var passages strings.Builder
	for n := range 3000 {
		fmt.Fprintf(&passages, `{"id":"%d","title":"title %d","text":"%s"}`+"\n", n, n%50, strings.Repeat(fmt.Sprintf("w%d ", hash(n, 9)%20), 1+n%7))
	}
	o := &options{passages: filepath.Join(dir, "p.jsonl"), queries: filepath.Join(dir, "q.tsv"), json: filepath.Join(dir, "r.json"), dir: dir, docs: 3000, most: 5, runs: 1}
	for path, text := range map[string]string{o.passages: passages.String(), o.queries: "1\tw1 w2\n2\ttitle w3\n3\tw9 title\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(o.json)
	if err != nil {
		t.Fatal(err)
	}
	var r report
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if r.Docs != 3000 || r.Queries != 3 || len(r.Filters) != 20 || r.Fields.Matches == 0 || r.Fields.ByDate.Mean <= 0 || r.Fields.AllValues <= 0 || r.Fields.FacetValues <= 0 || r.PlainMean <= 0 {
		t.Errorf("%+v", r)
	}
	for _, f := range r.Filters {
		if f.Mean <= 0 || (f.Field == "random" || f.Field == "part") && (f.Share < f.Wanted/2 || f.Share > f.Wanted*2) {
			t.Errorf("%+v", f)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "structured-*")); err != nil || len(left) > 0 {
		t.Errorf("%q is left, %v", left, err)
	}
}
