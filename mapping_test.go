package griffin

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// JSON of an update can copy to fields that only the index has. A new index is an error then.
func TestMappingUpdateInJSON(t *testing.T) {
	var first, update Mapping
	if err := json.Unmarshal([]byte(`{"properties": {"all": {"type": "text"}}}`), &first); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(`{"properties": {"note": {"type": "text", "copy_to": "all"}}}`), &update); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(filepath.Join(t.TempDir(), "none"), Settings{Mapping: &update}, Options{}); !errors.Is(err, ErrBadInput) || !strings.Contains(err.Error(), "there is no field [all]") {
		t.Errorf("a new index: %v", err)
	}
	ix, err := Create(filepath.Join(t.TempDir(), "ix"), Settings{Mapping: &first}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{ix.AddMapping(t.Context(), &update), ix.Add(t.Context(), Document{ID: "1", Fields: []Field{{Name: "note", Value: "whale"}}}), ix.Commit(t.Context())} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if n, err := Count(t.Context(), ix, Query{Text: "all:whale"}); n != 1 || err != nil {
		t.Errorf("%d documents, %v", n, err)
	}
	again, err := json.Marshal(ix.Mapping())
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(again, &first); err != nil || len(first.Fields()) != 2 {
		t.Errorf("%s: %v", again, err)
	}
	if err := ix.Close(); err != nil {
		t.Error(err)
	}
}

// The error of a normalizer that is not defined names the field.
func TestUnknownNormalizer(t *testing.T) {
	m, err := ParseMapping([]byte(`{"properties": {"city": {"type": "keyword", "normalizer": "plain"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Create(filepath.Join(t.TempDir(), "ix"), Settings{Mapping: m}, Options{})
	if !errors.Is(err, ErrBadInput) || !strings.Contains(err.Error(), `field "city"`) || !strings.Contains(err.Error(), `"plain"`) {
		t.Error(err)
	}
}
