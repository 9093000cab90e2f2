package griffin

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// Another index replaced the first one.
func TestRefreshOtherAnalyzer(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // the second search reuses the pooled memory of the first
	dir := filepath.Join(t.TempDir(), "index")
	create := func(to, analyzer string) {
		ix, err := Create(to, Settings{Analyzer: analyzer}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer ix.Close()
		if err := ix.Add(t.Context(), Document{ID: analyzer, Text: "Running"}); err != nil {
			t.Fatal(err)
		}
		if err := ix.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	create(dir, "whitespace")
	ix, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	if got := searchIDs(t, ix, Query{Text: "Running"}); !slices.Equal(got, []string{"whitespace"}) {
		t.Fatalf("before: %q", got)
	}
	create(dir+".new", "english")
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir+".new", dir); err != nil {
		t.Fatal(err)
	}
	if changed, err := ix.Refresh(); err != nil || !changed {
		t.Fatalf("Refresh: %t, %v", changed, err)
	}
	if got := searchIDs(t, ix, Query{Text: "runs"}); !slices.Equal(got, []string{"english"}) {
		t.Errorf("after: %q", got)
	}
}
