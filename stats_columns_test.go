package griffin

import (
	"path/filepath"
	"reflect"
	"testing"
)

func TestColumnStats(t *testing.T) {
	m, err := ParseMapping([]byte(`{"properties": {"kind": {"type": "keyword"}, "price": {"type": "double"}, "day": {"type": "date"}, "at": {"type": "geo_point"},
		"none": {"type": "long"}, "code": {"type": "keyword", "doc_values": false}, "n": {"type": "long", "doc_values": false}, "note": {"type": "text"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	ix, err := Create(filepath.Join(t.TempDir(), "ix"), Settings{Mapping: m}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	for _, d := range []Document{
		{ID: "1", Fields: []Field{{"kind", "a"}, {"kind", "b"}, {"price", "-1.5"}, {"day", "2024-05-01"}, {"at", "1,2"}, {"n", "4"}, {"code", "x"}}},
		{ID: "2", Fields: []Field{{"kind", "a"}, {"price", "20"}, {"day", "2023-01-01"}}},
		{ID: "3", Text: "nothing"},
	} {
		if err := ix.Add(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if err := ix.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s, err := ix.Stats()
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.Columns {
		if c := &s.Columns[i]; c.Name != "price" || c.SizeBytes > 0 {
			c.SizeBytes = 0
		}
	}
	want := []ColumnStats{
		{Name: "kind", Type: "keyword", NumDocs: 2, NumValues: 3, NumTerms: 3, Sortable: true},
		{Name: "price", Type: "double", NumDocs: 2, NumValues: 2, Min: "-1.5", Max: "20.0", Sortable: true},
		{Name: "day", Type: "date", NumDocs: 2, NumValues: 2, Min: "2023-01-01T00:00:00.000Z", Max: "2024-05-01T00:00:00.000Z", Sortable: true},
		{Name: "at", Type: "geo_point", NumDocs: 1, NumValues: 1, Sortable: true},
		{Name: "none", Type: "long", Sortable: true},
		{Name: "n", Type: "long", NumDocs: 1, NumValues: 1, Min: "4", Max: "4"},
	}
	if !reflect.DeepEqual(s.Columns, want) {
		t.Errorf("columns\n%+v, want\n%+v", s.Columns, want)
	}
}
