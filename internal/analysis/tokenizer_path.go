package analysis

import "bytes"

// pathTokenizer makes a word of each folder of a path: /a, /a/b, /a/b/c. With reverse, it makes one of each
// rest: /a/b/c, a/b/c, b/c, c. Skipped are the first parts, or the last ones. All words have the position 0.
// Words that are too long for a dictionary are left out.
type pathTokenizer struct {
	delimiter, replacement string // one character each
	skip                   int
	reverse                bool
	cuts                   []pathCut
}

// pathCut is an end of words, or a start of them: an offset in the text and in its copy with replaced
// delimiters.
type pathCut struct{ in, out int }

var _ tokenizer = (*pathTokenizer)(nil)

func newPathTokenizer(p *parameters) func() tokenizer {
	delimiter := p.character("delimiter", "/")
	t := pathTokenizer{
		delimiter: delimiter, replacement: p.character("replacement", delimiter),
		skip: p.number("skip", 0, 0, maxTermBytes), reverse: p.boolean("reverse", false),
	}
	p.number("buffer_size", 1024, 1, maxTermBytes) // has no effect on the result
	return func() tokenizer {
		own := t
		return &own
	}
}

func (t *pathTokenizer) tokenize(dst []word, text []byte, m *memory) []word {
	if len(text) == 0 {
		return dst
	}
	from := len(m.buffer)
	t.cuts = t.cuts[:0]
	if t.reverse {
		t.cuts = append(t.cuts, pathCut{})
	}
	for i := 0; i < len(text); {
		n := bytes.Index(text[i:], []byte(t.delimiter))
		if n < 0 {
			m.buffer = append(m.buffer, text[i:]...)
			break
		}
		m.buffer = append(m.buffer, text[i:i+n]...)
		before := pathCut{i + n, len(m.buffer) - from}
		m.buffer = append(m.buffer, t.replacement...)
		i += n + len(t.delimiter)
		switch {
		case !t.reverse && before.in > 0:
			t.cuts = append(t.cuts, before)
		case t.reverse && i < len(text):
			t.cuts = append(t.cuts, pathCut{i, len(m.buffer) - from})
		}
	}
	path := m.grown(from)
	last := pathCut{len(text), len(path)}
	if t.reverse {
		return t.rests(dst, path, last)
	}
	t.cuts = append(t.cuts, last)
	return t.folders(dst, path)
}

func (t *pathTokenizer) folders(dst []word, path []byte) []word {
	if t.skip >= len(t.cuts) {
		return dst
	}
	start := pathCut{}
	if t.skip > 0 {
		start = t.cuts[t.skip-1]
	}
	for _, end := range t.cuts[t.skip:] {
		if end.out-start.out > maxTermBytes {
			break
		}
		dst = append(dst, word{term: path[start.out:end.out:end.out], start: start.in, end: end.in, length: 1})
	}
	return dst
}

func (t *pathTokenizer) rests(dst []word, path []byte, end pathCut) []word {
	if t.skip >= len(t.cuts) {
		return dst
	}
	starts := t.cuts[:len(t.cuts)-t.skip]
	if t.skip > 0 {
		end = t.cuts[len(t.cuts)-t.skip]
	}
	for _, start := range starts {
		if end.out-start.out <= maxTermBytes {
			dst = append(dst, word{term: path[start.out:end.out:end.out], start: start.in, end: end.in, length: 1})
		}
	}
	return dst
}
