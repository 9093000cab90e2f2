package analysis

import (
	"bytes"
	"html"
	"slices"
)

// htmlStrip removes the tags of HTML, comments, scripts and style sheets, and resolves character references.
// Tags of blocks become line ends, others nothing. Incomplete tags stay. It takes time that is linear in the
// text.
type htmlStrip struct {
	escaped []string // tags that stay
	edit    edit

	text   []byte
	plain  bool            // a quote is not closed: tags end at the next >
	absent map[string]bool // ends that the rest of the text lacks
}

var _ charFilter = (*htmlStrip)(nil)

func (f *htmlStrip) filter(text []byte) ([]byte, replacements) {
	f.edit.reset()
	f.text, f.plain = text, false
	clear(f.absent)
	copied := 0
	for i := 0; i < len(text); {
		n := bytes.IndexAny(text[i:], "<&")
		if n < 0 {
			break
		}
		i += n
		var out []byte
		if text[i] == '&' {
			n, out = reference(text[i:])
		} else {
			n, out = f.tag(i)
		}
		if n == 0 {
			i++
			continue
		}
		f.edit.out = append(f.edit.out, text[copied:i]...)
		f.edit.replace(i, n, out)
		i += n
		copied = i
	}
	f.text = nil
	if copied == 0 {
		return text, nil
	}
	f.edit.out = append(f.edit.out, text[copied:]...)
	return f.edit.out, f.edit.places
}

// maxReference is the length of the longest name of a character reference, and more.
const maxReference = 40

// reference returns the length of the character reference that s starts with, 0 for none, and its text.
func reference(s []byte) (n int, out []byte) {
	n = 1
	for n < len(s) && n < maxReference && (s[n] == '#' || byteClass[s[n]]&(letterByte|digitByte) != 0) {
		n++
	}
	if n < len(s) && s[n] == ';' {
		n++
	}
	if text := html.UnescapeString(string(s[:n])); text != string(s[:n]) {
		return n, []byte(text)
	}
	return 0, nil
}

var newline = []byte("\n")

// tag returns the length of what begins with the < at i and is removed, 0 for nothing, and its replacement.
func (f *htmlStrip) tag(i int) (n int, out []byte) {
	rest := f.text[i+1:]
	switch {
	case bytes.HasPrefix(rest, []byte("!--")):
		if end := f.find(i+4, "-->"); end > 0 {
			return end - i, nil
		}
		return 0, nil
	case bytes.HasPrefix(rest, []byte("!")), bytes.HasPrefix(rest, []byte("?")):
		if end := f.find(i+1, ">"); end > 0 {
			return end - i, nil
		}
		return 0, nil
	}
	name := tagName(bytes.TrimPrefix(rest, []byte("/")))
	if name == "" || slices.Contains(f.escaped, name) {
		return 0, nil
	}
	end := f.tagEnd(i + 1)
	if end == 0 {
		return 0, nil
	}
	if (name == "script" || name == "style") && rest[0] != '/' {
		if closed := f.find(end, "</"+name); closed > 0 {
			if end = f.find(closed, ">"); end > 0 {
				return end - i, newline
			}
		}
		return 0, nil
	}
	if blockTags[name] {
		out = newline
	}
	return end - i, out
}

// tagName is in lower case; "" if s does not start with one.
func tagName(s []byte) string {
	n := 0
	for n < len(s) && n < maxReference && (byteClass[s[n]]&letterByte != 0 || n > 0 && (byteClass[s[n]]&digitByte != 0 || s[n] == '-' || s[n] == ':')) {
		n++
	}
	return string(bytes.ToLower(s[:n]))
}

// find returns the end of the first occurrence of an ASCII text at from or later, 0 for none. Letters of any case are
// equal.
func (f *htmlStrip) find(from int, what string) int {
	if f.absent[what] {
		return 0
	}
	for i := from; i+len(what) <= len(f.text); i++ {
		n := bytes.IndexByte(f.text[i:], what[0])
		if n < 0 {
			break
		}
		if i += n; i+len(what) <= len(f.text) && bytes.EqualFold(f.text[i:i+len(what)], []byte(what)) {
			return i + len(what)
		}
	}
	if f.absent == nil {
		f.absent = map[string]bool{}
	}
	f.absent[what] = true
	return 0
}

// tagEnd returns the offset after the > of a tag, 0 for none. A > within quotes does not count.
func (f *htmlStrip) tagEnd(from int) int {
	quote := byte(0)
	for i := from; i < len(f.text) && !f.plain; i++ {
		switch c := f.text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"', c == '\'':
			quote = c
		case c == '<':
			return 0
		case c == '>':
			return i + 1
		}
	}
	f.plain = true
	return f.find(from, ">")
}

var blockTags = func() map[string]bool {
	tags := map[string]bool{}
	for _, name := range []string{
		"address", "article", "aside", "blockquote", "body", "br", "button", "caption", "center", "col", "colgroup", "dd", "details",
		"dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frame", "frameset", "h1", "h2",
		"h3", "h4", "h5", "h6", "head", "header", "hr", "html", "iframe", "legend", "li", "link", "main", "menu", "meta", "nav",
		"noframes", "noscript", "ol", "optgroup", "option", "p", "pre", "script", "section", "select", "style", "summary", "table",
		"tbody", "td", "textarea", "tfoot", "th", "thead", "title", "tr", "ul",
	} {
		tags[name] = true
	}
	return tags
}()
