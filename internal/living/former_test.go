package living

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// formerIndex is an index whose field k changes, and the revisions with which its documents were written.
type formerIndex struct {
	t           *testing.T
	rng         *rand.Rand
	fs          vfs.FS
	mem         *vfstest.Mem // nil: real files
	dir         string
	ix          *index.Index
	s           *Store
	opts        Options
	written     map[string]int // by id
	revision    int            // of the shape
	ignoreAbove int
	rebuilt     int
}

func (x *formerIndex) mapping(ignoreAbove int) *mapping.Mapping {
	m, err := mapping.Parse(fmt.Appendf(nil, `{"properties": {"k": {"type": "keyword", "ignore_above": %d}}}`, ignoreAbove))
	check(x.t, err)
	return m
}

func (x *formerIndex) begin() {
	x.written, x.ignoreAbove, x.opts = map[string]int{}, 4, Options{RefreshInterval: -1, CheckpointBytes: int64(x.rng.IntN(2))}
	var err error
	x.ix, err = index.Create(x.fs, x.dir, index.Options{Mapping: x.mapping(x.ignoreAbove)})
	check(x.t, err)
	w, err := x.ix.Writer(index.WriterOptions{})
	check(x.t, err)
	check(x.t, errors.Join(w.Commit(x.t.Context()), w.Close()))
	x.s = open(x.t, x.fs, x.ix, x.opts)
}

func (x *formerIndex) write(id string) Op {
	if x.written[id] = x.revision; x.rng.IntN(8) == 0 {
		delete(x.written, id)
		return Op{Kind: Delete, Doc: &corpus.Document{ID: id}}
	}
	words := make([]string, 4)
	for i := range words {
		words[i] = word(x.rng)
	}
	value := strings.Repeat("v", 1+x.rng.IntN(9))
	return Op{Doc: &corpus.Document{ID: id, Text: strings.Join(words, " "), Extra: []corpus.Field{{Name: "k", Value: value}}}}
}

func (x *formerIndex) apply(ops []Op) {
	results, err := x.s.Apply(x.t.Context(), ops)
	check(x.t, err)
	for i := range results {
		check(x.t, results[i].Err)
	}
}

func (x *formerIndex) reopen() {
	dir := x.dir
	if x.mem != nil && x.rng.IntN(2) == 0 { // a crash
		crashed := x.mem.Clone()
		check(x.t, errors.Join(x.s.Close(x.t.Context()), x.ix.Close()))
		x.mem, x.fs = crashed, crashed
	} else {
		check(x.t, errors.Join(x.s.Close(x.t.Context()), x.ix.Close()))
	}
	var err error
	x.ix, err = index.Open(x.fs, dir)
	check(x.t, err)
	if x.rng.IntN(3) == 0 {
		check(x.t, x.offline())
	}
	x.s = open(x.t, x.fs, x.ix, x.opts)
}

// offline merges without a Store, unless that has left a log.
func (x *formerIndex) offline() error {
	_, err := x.ix.Merge(x.t.Context(), index.MergeOptions{MaxSegments: 1 + x.rng.IntN(2), Reorder: []string{"", index.ReorderBP}[x.rng.IntN(2)]})
	return err
}

// check compares with the model.
func (x *formerIndex) check() {
	x.t.Helper()
	check(x.t, x.s.Refresh(x.t.Context()))
	want := false
	for _, revision := range x.written {
		want = want || revision < x.revision
	}
	s, err := x.ix.Snapshot()
	check(x.t, err)
	defer s.Release()
	if s.NumLive != len(x.written) {
		x.t.Fatalf("%d documents, want %d", s.NumLive, len(x.written))
	}
	check(x.t, s.Verify(x.t.Context(), nil))
	if err := s.CanRebuild(); err != nil && !errors.Is(err, base.ErrBadInput) || (err != nil) != want {
		x.t.Fatalf("revision %d, documents of %v: %v", x.revision, x.written, err)
	}
	if want {
		return
	}
	x.rebuilt++
	dir := filepath.Join(x.t.TempDir(), "fresh")
	check(x.t, s.Rebuild(x.t.Context(), dir, index.RebuildOptions{Threads: 1}))
	fresh, err := index.Open(x.fs, dir)
	check(x.t, err)
	rebuilt, err := fresh.Snapshot()
	check(x.t, err)
	found, err := s.Compare(x.t.Context(), rebuilt, index.CompareOptions{})
	if err != nil || len(found.Differences) > 0 {
		x.t.Fatalf("%+v, %v", found.Differences, err)
	}
	rebuilt.Release()
	check(x.t, fresh.Close())
}

func (x *formerIndex) step() {
	switch x.rng.IntN(9) {
	case 0, 1, 2:
		ops := make([]Op, 1+x.rng.IntN(60))
		for i := range ops {
			ops[i] = x.write(fmt.Sprint(x.rng.IntN(150)))
		}
		x.apply(ops)
	case 3: // all that are former
		var ops []Op
		for _, id := range slices.Sorted(maps.Keys(x.written)) {
			if x.written[id] < x.revision {
				ops = append(ops, x.write(id))
			}
		}
		if len(ops) > 0 {
			x.apply(ops)
		}
	case 4:
		if x.rng.IntN(2) > 0 {
			break
		}
		x.ignoreAbove = 2 + (x.ignoreAbove-2+1+x.rng.IntN(7))%8
		x.revision++
		check(x.t, x.s.AddMapping(x.t.Context(), x.mapping(x.ignoreAbove)))
	case 5:
		check(x.t, x.s.Merge(x.t.Context(), 1+x.rng.IntN(3)))
	case 6:
		check(x.t, x.s.Flush(x.t.Context()))
	case 7:
		x.reopen()
	case 8:
		x.check()
	}
}

// An index can be built anew if, and only if, no live document is older than the last change of ignore_above,
// whatever was merged, deleted and reordered before and after a crash.
func TestFormerDocuments(t *testing.T) {
	t.Parallel()
	rebuilt := 0
	for seed := range uint64(12) {
		x := &formerIndex{t: t, rng: rand.New(rand.NewPCG(seed, 1)), fs: vfs.OS, dir: filepath.Join(t.TempDir(), "ix")}
		if seed%6 > 0 {
			x.mem, x.dir = vfstest.NewMem(), "ix"
			x.fs = x.mem
		}
		x.begin()
		for range 40 {
			x.step()
		}
		x.check()
		check(t, errors.Join(x.s.Close(t.Context()), x.ix.Close()))
		if x.revision > 0 {
			rebuilt += x.rebuilt
		}
	}
	if rebuilt < 3 {
		t.Errorf("%d times an index could be rebuilt after a change", rebuilt)
	}
}

// After a change of copy_to, the deletion of an older document counts in the lists that contain it, with its number of
// tokens, and not in the lists that the present copy_to would give.
func TestDeletedFormerDocument(t *testing.T) {
	t.Parallel()
	parse := func(a, b string) *mapping.Mapping {
		m, err := mapping.Parse(fmt.Appendf(nil, `{"properties": {"a": {"type": "keyword"}, "b": {"type": "keyword"},
			"k": {"type": "keyword", "copy_to": %q}, "m": {"type": "keyword", "copy_to": %q}}}`, a, b))
		check(t, err)
		return m
	}
	mem := vfstest.NewMem()
	ix, err := index.Create(mem, "ix", index.Options{Mapping: parse("a", "b")})
	check(t, err)
	w, err := ix.Writer(index.WriterOptions{})
	check(t, err)
	for i := range 400 {
		values := []string{"x", "y"}
		text := fmt.Sprintf("f%d g%d h%d", i, i, i)
		check(t, w.Add(&corpus.Document{ID: fmt.Sprint(i), Text: text, Extra: []corpus.Field{{Name: "k", Value: values[i%2]}, {Name: "m", Value: values[1-i%2]}}}))
	}
	check(t, errors.Join(w.Commit(t.Context()), w.AddMapping(parse("b", "a")), w.Commit(t.Context())))
	check(t, errors.Join(w.Delete("6"), w.Commit(t.Context()), w.Close()))
	s, err := ix.Snapshot()
	check(t, err)
	check(t, s.Verify(t.Context(), nil))
	s.Release()
	check(t, ix.Close())
}
