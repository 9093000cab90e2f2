package rest

import (
	"encoding/json"
	"html"
	"maps"
	"slices"
	"strings"

	"github.com/griffin-search/griffin"
)

// highlightRequest is the value of "highlight".
type highlightRequest struct {
	options   *griffin.Highlight
	pre, post string
	escape    bool // encoder html
}

const (
	defaultFragmentSize = 100
	defaultFragments    = 5
)

// fragmentOptions are of all fields, or of one.
type fragmentOptions struct {
	PreTags           []string `json:"pre_tags"`
	PostTags          []string `json:"post_tags"`
	FragmentSize      *int     `json:"fragment_size"`
	NumberOfFragments *int     `json:"number_of_fragments"`
	NoMatchSize       *int     `json:"no_match_size"`
	RequireFieldMatch *bool    `json:"require_field_match"`
	Type              string   `json:"type"`
	Encoder           string   `json:"encoder"`
}

var (
	highlightKeys      = []string{"fields", "pre_tags", "post_tags", "fragment_size", "number_of_fragments", "no_match_size", "require_field_match", "type", "encoder"}
	highlightFieldKeys = []string{"fragment_size", "number_of_fragments", "no_match_size", "require_field_match", "type"}
)

func (s *searchRequest) parseHighlight(_ *Index, _ string, raw json.RawMessage) *Error {
	var all fragmentOptions
	if err := readOptions("highlight", raw, highlightKeys, &all); err != nil {
		return err
	}
	var top struct {
		Fields json.RawMessage `json:"fields"`
	}
	if err := json.Unmarshal(raw, &top); err != nil || top.Fields == nil {
		return badRequest(typeParsing, "[highlight] needs [fields]")
	}
	h := &highlightRequest{options: &griffin.Highlight{Filters: true}, pre: "<em>", post: "</em>", escape: all.Encoder == "html"}
	if len(all.PreTags) > 0 {
		h.pre = all.PreTags[0]
	}
	if len(all.PostTags) > 0 {
		h.post = all.PostTags[0]
	}
	if all.Encoder != "" && all.Encoder != "default" && all.Encoder != "html" {
		return badRequest(typeParsing, "[highlight] has encoder [%s]: want default or html", all.Encoder)
	}
	list := []json.RawMessage{top.Fields}
	if !isObject(string(top.Fields)) {
		list = nil
		if json.Unmarshal(top.Fields, &list) != nil {
			return badRequest(typeParsing, "[highlight] has fields %.60s: want an object or a list of objects", top.Fields)
		}
	}
	for _, one := range list {
		var fields map[string]json.RawMessage
		if json.Unmarshal(one, &fields) != nil {
			return badRequest(typeParsing, "[highlight] has a field %.60s: want an object", one)
		}
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			own := all
			if err := readOptions("highlight of field "+name, fields[name], highlightFieldKeys, &own); err != nil {
				return err
			}
			h.options.Fields = append(h.options.Fields, own.field(name))
		}
	}
	s.highlight = h
	return nil
}

// readOptions reads an object with the known keys.
func readOptions(of string, raw json.RawMessage, known []string, to *fragmentOptions) *Error {
	var o map[string]json.RawMessage
	if json.Unmarshal(raw, &o) != nil || o == nil {
		return badRequest(typeParsing, "[%s] is %.60s: want an object", of, raw)
	}
	for key := range o {
		if !slices.Contains(known, key) {
			return badRequest(typeParsing, "[%s] has [%s], which is not supported", of, key)
		}
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return badRequest(typeParsing, "[%s]: %s", of, jsonReason(err))
	}
	if to.Type != "" && !slices.Contains([]string{"unified", "plain", "fvh"}, to.Type) {
		return badRequest(typeParsing, "[%s] has type [%s]: want unified, plain or fvh, which are the same here", of, to.Type)
	}
	for key, n := range map[string]*int{"fragment_size": to.FragmentSize, "number_of_fragments": to.NumberOfFragments, "no_match_size": to.NoMatchSize} {
		if n != nil && (*n < 0 || *n > maxQueryText) {
			return badRequest(typeParsing, "[%s] has [%s] %d", of, key, *n)
		}
	}
	return nil
}

func (o *fragmentOptions) field(name string) griffin.HighlightField {
	f := griffin.HighlightField{Name: name, FragmentSize: defaultFragmentSize, Fragments: defaultFragments}
	if o.FragmentSize != nil {
		f.FragmentSize = max(*o.FragmentSize, 1)
	}
	if o.NumberOfFragments != nil {
		f.Fragments = *o.NumberOfFragments
	}
	if o.NoMatchSize != nil {
		f.NoMatchSize = *o.NoMatchSize
	}
	f.Whole = f.Fragments == 0
	f.AnyField = o.RequireFieldMatch != nil && !*o.RequireFieldMatch
	return f
}

// append appends an object of fragments by field.
func (h *highlightRequest) append(dst []byte, highlights map[string][]griffin.Snippet) []byte {
	dst = append(dst, '{')
	for i, name := range slices.Sorted(maps.Keys(highlights)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(appendString(dst, name), ':'), '[')
		for j := range highlights[name] {
			if j > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, h.text(&highlights[name][j]))
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

func (h *highlightRequest) text(s *griffin.Snippet) string {
	var out strings.Builder
	for text, highlighted := range s.Parts() {
		if h.escape {
			text = html.EscapeString(text)
		}
		if highlighted {
			out.WriteString(h.pre)
		}
		out.WriteString(text)
		if highlighted {
			out.WriteString(h.post)
		}
	}
	return out.String()
}
