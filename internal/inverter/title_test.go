package inverter

import (
	"testing"

	"github.com/griffin-search/griffin/internal/corpus"
)

func TestNameWords(t *testing.T) {
	for file, want := range map[string]string{
		"":                     "",
		"/":                    "",
		"glossary.md":          "glossary",
		"docs/a b/glossary.md": "glossary",
		"src/HashMap_test.go":  "HashMap test Hash Map test",
		"HTTPServer.java":      "HTTPServer HTTP Server",
		".profile":             "profile",
		"archive.tar.gz":       "archive tar",
		"résuméÄnderung.txt":   "résuméÄnderung résumé Änderung",
		"file\xff.txt":         "file",
		"v2.10-final.pdf":      "v2 10 final",
	} {
		if got := nameWords(file); got != want {
			t.Errorf("%q: %q, want %q", file, got, want)
		}
	}
}

// The weight of the title and of the name of the file applies to the default field only.
func TestTitleWeight(t *testing.T) {
	for _, test := range []struct {
		schema       Schema
		title, a, hi uint32 // frequency of griffin in the field title, and of griffin and hippo in the default field
	}{
		{Schema{}, 1, 2, 0},
		{Schema{TitleWeight: 5}, 1, 6, 0},
		{Schema{TitleWeight: 5, NameField: "path"}, 1, 6, 5},
		{Schema{NameField: "path"}, 1, 2, 1},
		{Schema{TitleWeight: 5, NameField: "other"}, 1, 6, 0},
	} {
		s := test.schema
		s.Analyzer, s.Fields, s.Positions = "simple", []string{"", TitleField}, true
		v := newInverter(&s, analyzerOf(t, &s), nil, nil)
		d := &corpus.Document{ID: "a", Title: "Griffin", Text: "a griffin", Extra: []corpus.Field{{Name: "path", Value: "dir/hippo.md"}}}
		if err := v.add(d); err != nil {
			t.Fatal(err)
		}
		freq := func(field int, term string) uint32 {
			f := &v.fields[field]
			before := f.table.len()
			n := f.number([]byte(term))
			if f.table.len() > before {
				return 0
			}
			return f.states[n].freq
		}
		if title, a, hi := freq(1, "griffin"), freq(0, "griffin"), freq(0, "hippo"); title != test.title || a != test.a || hi != test.hi {
			t.Errorf("%+v: %d, %d, %d", test, title, a, hi)
		}
	}
}
