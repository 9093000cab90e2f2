package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
)

// sourceField has the JSON of a document that encodeSources has encoded.
const sourceField = "_source"

// sourceOf is the document as a JSON object.
func sourceOf(d *griffin.Document) ([]byte, error) {
	if len(d.Fields) == 1 && d.Fields[0].Name == sourceField {
		return []byte(d.Fields[0].Value), nil
	}
	return encodeSource(d, nil, nil)
}

// encodeSource encodes a document whose values have types; without kinds, they are texts. A field with several
// values is a list. typed are the columns of CSV whose values are numbers or booleans.
func encodeSource(d *griffin.Document, kinds []corpus.Kind, typed map[string]bool) ([]byte, error) {
	values := map[string][]any{}
	for i, f := range d.Fields {
		var v any = f.Value
		if i < len(kinds) {
			switch kinds[i] {
			case corpus.KindNumber, corpus.KindBoolean, corpus.KindObject:
				v = json.RawMessage(f.Value)
			case corpus.KindCell:
				if typed[f.Name] {
					v = json.RawMessage(f.Value)
				}
			}
		}
		values[f.Name] = append(values[f.Name], v)
	}
	source := map[string]any{}
	for name, v := range values {
		if source[name] = v; len(v) == 1 {
			source[name] = v[0]
		}
	}
	if d.Title != "" {
		source["title"] = d.Title
	}
	if d.Text != "" {
		source["text"] = d.Text
	}
	return json.Marshal(source)
}

// encodeSources replaces the documents of a batch by their JSON.
func encodeSources(batch []griffin.Write, kinds [][]corpus.Kind) error {
	typed := typedColumns(batch, kinds)
	for i := range batch {
		d := &batch[i].Document
		source, err := encodeSource(d, kinds[i], typed)
		if err != nil {
			return err
		}
		*d = griffin.Document{ID: d.ID, Fields: []griffin.Field{{Name: sourceField, Value: string(source)}}}
	}
	return nil
}

// typedColumns are the columns of CSV whose values in a batch are all numbers, or all booleans.
func typedColumns(batch []griffin.Write, kinds [][]corpus.Kind) map[string]bool {
	found := map[string]byte{} // of a column: 0 for a number, t for a boolean, " for others
	for i := range batch {
		for j, f := range batch[i].Document.Fields {
			if j >= len(kinds[i]) || kinds[i][j] != corpus.KindCell {
				continue
			}
			kind := scalarKind(f.Value)
			if before, ok := found[f.Name]; ok && before != kind {
				kind = '"'
			}
			found[f.Name] = kind
		}
	}
	typed := map[string]bool{}
	for name, kind := range found {
		typed[name] = kind != '"'
	}
	return typed
}

// scalarKind reports whether a text is a number or a boolean of JSON. 007 is neither, nor is a text with blanks or a line end.
func scalarKind(text string) byte {
	switch {
	case text == "true" || text == "false":
		return 't'
	case text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9') && strings.TrimSpace(text) == text && json.Valid([]byte(text)):
		return '0'
	default:
		return '"'
	}
}

// mapped describes the fields of the index, which may not exist yet.
func (s *serverIndex) mapped(ctx context.Context) (*corpus.Mapped, error) {
	var answer map[string]struct {
		Mappings json.RawMessage `json:"mappings"`
	}
	err := callServer(ctx, s.client, http.MethodGet, s.url+"/_mapping", nil, &answer)
	if errors.Is(err, base.ErrNotIndex) {
		return &corpus.Mapped{Any: true}, nil
	}
	if err != nil {
		return nil, err
	}
	for _, index := range answer {
		m, err := griffin.ParseMapping(index.Mappings)
		if err != nil {
			return nil, err
		}
		if mapped := mappedBy(m); mapped != nil {
			mapped.Any = true
			return mapped, nil
		}
	}
	return &corpus.Mapped{Any: true}, nil
}
