package griffin

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
)

// After a random history an index equals a new one. Nothing is left of that.
func TestVerifyRebuildHistories(t *testing.T) {
	t.Parallel()
	for seed := range 12 {
		parent := t.TempDir()
		h := &history{rng: rand.New(rand.NewPCG(uint64(seed), 33)), dir: filepath.Join(parent, "ix"), counts: new(rankCounts)}
		settings := []Settings{{}, {Codec: "ef", Fields: []string{}}, {NoPositions: true, Codec: "pfordelta", Analyzer: "simple"}}[seed%3]
		var err error
		if h.ix, err = Create(h.dir, settings, Options{}); err != nil {
			t.Fatal(err)
		}
		for range 3 + h.rng.IntN(10) {
			if err := h.step(t); err != nil {
				t.Fatal(err)
			}
		}
		r, err := h.ix.VerifyRebuild(t.Context(), RebuildOptions{})
		if err != nil || r.Docs != int64(len(h.live)) || len(h.live) > 0 && (r.Terms == 0 || r.Postings < r.Terms || r.Queries == 0) || r.Took == 0 {
			t.Errorf("seed %d: %+v, %v, want %d documents", seed, r, err, len(h.live))
		}
		if err := h.ix.Close(); err != nil {
			t.Fatal(err)
		}
		onlyIn(t, parent, "ix")
	}
}

func onlyIn(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, want) {
		t.Errorf("%s has %q, want %q", dir, names, want)
	}
}

func rebuildable(t *testing.T, dir string, settings Settings, numDocs int) *Index {
	t.Helper()
	ix, err := Create(dir, settings, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ix.Close() })
	for i := range numDocs {
		d := Document{ID: fmt.Sprint("id", i), Text: fmt.Sprintf("word%d common word%d", i%7, i%11)}
		if err := ix.Add(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	if err := ix.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return ix
}

// A missing posting is found by lists and by queries, with its place.
func TestVerifyRebuildFindsMissingPosting(t *testing.T) {
	parent := t.TempDir()
	rebuildable(t, filepath.Join(parent, "good"), Settings{NoPositions: true}, 100)
	indextest.CopyWithoutPosting(t, filepath.Join(parent, "good"), filepath.Join(parent, "ix"))
	ix, err := Open(filepath.Join(parent, "ix"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	if err := ix.Verify(t.Context(), nil); err != nil {
		t.Fatalf("without a new index: %v", err)
	}
	r, err := ix.VerifyRebuild(t.Context(), RebuildOptions{})
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "differs from a new index") || !strings.Contains(err.Error(), "more)") {
		t.Errorf("error %v", err)
	}
	lists, answers := false, false
	for _, d := range r.Differences {
		lists = lists || d.What == "posting" && d.Field != nil && *d.Field == "" && d.Term == "common" && d.ID == "id99" &&
			d.String() == `field "": term "common": document "id99": posting none, want frequency 1`
		answers = answers || d.Query != "" && strings.Contains(d.String(), "query ")
	}
	if !lists || !answers || len(r.Differences) > MaxDifferences {
		t.Errorf("differences %v, want that of the list and of answers", r.Differences)
	}
	onlyIn(t, parent, "good", "ix")
}

// The comparison ends with MaxDifferences.
func TestVerifyRebuildManyDifferences(t *testing.T) {
	r := &rebuild{}
	for range MaxDifferences - 1 {
		r.report.Differences = append(r.report.Differences, Difference{What: "x"})
	}
	parent := t.TempDir()
	r.old = rebuildable(t, filepath.Join(parent, "one"), Settings{}, 1)
	r.fresh = rebuildable(t, filepath.Join(parent, "two"), Settings{}, 2)
	if err := r.compareAnswers(t.Context(), []index.SampledTerm{{Term: "common"}}); err != nil || len(r.report.Differences) != MaxDifferences || r.report.Queries != 1 {
		t.Errorf("%d differences after %d queries, %v", len(r.report.Differences), r.report.Queries, err)
	}
	if d := r.report.Differences[MaxDifferences-1]; d.String() != `query "common", mode or, k 10: matches 1, want 2` {
		t.Errorf("difference %s", d)
	}
	if err := r.differs(); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "(and at least 19 more)") {
		t.Errorf("error %v", err)
	}
}

// Hits that differ in order or score are found.
func TestCompareAnswerFindsHits(t *testing.T) {
	parent := t.TempDir()
	r := &rebuild{old: rebuildable(t, filepath.Join(parent, "one"), Settings{}, 3), fresh: rebuildable(t, filepath.Join(parent, "two"), Settings{}, 0)}
	for _, id := range []string{"id1", "id0", "id2"} {
		if err := r.fresh.Add(t.Context(), Document{ID: id, Text: "word0 common word0"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.fresh.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	d, err := r.compareAnswer(t.Context(), Query{Text: "common", Count: true})
	if err != nil || d == nil || d.What != "hit 1" || !strings.HasPrefix(d.Got, `"id0" with score `) || !strings.HasPrefix(d.Want, `"id1" with score `) {
		t.Errorf("difference %v, %v", d, err)
	}
}

// If ctx ends in any phase, no file is left.
func TestVerifyRebuildCancelled(t *testing.T) {
	dir, temp := filepath.Join(t.TempDir(), "ix"), t.TempDir()
	ix := rebuildable(t, dir, Settings{}, 2000)
	for _, phase := range []string{"verify", "read", "compare", "query"} {
		ctx, cancel := context.WithCancel(t.Context())
		seen := false
		_, err := ix.VerifyRebuild(ctx, RebuildOptions{Temp: temp, Progress: func(p Progress) {
			if p.Phase == phase || phase == "read" && p.Phase == "merge" {
				seen = true
				cancel()
			}
		}})
		if !seen || !errors.Is(err, context.Canceled) {
			t.Errorf("phase %s, reached: %t: error %v", phase, seen, err)
		}
		cancel()
		onlyIn(t, temp)
	}
}

func TestVerifyRebuildErrors(t *testing.T) {
	dir := t.TempDir()
	plain := rebuildable(t, filepath.Join(dir, "plain"), Settings{NoStored: true}, 3)
	if _, err := plain.VerifyRebuild(t.Context(), RebuildOptions{}); !errors.Is(err, ErrBadInput) {
		t.Errorf("no text: error %v", err)
	}
	ix := rebuildable(t, filepath.Join(dir, "ix"), Settings{}, 3)
	if _, err := ix.VerifyRebuild(t.Context(), RebuildOptions{Temp: filepath.Join(dir, "none")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing folder: error %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ix.VerifyRebuild(t.Context(), RebuildOptions{Temp: file}); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("file instead of a folder: error %v", err)
	}
	if err := checkSpace(dir, math.MaxInt64); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "MB free") {
		t.Errorf("space: error %v", err)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ix.VerifyRebuild(t.Context(), RebuildOptions{}); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: error %v", err)
	}
	onlyIn(t, dir, "file", "ix", "plain")
}
