package living

import (
	"errors"
	"fmt"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// Each document is indexed by the parameters that its field had when it was written, also after a crash between any
// two steps, for every combination of publishes and commits before.
func TestRevisionsOfFields(t *testing.T) {
	t.Parallel()
	parse := func(text string) *mapping.Mapping {
		m, err := mapping.Parse([]byte(text))
		check(t, err)
		return m
	}
	write := func(s *Store, id string) error {
		doc := &corpus.Document{ID: id, Text: "x", Extra: []corpus.Field{{Name: "k", Value: "value"}}}
		results, err := s.Apply(t.Context(), []Op{{Doc: doc}})
		return errors.Join(err, results[0].Err)
	}
	revise := func(s *Store, ignoreAbove int) error {
		return s.AddMapping(t.Context(), parse(fmt.Sprintf(`{"properties": {"k": {"type": "keyword", "ignore_above": %d}, "n%d": {"type": "long"}}}`, ignoreAbove, ignoreAbove)))
	}
	steps := []func(s *Store) error{
		func(s *Store) error { return write(s, "1") },
		func(s *Store) error { return revise(s, 10) },
		func(s *Store) error { return write(s, "2") },
		func(s *Store) error { return revise(s, 4) },
		func(s *Store) error { return write(s, "3") },
		func(s *Store) error { return revise(s, 20) },
		func(s *Store) error { return write(s, "4") },
		func(s *Store) error { return write(s, "1") },
	}
	for visible := range 3 { // never, after each step, and committed
		for crash := range len(steps) + 1 {
			opts := Options{RefreshInterval: -1, CheckpointBytes: int64(crash % 2)}
			mem := vfstest.NewMem()
			ix, err := index.Create(mem, "ix", index.Options{Mapping: parse(`{"properties": {"k": {"type": "keyword", "ignore_above": 3}}}`)})
			check(t, err)
			w, err := ix.Writer(index.WriterOptions{})
			check(t, err)
			check(t, errors.Join(w.Commit(t.Context()), w.Close()))
			s := open(t, mem, ix, opts)
			for i, step := range steps {
				if i == crash {
					crashed := mem.Clone()
					check(t, errors.Join(s.Close(t.Context()), ix.Close()))
					mem = crashed
					ix, err = index.Open(mem, "ix")
					check(t, err)
					s = open(t, mem, ix, opts)
				}
				check(t, step(s))
				switch visible {
				case 1:
					check(t, s.Refresh(t.Context()))
				case 2:
					check(t, s.Flush(t.Context()))
				}
			}
			var conflict *mapping.ConflictError
			if err := s.AddMapping(t.Context(), parse(`{"properties": {"k": {"type": "keyword", "index": false}}}`)); !errors.As(err, &conflict) || !errors.Is(err, base.ErrBadInput) {
				t.Errorf("index false: %v", err)
			}
			check(t, s.Close(t.Context()))
			if f, _ := ix.Options().Mapping.Field("k"); f.IgnoreAbove != 20 || ix.Options().Mapping.Revision() != 3 || ix.Options().Mapping.Shape() != 3 {
				t.Fatalf("crash before step %d: ignore_above %d of revision %d", crash, f.IgnoreAbove, ix.Options().Mapping.Revision())
			}
			snapshot, err := ix.Snapshot()
			check(t, err)
			found := map[string]bool{}
			for i := range snapshot.Segments {
				v := &snapshot.Segments[i]
				var l postings.List
				has, err := v.Find(1, []byte("value"), &l)
				check(t, err)
				if !has {
					continue
				}
				var docs [codec.BlockLen]uint32
				_, err = l.DecodeDocIDs(0, &docs)
				check(t, err)
				for _, d := range docs[:l.DocFreq] {
					doc := base.DocID(d)
					if v.Live == nil || v.Live.Has(int(doc)) {
						id, err := v.ID(doc)
						check(t, err)
						found[string(id)] = true
					}
				}
			}
			if fmt.Sprint(found) != "map[1:true 2:true 4:true]" {
				t.Errorf("visible %d, crash before step %d: documents %v", visible, crash, found)
			}
			check(t, snapshot.Verify(t.Context(), nil))
			if err := snapshot.CanRebuild(); !errors.Is(err, base.ErrBadInput) {
				t.Errorf("it can be rebuilt: %v", err)
			}
			snapshot.Release()
			check(t, ix.Close())
		}
	}
}
