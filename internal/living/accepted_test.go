package living

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
	"github.com/griffin-search/griffin/internal/wal"
)

// refusedValues are of fields that do not take them today. An earlier version may have acknowledged them.
var refusedValues = []corpus.Field{
	{Name: "wide", Value: strings.Repeat("x", 33)},
	{Name: "plain", Value: strings.Repeat("y", mapping.MaxKeywordBytes+1)},
	{Name: "copied", Value: strings.Repeat("x", 40)},
	{Name: "count", Value: "seven"},
	{Name: "day", Value: "the first"},
	{Name: "address", Value: "300.1.1.1"},
	{Name: "weights", Value: `{"a": -1}`},
	{Name: "object", Value: "a text"},
	{Name: "undeclared", Value: "a text"},
}

func refusingIndex(t *testing.T, fs *vfstest.Mem) *index.Index {
	t.Helper()
	m, err := mapping.Parse([]byte(`{"dynamic": "strict", "properties": {"wide": {"type": "keyword", "normalizer": "wide"}, "plain": {"type": "keyword"},
		"copied": {"type": "text", "copy_to": "wide"}, "count": {"type": "long"}, "day": {"type": "date"}, "address": {"type": "ip"},
		"weights": {"type": "sparse_vector"}, "object": {"properties": {"x": {"type": "keyword"}}}}}`))
	check(t, err)
	settings, err := analysis.ParseSettings([]byte(`{"char_filter": {"x": {"type": "mapping", "mappings": ["x => `+strings.Repeat("y", 1000)+`"]}},
		"normalizer": {"wide": {"char_filter": "x"}}}`), nil)
	check(t, err)
	ix, err := index.Create(fs, "ix", index.Options{Mapping: m, Analysis: settings})
	check(t, err)
	w, err := ix.Writer(index.WriterOptions{})
	check(t, err)
	check(t, errors.Join(w.Commit(t.Context()), w.Close()))
	return ix
}

// A log has documents that an earlier version acknowledged and that Apply refuses today. A replay keeps them and
// their other values, and the index can be merged, rebuilt and written to.
func TestReplayAcceptsWhatWasAcknowledged(t *testing.T) {
	fs := vfstest.NewMem()
	ix := refusingIndex(t, fs)
	log, err := wal.Open(fs, filepath.Join(ix.Dir(), index.LogName), wal.Options{After: wal.Seq(ix.Seq())})
	check(t, err)
	var docs []*corpus.Document
	add := func(extra ...corpus.Field) {
		d := &corpus.Document{ID: fmt.Sprint(len(docs)), Text: "common", Extra: extra}
		docs = append(docs, d)
		payload, kind := encodeAny(1, d)
		_, err := log.Append([]wal.Record{{Type: kind, Payload: payload}})
		check(t, err)
	}
	for _, f := range refusedValues {
		add(f, corpus.Field{Name: "plain", Value: "good"})
		add(corpus.Field{Name: "plain", Value: "good"})
	}
	add(refusedValues...)
	add(corpus.Field{Name: "weights", Value: `{"a": 1}`}, corpus.Field{Name: "weights", Value: `{"b": 1}`}, corpus.Field{Name: "plain", Value: "good"})
	check(t, log.Close())

	s := open(t, fs, ix, Options{RefreshInterval: -1})
	for i, d := range docs {
		results, err := s.Apply(t.Context(), []Op{{Doc: &corpus.Document{ID: "again", Extra: d.Extra}}})
		check(t, err)
		refused := i%2 == 0 || i >= 2*len(refusedValues)
		if err := results[0].Err; refused != errors.Is(err, base.ErrBadInput) {
			t.Errorf("document %d again: %v", i, err)
		}
	}
	check(t, s.Refresh(t.Context()))
	checkAccepted(t, fs, ix, len(docs)+1)
	results, err := s.Apply(t.Context(), []Op{{Kind: Delete, Doc: &corpus.Document{ID: "0"}}, {Kind: Delete, Doc: &corpus.Document{ID: "again"}}})
	check(t, err)
	if results[0].Outcome != Deleted || results[1].Outcome != Deleted {
		t.Errorf("%+v", results)
	}
	check(t, s.Merge(t.Context(), 1))
	checkAccepted(t, fs, ix, len(docs)-1)
	check(t, errors.Join(s.Close(t.Context()), ix.Close()))
}

// checkAccepted compares the index with a new one of its documents.
func checkAccepted(t *testing.T, fs *vfstest.Mem, ix *index.Index, numDocs int) {
	t.Helper()
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	if s.NumLive != numDocs {
		t.Errorf("%d documents, want %d", s.NumLive, numDocs)
	}
	check(t, s.Verify(t.Context(), nil))
	dir := filepath.Join(t.TempDir(), "fresh")
	check(t, s.Rebuild(t.Context(), dir, index.RebuildOptions{Threads: 1}))
	fresh, err := index.Open(fs, dir)
	check(t, err)
	rebuilt, err := fresh.Snapshot()
	check(t, err)
	found, err := s.Compare(t.Context(), rebuilt, index.CompareOptions{})
	if err != nil || len(found.Differences) > 0 {
		t.Errorf("%+v, %v", found.Differences, err)
	}
	rebuilt.Release()
	check(t, fresh.Close())
}
