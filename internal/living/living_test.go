package living

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// create commits an empty index.
func create(t testing.TB, fsys vfs.FS, dir string) *index.Index {
	t.Helper()
	return createWith(t, fsys, dir, index.Options{Analyzer: "whitespace", Positions: true})
}

func createWith(t testing.TB, fsys vfs.FS, dir string, o index.Options) *index.Index {
	t.Helper()
	ix, err := index.Create(fsys, dir, o)
	check(t, err)
	w, err := ix.Writer(index.WriterOptions{})
	check(t, err)
	check(t, errors.Join(w.Commit(t.Context()), w.Close()))
	return ix
}

func open(t testing.TB, fsys vfs.FS, ix *index.Index, opts Options) *Store {
	t.Helper()
	opts.OnError = func(err error) { t.Errorf("in the background: %v", err) }
	s, err := Open(t.Context(), fsys, ix, opts)
	check(t, err)
	return s
}

func text(rng *rand.Rand) string {
	words := make([]string, rng.IntN(30))
	for i := range words {
		words[i] = word(rng)
	}
	return strings.Join(words, " ")
}

func word(rng *rand.Rand) string { return fmt.Sprintf("w%d", int(rng.ExpFloat64()*20)) }

// model has the expected documents, by id and in the order of writing.
type model struct {
	states map[string]state
}

// apply predicts the outcome of an operation.
func (m *model) apply(op Op, seq uint64) (Outcome, bool) {
	now := m.states[op.Doc.ID]
	exists := now.doc != nil
	switch {
	case op.Kind == Create && exists, op.IfSeq != 0 && (!exists || op.IfSeq != now.version.Seq):
		return Failed, false
	}
	next := state{version: segment.Version{Seq: seq, Number: now.version.Number + 1}, doc: op.Doc}
	outcome := Created
	switch {
	case op.Kind == Delete && exists:
		next.doc, outcome = nil, Deleted
	case op.Kind == Delete:
		next.doc, outcome = nil, NotFound
	case exists:
		outcome = Updated
	}
	m.states[op.Doc.ID] = next
	return outcome, true
}

// forget forgets the deletions of a commit, as a process does that opens it.
func (m *model) forget(commit uint64) {
	for id, st := range m.states {
		if st.doc == nil && st.version.Seq <= commit {
			delete(m.states, id)
		}
	}
}

// ids returns the live ids in the order of writing.
func (m *model) ids() []string {
	var ids []string
	for id, s := range m.states {
		if s.doc != nil {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		return int(int64(m.states[a].version.Seq) - int64(m.states[b].version.Seq))
	})
	return ids
}

// same compares the visible documents, their text and order with the model.
func (m *model) same(t testing.TB, ix *index.Index) {
	t.Helper()
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	var got []string
	var stored segment.StoredDoc
	for i := range s.Segments {
		v := &s.Segments[i]
		for doc := range base.DocID(v.NumDocs()) {
			if v.Live != nil && !v.Live.Has(int(doc)) {
				continue
			}
			id, err := v.ID(doc)
			check(t, err)
			got = append(got, string(id))
			check(t, v.Stored(doc, &stored))
			version, err := v.Version(doc)
			check(t, err)
			want := m.states[string(id)]
			if want.doc == nil || version != want.version || string(stored.Text) != want.doc.Text {
				t.Fatalf("document %s: version %+v, text %q, want %+v", id, version, stored.Text, want)
			}
			var extra []corpus.Field
			for _, f := range stored.Extra {
				extra = append(extra, corpus.Field{Name: string(f.Name), Value: string(f.Value)})
			}
			if !slices.Equal(extra, want.doc.Extra) {
				t.Fatalf("document %s: fields %q, want %q", id, extra, want.doc.Extra)
			}
		}
	}
	if want := m.ids(); !slices.Equal(got, want) {
		t.Fatalf("documents %q,\nwant %q", got, want)
	}
}

func randomOp(rng *rand.Rand, m *model) Op {
	op := Op{Kind: []Kind{Index, Index, Index, Create, Delete}[rng.IntN(5)], Doc: &corpus.Document{ID: fmt.Sprint(rng.IntN(60)), Text: text(rng)}}
	if now := m.states[op.Doc.ID]; rng.IntN(4) == 0 && op.Kind != Create {
		op.IfSeq = now.version.Seq + uint64(rng.IntN(2))
	}
	return op
}

// applyRandom applies up to most random operations and compares the results with the model's.
func (m *model) applyRandom(t testing.TB, rng *rand.Rand, s *Store, most int) {
	t.Helper()
	ops := make([]Op, 1+rng.IntN(most))
	for i := range ops {
		ops[i] = randomOp(rng, m)
	}
	results, err := s.Apply(t.Context(), ops)
	check(t, err)
	for i, r := range results {
		want, ok := m.apply(ops[i], r.Version.Seq)
		if r.Outcome != want || ok != (r.Err == nil) || !ok && !errors.Is(r.Err, ErrConflict) || ok && r.Version != m.states[ops[i].Doc.ID].version {
			t.Fatalf("operation %+v: %+v, want outcome %d with version %+v", ops[i], r, want, m.states[ops[i].Doc.ID].version)
		}
	}
}

// Random operations, refreshes, flushes, merges and restarts, each after a kill or a close, agree
// with a simple model.
func TestHistories(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 3))
		mem := vfstest.NewMem()
		ix := create(t, mem, "ix")
		opts := Options{RefreshInterval: -1, MemoryBytes: 64 << 10}
		s := open(t, mem, ix, opts)
		m := &model{states: map[string]state{}}
		for range 60 {
			switch rng.IntN(12) {
			case 0:
				check(t, s.Flush(t.Context()))
				reader, err := index.Open(mem, "ix")
				check(t, err)
				m.same(t, reader)
				check(t, reader.Close())
			case 1:
				check(t, s.Merge(t.Context(), 1+rng.IntN(3)))
			case 2:
				killed := mem.Clone() // the files that a killed process leaves
				check(t, s.Close(t.Context()))
				check(t, ix.Close())
				if rng.IntN(2) == 0 {
					mem = killed
				}
				var err error
				ix, err = index.Open(mem, "ix")
				check(t, err)
				m.forget(ix.Seq())
				s = open(t, mem, ix, opts)
				m.same(t, ix)
			case 3:
				check(t, s.Refresh(t.Context()))
				m.same(t, ix)
			default:
				m.applyRandom(t, rng, s, 40) // large groups look up their ids together
			}
		}
		check(t, s.Close(t.Context()))
		m.same(t, ix)
		snapshot, err := ix.Snapshot()
		check(t, err)
		check(t, snapshot.Verify(t.Context(), nil))
		snapshot.Release()
		check(t, ix.Close())
	}
}

// Writers, searches, refreshes, flushes and merges run at the same time. Each writer has ids of its
// own; all its acknowledged writes are there at the end.
func TestConcurrent(t *testing.T) {
	mem := vfstest.NewMem()
	ix := create(t, mem, "ix")
	s := open(t, mem, ix, Options{RefreshInterval: 3 * time.Millisecond, MemoryBytes: 1 << 20, FlushBytes: 64 << 10})
	ctx, stop := context.WithCancel(t.Context())
	var writers, others sync.WaitGroup
	var acknowledged atomic.Int64
	models := make([]*model, 4)
	for w := range models {
		m := &model{states: map[string]state{}}
		models[w] = m
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 8))
			for range 150 {
				op := randomOp(rng, &model{})
				op.Doc.ID, op.IfSeq = fmt.Sprintf("%d-%s", w, op.Doc.ID), 0
				r, err := s.Apply(t.Context(), []Op{op})
				if err != nil {
					t.Errorf("apply: %v", err)
					return
				}
				if want, _ := m.apply(op, r[0].Version.Seq); r[0].Outcome != want {
					t.Errorf("outcome %d of %+v, want %d", r[0].Outcome, op, want)
				}
				acknowledged.Add(1)
			}
		})
	}
	for kind := range 2 {
		others.Go(func() {
			for ctx.Err() == nil {
				var err error
				if kind == 0 {
					err = s.Flush(t.Context())
				} else {
					err = s.Merge(t.Context(), 3)
				}
				if err != nil {
					t.Errorf("flush or merge: %v", err)
					return
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	writers.Wait()
	stop()
	others.Wait()
	check(t, s.Close(t.Context()))
	all := &model{states: map[string]state{}}
	for _, m := range models {
		for id, st := range m.states {
			all.states[id] = st
		}
	}
	all.same(t, ix)
	check(t, ix.Close())
	if acknowledged.Load() != 600 {
		t.Errorf("%d writes acknowledged, want 600", acknowledged.Load())
	}
}
