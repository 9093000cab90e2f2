package griffin

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/query"
)

// A value that a field cannot hold is a fault with its byte; a lenient query ignores it with a note.
func TestFaultsOfValues(t *testing.T) {
	m, err := ParseMapping([]byte(`{"properties": {"name": {"type": "text", "copy_to": "all"}, "all": {"type": "text"}, "price": {"type": "long"}, "at": {"type": "geo_point", "null_value": "1,2"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	ix, err := Create(filepath.Join(t.TempDir(), "ix"), Settings{Mapping: m}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	file := filepath.Join(t.TempDir(), "docs.jsonl")
	if err := os.WriteFile(file, []byte(`{"id":"a","name":"red fox","price":5,"at":[null]}`+"\n"+`{"id":"b","name":"fox","price":6}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := ix.IndexFiles(t.Context(), []string{file}, FilesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Notes) > 0 {
		t.Errorf("notes %q: a field that others are copied to is in no document", report.Notes)
	}
	for _, c := range []struct {
		text   string
		offset int
		want   []string // of a lenient query
	}{
		{"fox price:many", 10, []string{"b", "a"}},
		{"red AND price:(5 many)", 17, []string{"a"}},
		{"+fox -price:>x", 12, []string{"b", "a"}},
		{"at:5^2 red", 3, []string{"a"}},
		{"price:[1 TO x}", 6, []string{}},
		{"_exists_:at price:5*", 18, []string{"a"}},
		{`fox price:"a b"~2`, 10, []string{"b", "a"}},
	} {
		_, err := ix.Search(t.Context(), Query{Text: c.text})
		var fault *query.Error
		if !errors.As(err, &fault) || fault.Offset != c.offset || !errors.Is(err, ErrBadInput) {
			t.Errorf("%s: %v, want a fault at byte %d", c.text, err, c.offset)
		}
		if _, err := ParseFilter(ix, c.text); !errors.As(err, &fault) || fault.Offset != c.offset {
			t.Errorf("filter %s: %v", c.text, err)
		}
		r, err := ix.Search(t.Context(), Query{Text: c.text, Lenient: true})
		if err != nil {
			t.Errorf("%s, lenient: %v", c.text, err)
			continue
		}
		got := []string{}
		for _, h := range r.Hits {
			got = append(got, h.ID)
		}
		if !slices.Equal(got, c.want) || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "field") {
			t.Errorf("%s, lenient: %q with notes %q, want %q", c.text, got, r.Notes, c.want)
		}
	}
}
