package griffin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/query"
)

// Documents and scores stay the same.
func TestCIFF(t *testing.T) {
	settings := Settings{NoStored: true, NoPositions: true, Fields: []string{}}
	ix := newTestIndexWith(t, truncationDocs()[:300], settings, Options{})
	var file bytes.Buffer
	exported, err := ix.ExportCIFF(t.Context(), &file, CIFFExportOptions{})
	if err != nil || exported.Docs != 300 || exported.Lists == 0 {
		t.Fatalf("%+v, %v", exported, err)
	}
	again := newTestIndexWith(t, nil, settings, Options{})
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(file.Bytes())), nil }
	imported, err := again.ImportCIFF(t.Context(), open, CIFFImportOptions{})
	if err != nil || imported.Docs != exported.Docs || imported.Lists != exported.Lists {
		t.Fatalf("%+v, %v, exported %+v", imported, err, exported)
	}
	for _, text := range []string{"w1", "w2 w30", "w7 w8 w9"} {
		want, err := ix.Search(t.Context(), Query{Text: text, Load: LoadIDs})
		if err != nil {
			t.Fatal(err)
		}
		got, err := again.Search(t.Context(), Query{Text: text, Load: LoadIDs})
		if err != nil || fmt.Sprint(got.Hits) != fmt.Sprint(want.Hits) || len(got.Hits) == 0 {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want.Hits)
		}
	}
	bad := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader([]byte("no CIFF"))), nil }
	if _, err := again.ImportCIFF(t.Context(), bad, CIFFImportOptions{}); !errors.Is(err, ErrBadInput) {
		t.Errorf("a file that is not valid: %v", err)
	}
}

func TestReplace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	build := func(id string, fail error) error {
		return Replace(dir, func(dir string) error {
			ix, err := Create(dir, Settings{}, Options{})
			if err != nil {
				return err
			}
			return errors.Join(ix.Add(t.Context(), Document{ID: id, Text: "text"}), ix.Commit(t.Context()), ix.Close(), fail)
		})
	}
	broken := errors.New("broken")
	for _, step := range []struct {
		id   string
		fail error
		want string
	}{{"first", nil, "first"}, {"second", nil, "second"}, {"third", broken, "second"}} {
		if err := build(step.id, step.fail); !errors.Is(err, step.fail) {
			t.Fatalf("%s: %v", step.id, err)
		}
		ix, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := searchIDs(t, ix, Query{Text: "text"}); len(got) != 1 || got[0] != step.want {
			t.Errorf("after %s: %q, want %q", step.id, got, step.want)
		}
		if err := ix.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := Replace(dir, func(string) error { return nil }); !errors.Is(err, ErrNotIndex) {
		t.Errorf("a function that builds nothing: %v", err)
	}
	ix, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := searchIDs(t, ix, Query{Text: "text"}); len(got) != 1 || got[0] != "second" {
		t.Errorf("after a function that builds nothing: %q", got)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// replaceBy puts an index with one document in the place of the one at dir.
func replaceBy(t *testing.T, dir, id string) error {
	return Replace(dir, func(dir string) error {
		ix, err := Create(dir, Settings{}, Options{})
		if err != nil {
			return err
		}
		return errors.Join(ix.Add(t.Context(), Document{ID: id, Text: "text"}), ix.Commit(t.Context()), ix.Close())
	})
}

func TestWriteAfterReplace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	ix, err := Create(dir, Settings{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	add := func(id string) error {
		return errors.Join(ix.Add(t.Context(), Document{ID: id, Text: "text"}), ix.Commit(t.Context()))
	}
	if err := errors.Join(add("old"), replaceBy(t, dir, "new")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := ix.Add(t.Context(), Document{ID: "late", Text: "text"}); !errors.Is(err, ErrExists) || !strings.Contains(err.Error(), "call Refresh") {
			t.Errorf("Add without Refresh: %v", err)
		}
		if err := ix.Commit(t.Context()); !errors.Is(err, ErrExists) {
			t.Errorf("Commit without Refresh: %v", err)
		}
	}
	if got := searchIDs(t, ix, Query{Text: "text"}); !slices.Equal(got, []string{"old"}) {
		t.Errorf("without Refresh: %q", got)
	}
	if changed, err := ix.Refresh(); !changed || err != nil {
		t.Fatalf("Refresh: %t, %v", changed, err)
	}
	if err := add("added"); err != nil {
		t.Fatal(err)
	}
	if got := searchIDs(t, ix, Query{Text: "text"}); !slices.Equal(got, []string{"new", "added"}) {
		t.Errorf("after Refresh: %q", got)
	}
}

// Changes that wait for Commit are not lost, and never reach another index.
func TestReplaceBesideWriter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	ix, err := Create(dir, Settings{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	if err := errors.Join(ix.Add(t.Context(), Document{ID: "old", Text: "text"}), ix.Commit(t.Context()), ix.Delete(t.Context(), "old")); err != nil {
		t.Fatal(err)
	}
	if err := replaceBy(t, dir, "new"); !errors.Is(err, ErrLocked) {
		t.Errorf("Replace beside a writer: %v", err)
	}
	// Another program moves an index here, without asking for the lock.
	other := dir + ".other"
	if err := errors.Join(replaceBy(t, other, "moved"), os.Rename(dir, dir+".old"), os.Rename(other, dir)); err != nil {
		t.Fatal(err)
	}
	if err := ix.Commit(t.Context()); !errors.Is(err, ErrExists) {
		t.Errorf("Commit to another index: %v", err)
	}
	if _, err := ix.Refresh(); err != nil {
		t.Fatal(err)
	}
	if got := searchIDs(t, ix, Query{Text: "text"}); !slices.Equal(got, []string{"moved"}) {
		t.Errorf("the other index holds %q", got)
	}
	if err := ix.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// A model that cannot be kept is reported, and used.
func TestTrainWithoutFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r := newTestRuntime(t, RuntimeOptions{Limits: &Limits{}, CostDir: filepath.Join(file, "costs")})
	ix := newTestIndexWith(t, truncationDocs()[:100], Settings{}, Options{Runtime: r})
	var queries []query.Node
	for i := range 30 {
		queries = append(queries, &query.Words{Text: fmt.Sprintf("w%d w%d", i%13, i%7)})
	}
	report, err := ix.Train(t.Context(), queries, TrainOptions{})
	if err != nil || report.SaveErr == nil || len(report.Trees) == 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestTrain(t *testing.T) {
	costs := t.TempDir()
	r := newTestRuntime(t, RuntimeOptions{Limits: &Limits{}, CostDir: costs})
	ix := newTestIndexWith(t, truncationDocs()[:300], Settings{}, Options{Runtime: r})
	var queries []query.Node
	for i := range 40 {
		queries = append(queries, &query.Words{Text: fmt.Sprintf("w%d w%d", i%13, i%7)})
	}
	if _, err := ix.Train(t.Context(), queries[:3], TrainOptions{}); !errors.Is(err, ErrBadInput) {
		t.Errorf("three queries: %v", err)
	}
	if _, err := ix.Train(t.Context(), append(queries, nil), TrainOptions{}); !errors.Is(err, ErrBadInput) {
		t.Errorf("a nil query: %v", err)
	}
	report, err := ix.Train(t.Context(), queries, TrainOptions{})
	if err != nil || report.Queries == 0 || len(report.Trees) == 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	file := filepath.Join(costs, "costs.json")
	if _, err := os.Stat(file); err != nil || report.SaveErr != nil {
		t.Errorf("the model is not kept: %v, SaveErr %v", err, report.SaveErr)
	}
	if again := newTestRuntime(t, RuntimeOptions{Limits: &Limits{}, CostDir: costs}); again.CostModelError() != nil {
		t.Errorf("the kept model: %v", again.CostModelError())
	}
	if err := os.WriteFile(file, []byte("no model"), 0o644); err != nil {
		t.Fatal(err)
	}
	if again := newTestRuntime(t, RuntimeOptions{Limits: &Limits{}, CostDir: costs}); !errors.Is(again.CostModelError(), ErrCorrupt) {
		t.Errorf("a damaged model: %v", again.CostModelError())
	}
}
