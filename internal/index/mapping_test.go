package index

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

func parsed(t testing.TB, text string) *mapping.Mapping {
	t.Helper()
	m, err := mapping.Parse([]byte(text))
	check(t, err)
	return m
}

// A manifest of version 4 has a mapping, in the order of declaration.
func TestManifestOfMapping(t *testing.T) {
	m := testManifest(t)
	o := Options{Mapping: parsed(t, `{"dynamic": "strict", "properties": {"a": {"type": "text"}, "k": {"type": "keyword", "ignore_above": 5}}}`)}
	var err error
	m.Options, err = o.withDefaults()
	check(t, err)
	grown, err := m.Options.With([]mapping.Field{{Name: "k"}, {Name: "a.raw", Of: "a", Type: mapping.Keyword}, {Name: "b"}})
	check(t, err)
	added, err := m.addFields(grown.Schema())
	check(t, err)
	if !added || m.Grown != 2 || !slices.Equal(m.Options.Fields, []string{"a", "k", "a.raw", "b"}) {
		t.Errorf("added %t, %d of fields %q", added, m.Grown, m.Options.Fields)
	}
	data, err := m.encode()
	check(t, err)
	if !strings.HasPrefix(string(data), "griffin-manifest 4 ") {
		t.Errorf("manifest %.40s", data)
	}
	got, err := parseManifest(data)
	check(t, err)
	if !got.Options.Mapping.Equal(m.Options.Mapping) || got.Options.Mapping.Dynamic() != mapping.DynamicStrict {
		t.Errorf("the mapping is read as %s, want %s", got.Options.Mapping.AppendJSON(nil), m.Options.Mapping.AppendJSON(nil))
	}
	got.Options.Mapping = m.Options.Mapping
	if !reflect.DeepEqual(got, m) {
		t.Errorf("got %+v, want %+v", got, m)
	}
	revised, changes, err := m.Options.Updated(parsed(t, `{"properties": {"a": {"type": "text", "boost": 2}, "z": {"type": "text"}}}`))
	check(t, err)
	later := m.clone()
	changed, err := later.addFields(revised.Schema())
	check(t, err)
	data, err = later.encode()
	check(t, err)
	if !changed || len(changes) != 2 || later.Grown != 3 || !strings.HasPrefix(string(data), "griffin-manifest 5 ") || later.Options.Mapping.Dynamic() != mapping.DynamicStrict {
		t.Errorf("changed %t, %d of fields %q: %.40s", changed, later.Grown, later.Options.Fields, data)
	}
	if back, err := later.addFields(grown.Schema()); err != nil || back || later.Options.Mapping.Revision() != 1 {
		t.Errorf("an older mapping took the place of a newer one: %t, %v", back, err)
	}
	for name, change := range map[string]func(m *manifest){
		"other fields":   func(m *manifest) { m.Options.Fields = []string{"a"} },
		"too many grown": func(m *manifest) { m.Grown = 5 },
		"weights":        func(m *manifest) { m.Options.WeightScale, m.Options.Positions = 100, false },
		"unknown analyzer": func(m *manifest) {
			m.Options.Mapping = parsed(t, `{"properties": {"a": {"type": "text", "analyzer": "none"}}}`)
			m.Options.Fields = []string{"a"}
		},
	} {
		m := got.clone()
		change(m)
		data, err := m.encode()
		check(t, err)
		if _, err := parseManifest(data); !errors.Is(err, base.ErrCorrupt) && !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestOptionsWithMapping(t *testing.T) {
	for text, want := range map[string]string{
		`{"dynamic": true}`: "[dynamic] true",
		`{"properties": {"a": {"type": "text", "analyzer": "english", "search_analyzer": "vulcan"}}}`: "vulcan",
		`{"properties": {"a": {"type": "text", "analyzer": "klingon"}}}`:                              "klingon",
	} {
		_, err := Create(vfstest.NewMem(), "ix", Options{Mapping: parsed(t, text)})
		if !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	m := parsed(t, `{"properties": {"a": {"type": "text", "analyzer": "english"}, "b": {"type": "text", "index": false}}}`)
	if _, err := Create(vfstest.NewMem(), "ix", Options{Mapping: m, Fields: []string{"a", "c"}}); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("fields beside a mapping: %v", err)
	}
	ix, err := Create(vfstest.NewMem(), "ix", Options{Mapping: m})
	check(t, err)
	if o := ix.Options(); !slices.Equal(o.Fields, []string{"a"}) || len(o.Declared()) != 2 || o.FieldMapping() != m {
		t.Errorf("fields %q, declared %v", o.Fields, o.Declared())
	}
	check(t, ix.Close())
	plain := Options{Fields: []string{"x", "y"}}
	if got := plain.FieldMapping(); len(got.Fields()) != 2 || got.Fields()[1].Name != "y" {
		t.Errorf("an index of texts has the mapping %s", got.AppendJSON(nil))
	}
}
