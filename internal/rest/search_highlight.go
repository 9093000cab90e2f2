package rest

import (
	"cmp"
	"encoding/json"
	"errors"
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
	PreTags, PostTags                            []string
	FragmentSize, NumberOfFragments, NoMatchSize *int
	RequireFieldMatch                            *bool
	Type, Encoder                                string
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
	top, _ := decodeObject(raw) // readOptions has read it
	if top["fields"] == nil {
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
		return badRequest(typeParsing, "[highlight] has encoder [%s]: want default or html", all.Encoder).at(top["encoder"])
	}
	list := []json.RawMessage{top["fields"]}
	if !isObject(string(top["fields"])) {
		var ok bool
		if list, ok = decodeList(top["fields"]); !ok {
			return badRequest(typeParsing, "[highlight] has fields %.60s: want an object or a list of objects", top["fields"]).at(top["fields"])
		}
	}
	for _, one := range list {
		fields, bad := decodeObject(one)
		if bad != nil || fields == nil {
			return badRequest(typeParsing, "[highlight] has a field %.60s: want an object", one).at(one)
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

// hasNull reports whether a value is null, or a list with null.
func hasNull(raw json.RawMessage) bool {
	list, _ := decodeList(raw)
	return string(raw) == "null" || slices.ContainsFunc(list, func(one json.RawMessage) bool { return string(one) == "null" })
}

var errNull = errors.New("null is no value")

// readOptions reads an object with the known keys.
func readOptions(of string, raw json.RawMessage, known []string, to *fragmentOptions) *Error {
	o, bad := decodeObject(raw)
	if bad != nil || o == nil {
		return badRequest(typeParsing, "[%s] is %.60s: want an object", of, raw).at(raw)
	}
	targets := map[string]any{
		"pre_tags": &to.PreTags, "post_tags": &to.PostTags, "fragment_size": &to.FragmentSize, "number_of_fragments": &to.NumberOfFragments,
		"no_match_size": &to.NoMatchSize, "require_field_match": &to.RequireFieldMatch, "type": &to.Type, "encoder": &to.Encoder, "fields": new(json.RawMessage),
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(known, key) {
			return badRequest(typeParsing, "[%s] has [%s], which is not supported: there are %s", of, key, strings.Join(known, ", ")).at(o[key])
		}
		switch target := targets[key].(type) { // the values of all fields stay
		case **int:
			*target = nil
		case **bool:
			*target = nil
		}
		if err := json.Unmarshal(o[key], targets[key]); err != nil || hasNull(o[key]) {
			return badRequest(typeParsing, "[%s] has [%s] %.60s: %s", of, key, o[key], jsonReason(cmp.Or(err, errNull))).at(o[key])
		}
	}
	if to.Type != "" && !slices.Contains([]string{"unified", "plain", "fvh"}, to.Type) {
		return badRequest(typeParsing, "[%s] has type [%s]: want unified, plain or fvh, which are the same here", of, to.Type).at(o["type"])
	}
	for key, n := range map[string]*int{"fragment_size": to.FragmentSize, "number_of_fragments": to.NumberOfFragments, "no_match_size": to.NoMatchSize} {
		if n != nil && (*n < 0 || *n > maxQueryText) {
			return badRequest(typeParsing, "[%s] has [%s] %d: want 0 to %d", of, key, *n, maxQueryText).at(o[key])
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
