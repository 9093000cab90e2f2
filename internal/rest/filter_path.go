package rest

import "strings"

// pathFilter chooses parts of an answer by the parameter filter_path. A path is a list of names of
// members; in a name, * is any text, and the name ** is any number of names. Lists have no names.
type pathFilter struct {
	includes, excludes []namePath
	steps              int // the calls of step
}

type namePath []pathName

type pathName struct {
	text string
	seen int // the last step that led here
}

// maxFilterPath is the limit of the first line of a request in OpenSearch, in bytes.
const maxFilterPath = 4096

const anyNames = "**"

// newPathFilter reads paths of names with dots between them, with commas between the paths. A path with - in front
// excludes. A backslash before a dot makes it a part of a name.
func newPathFilter(text string) (*pathFilter, *Error) {
	if len(text) > maxFilterPath {
		return nil, illegal("[filter_path] has more than %d bytes", maxFilterPath)
	}
	f := &pathFilter{}
	for path := range strings.SplitSeq(text, ",") {
		path = strings.TrimSpace(path)
		to := &f.includes
		if excluded, is := strings.CutPrefix(path, "-"); is {
			to, path = &f.excludes, excluded
		}
		var names namePath
		for rest, more := path, true; more; {
			var name string
			if name, rest, more = cutName(rest); name == "" {
				return nil, illegal("[filter_path] has an empty name in [%s]", path)
			}
			if last := len(names) - 1; name == anyNames && last >= 0 && names[last].text == anyNames {
				continue // two have the same meaning as one
			}
			names = append(names, pathName{text: name})
		}
		*to = append(*to, names)
	}
	return f, nil
}

// cutName cuts a path at its first dot without a backslash.
func cutName(path string) (name, rest string, more bool) {
	for at := 0; at < len(path); at++ {
		switch {
		case strings.HasPrefix(path[at:], `\.`):
			path = path[:at] + path[at+1:]
		case path[at] == '.':
			return path[:at], path[at+1:], true
		}
	}
	return path, "", false
}

// apply returns the chosen parts of JSON, or {}. Objects and lists that lost all of their parts are left out.
func (f *pathFilter) apply(text []byte) []byte {
	c := chooser{scanner: scanner{text: string(text)}, filter: f}
	if !c.choose(f.includes, len(f.includes) == 0, f.excludes) {
		c.out = append(c.out[:0], "{}"...)
	}
	return append(c.out, '\n')
}

// chooser reads JSON once, whatever its depth.
type chooser struct {
	scanner
	filter *pathFilter
	out    []byte
}

// choose appends the parts of the next value that a path of includes leads to, or all if it is included, but the
// ones that a path of excludes leads to. It reports whether there are any.
func (c *chooser) choose(includes []namePath, included bool, excludes []namePath) (kept bool) {
	kind := c.next()
	paths := excludes
	if !included {
		paths = includes
	}
	switch {
	case len(paths) == 0: // all of the value, or nothing
	case kind == '{':
		return c.chooseMembers(includes, included, excludes)
	case kind == '[':
		return c.chooseElements(includes, included, excludes)
	}
	if value := c.value(); included {
		c.out = append(c.out, value...)
	}
	return included
}

func (c *chooser) chooseMembers(includes []namePath, included bool, excludes []namePath) (kept bool) {
	c.at++
	c.out = append(c.out, '{')
	empty := true
	for ; c.more('}'); empty = false {
		key := unquote(c.rawString())
		c.space()
		c.at++ // the colon
		deeper, is := c.filter.step(includes, key)
		without, excluded := c.filter.step(excludes, key)
		if excluded {
			c.value()
			continue
		}
		before := len(c.out)
		if kept {
			c.out = append(c.out, ',')
		}
		c.out = append(appendString(c.out, key), ':')
		if c.choose(deeper, included || is, without) {
			kept = true
		} else {
			c.out = c.out[:before]
		}
	}
	c.out = append(c.out, '}')
	return kept || included && empty
}

func (c *chooser) chooseElements(includes []namePath, included bool, excludes []namePath) (kept bool) {
	c.at++
	c.out = append(c.out, '[')
	empty := true
	for ; c.more(']'); empty = false {
		before := len(c.out)
		if kept {
			c.out = append(c.out, ',')
		}
		if c.choose(includes, included, excludes) {
			kept = true
		} else {
			c.out = c.out[:before]
		}
	}
	c.out = append(c.out, ']')
	return kept || included && empty
}

// more moves to the next part of an object or list, or past its end.
func (c *chooser) more(end byte) bool {
	switch c.next() {
	case end:
		c.at++
		return false
	case ',':
		c.at++
		c.space()
	}
	return true
}

// step returns the rests of the paths below a member, each once: otherwise several ** multiply. It reports whether
// one of them ends there.
func (f *pathFilter) step(paths []namePath, name string) (deeper []namePath, ends bool) {
	f.steps++
	for _, p := range paths {
		if deeper, ends = f.follow(deeper, p, name); ends {
			return nil, true
		}
	}
	return deeper, false
}

func (f *pathFilter) follow(deeper []namePath, p namePath, name string) (_ []namePath, ends bool) {
	if p[0].text == anyNames {
		if len(p) == 1 {
			return nil, true
		}
		return f.follow(f.add(deeper, p), p[1:], name)
	}
	if !matchPattern(p[0].text, name) {
		return deeper, false
	}
	if len(p) == 1 {
		return nil, true
	}
	return f.add(deeper, p[1:]), false
}

func (f *pathFilter) add(deeper []namePath, p namePath) []namePath {
	if p[0].seen == f.steps {
		return deeper
	}
	p[0].seen = f.steps
	return append(deeper, p)
}

// whole refuses filter_path, for answers of lines.
func (r *request) whole() *Error {
	if r.chosen != nil {
		return illegal("request [%s] has no [filter_path]: the answer is not one JSON value", r.URL.Path)
	}
	return nil
}
