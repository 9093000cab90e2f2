package rest

import "strings"

// pathFilter chooses parts of an answer by the parameter filter_path. A path is a list of names of
// members; in a name, * is any text, and the name ** is any number of names. Lists have no names.
type pathFilter struct {
	includes, excludes []namePath
}

type namePath []string

// newPathFilter reads paths of names with dots between them, with commas between the paths. A path with - in front
// excludes.
func newPathFilter(text string) (*pathFilter, *Error) {
	f := &pathFilter{}
	for path := range strings.SplitSeq(text, ",") {
		to := &f.includes
		if excluded, is := strings.CutPrefix(path, "-"); is {
			to, path = &f.excludes, excluded
		}
		names := namePath(strings.Split(path, "."))
		for _, name := range names {
			if name == "" {
				return nil, illegal("[filter_path] has an empty name in [%s]", path)
			}
		}
		*to = append(*to, names)
	}
	return f, nil
}

// apply returns the chosen parts of JSON, or {}. Objects and lists that lost all of their parts are left out.
func (f *pathFilter) apply(text []byte) []byte {
	out, kept := appendChosen(nil, string(text), f.includes, len(f.includes) == 0, f.excludes)
	if !kept {
		out = append(out[:0], "{}"...)
	}
	return append(out, '\n')
}

// appendChosen appends the parts of a value that a path of includes leads to, or all if it is included, but the
// ones that a path of excludes leads to.
func appendChosen(dst []byte, value string, includes []namePath, included bool, excludes []namePath) (_ []byte, kept bool) {
	value = strings.TrimSpace(value)
	if included && len(excludes) == 0 {
		return append(dst, value...), true
	}
	var end byte
	parts := 0
	add := func(name, value string, includes []namePath, included bool, excludes []namePath) {
		before := len(dst)
		if kept {
			dst = append(dst, ',')
		}
		if end == '}' {
			dst = append(appendString(dst, name), ':')
		}
		parts++
		var ok bool
		if dst, ok = appendChosen(dst, value, includes, included, excludes); ok {
			kept = true
		} else {
			dst = dst[:before]
		}
	}
	switch value[0] {
	case '{':
		dst, end = append(dst, '{'), '}'
		for _, m := range members(value) {
			deeper, is := step(includes, m.key)
			without, excluded := step(excludes, m.key)
			if excluded {
				parts++
				continue
			}
			add(m.key, m.value, deeper, included || is, without)
		}
	case '[':
		dst, end = append(dst, '['), ']'
		for _, e := range elements(value) {
			add("", e, includes, included, excludes)
		}
	default:
		return append(dst, value...), included
	}
	return append(dst, end), kept || included && parts == 0
}

// step returns the rests of the paths below a member. It reports whether one of them ends there.
func step(paths []namePath, name string) (deeper []namePath, ends bool) {
	for _, p := range paths {
		if p[0] == "**" {
			if len(p) == 1 {
				return nil, true
			}
			deeper = append(deeper, p)
			below, end := step([]namePath{p[1:]}, name)
			if end {
				return nil, true
			}
			deeper = append(deeper, below...)
			continue
		}
		if matchPattern(p[0], name) {
			if len(p) == 1 {
				return nil, true
			}
			deeper = append(deeper, p[1:])
		}
	}
	return deeper, false
}

// whole refuses filter_path, for answers of lines.
func (r *request) whole() *Error {
	if r.chosen != nil {
		return illegal("request [%s] has no [filter_path]: the answer is not one JSON value", r.URL.Path)
	}
	return nil
}
