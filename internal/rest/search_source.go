package rest

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// sourceFilter chooses parts of documents. Patterns are dotted names; * is any text.
type sourceFilter struct {
	none               bool
	includes, excludes []string
}

// parse reads "_source": a boolean, a pattern, a list of these, or an object.
func (f *sourceFilter) parse(raw json.RawMessage) *Error {
	if source, ok := plainBool(raw); ok {
		f.none = !source
		return nil
	}
	malformed := badRequest(typeParsing, "[_source] is %.60s: want true, false, a field, a list of fields, or an object with includes and excludes", raw)
	var source bool
	switch {
	case json.Unmarshal(raw, &source) == nil && string(raw) != "null":
		f.none = !source
		return nil
	case isObject(string(raw)):
		o, err := decodeObject(raw)
		if err != nil {
			return malformed
		}
		for _, key := range slices.Sorted(maps.Keys(o)) {
			value := o[key]
			to := &f.includes
			switch key {
			case "includes", "include":
			case "excludes", "exclude":
				to = &f.excludes
			default:
				return badRequest(typeParsing, "[_source] has [%s]: there are includes and excludes", key).at(value)
			}
			if *to != nil {
				return badRequest(typeParsing, "[_source] has [%s] twice, as [%s]", strings.TrimSuffix(key, "s")+"s", key).at(value)
			}
			if !patterns(value, to) {
				return malformed.at(value)
			}
		}
		return nil
	case patterns(raw, &f.includes):
		return nil
	}
	return malformed
}

// patterns reads a text or a list of texts.
func patterns(raw json.RawMessage, to *[]string) bool {
	var one string
	if string(raw) == "null" {
		return false
	}
	if json.Unmarshal(raw, &one) == nil {
		*to = []string{one}
		return true
	}
	return !hasNull(raw) && json.Unmarshal(raw, to) == nil
}

// parseURL reads the parameters _source, _source_includes and _source_excludes.
func (f *sourceFilter) parseURL(values url.Values) {
	switch text := values.Get("_source"); {
	case !values.Has("_source"):
	case text == "true" || text == "":
		f.none = false
	case text == "false":
		f.none = true
	default:
		f.includes = strings.Split(text, ",")
	}
	for name, to := range map[string]*[]string{"_source_includes": &f.includes, "_source_excludes": &f.excludes} {
		if text := values.Get(name); text != "" {
			*to = strings.Split(text, ",")
		}
	}
}

// apply returns the chosen parts of a document's JSON.
func (f *sourceFilter) apply(source []byte) []byte {
	if len(f.includes) == 0 && len(f.excludes) == 0 {
		return source
	}
	out, _ := f.object(nil, string(source), "", len(f.includes) == 0)
	return out
}

// object appends the chosen members of an object, all but the excluded ones if the object is included. It
// reports whether there are any.
func (f *sourceFilter) object(dst []byte, object, path string, included bool) (_ []byte, kept bool) {
	dst = append(dst, '{')
	for _, m := range members(object) {
		name := m.key
		if path != "" {
			name = path + "." + m.key
		}
		if matchesPattern(f.excludes, name) {
			continue
		}
		before := len(dst)
		if kept {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, m.key), ':')
		var ok bool
		if dst, ok = f.value(dst, m.value, name, included || matchesPattern(f.includes, name)); !ok {
			dst = dst[:before]
			continue
		}
		kept = true
	}
	return append(dst, '}'), kept || included
}

// value appends a value, or its chosen parts.
func (f *sourceFilter) value(dst []byte, value, path string, included bool) (_ []byte, kept bool) {
	value = strings.TrimSpace(value)
	switch value[0] {
	case '{':
		return f.object(dst, value, path, included)
	case '[':
		dst = append(dst, '[')
		for _, e := range elements(value) {
			before := len(dst)
			if last := dst[len(dst)-1]; last != '[' {
				dst = append(dst, ',')
			}
			var ok bool
			if dst, ok = f.value(dst, e, path, included); !ok {
				dst = dst[:before]
				continue
			}
			kept = true
		}
		return append(dst, ']'), kept || included
	}
	return append(dst, value...), included
}

// elements returns the values of a valid JSON list.
func elements(list string) []string {
	s := scanner{text: list}
	s.next()
	s.at++
	var out []string
	for s.next() != ']' {
		if s.text[s.at] == ',' {
			s.at++
		}
		out = append(out, s.value())
	}
	return out
}

// matchesPattern reports whether a pattern matches a dotted name, or an object that it is in.
func matchesPattern(patterns []string, name string) bool {
	for _, p := range patterns {
		if matchPattern(p, name) || strings.HasPrefix(name, p+".") {
			return true
		}
	}
	return false
}

// matchPattern matches * with any text.
func matchPattern(pattern, name string) bool {
	first, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == name
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	for {
		part, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(name, part)
		}
		at := strings.Index(name, part)
		if at < 0 {
			return false
		}
		name, rest = name[at+len(part):], after
	}
}
