package analysis

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/base"
)

// word is a token within a chain.
type word struct {
	term       []byte // in the chain's memory
	start, end int    // bytes of the text that the tokenizer got
	position   int
	length     int  // positions to the word after it, 1 or more
	step       int  // the same in a document, 0: length
	keyword    bool // stemmers leave it
}

// charFilter changes a text before it is cut into words. It belongs to one goroutine.
type charFilter interface {
	// filter returns the changed text, in its own memory or text itself, and the places where
	// bytes were replaced.
	filter(text []byte) ([]byte, replacements)
}

// tokenizer cuts a text into words. It belongs to one goroutine.
type tokenizer interface {
	// tokenize appends words by rising position, and by rising start within a position. The
	// text is UTF-8, and terms can be parts of it.
	tokenize(dst []word, text []byte, m *memory) []word
}

// A filter is one of mapper and rewriter. It belongs to one goroutine.
type filter any

// mapper is a filter that looks at one word at a time. Its result depends on the term alone.
type mapper interface {
	// mapTerm returns false to drop the word. It does not change the bytes of the term, but can set another.
	mapTerm(w *word, m *memory) bool
}

// rewriter is a filter that makes other words.
type rewriter interface {
	// rewrite appends to dst what becomes of words, by rising position.
	rewrite(dst, words []word, m *memory) []word
}

// memory has the terms of one call of Tokens.
type memory struct{ buffer []byte }

// grown returns the bytes that were appended to the buffer since its length was from.
func (m *memory) grown(from int) []byte { return m.buffer[from:len(m.buffer):len(m.buffer)] }

// A chain is an analyzer that is made of parts.
//
// Words with the same term and position are one token, so that frequencies and positions agree.
type chain struct {
	name        string
	charFilters []charFilter
	tokenizer   tokenizer
	filters     []filter

	text   []byte // of one call: a copy, where bytes that are not UTF-8 are blanks
	places []replacements
	words  []word
	spare  []word
	stack  stack
	memory memory
	arcs   []Arc
	graph  bool // several words begin or end within one
	next   int  // position after the last word
}

var _ Analyzer = (*chain)(nil)

func (c *chain) Name() string { return c.name }

func (c *chain) Tokens(dst []Token, text []byte) []Token {
	text = clip(text)
	c.memory.buffer = c.memory.buffer[:0]
	c.text = appendValid(c.text[:0], text)
	changed := c.text
	c.places = c.places[:0]
	for _, f := range c.charFilters {
		var places replacements
		if changed, places = f.filter(changed); places != nil {
			c.places = append(c.places, places)
		}
	}
	c.words = c.tokenizer.tokenize(c.words[:0], changed, &c.memory)
	for _, f := range c.filters {
		c.apply(f)
	}
	return c.appendTokens(dst)
}

func (c *chain) apply(f filter) {
	switch f := f.(type) {
	case mapper:
		kept := c.words[:0]
		for i := range c.words {
			if w := &c.words[i]; f.mapTerm(w, &c.memory) && len(w.term) > 0 {
				kept = append(kept, *w)
			}
		}
		c.words = kept
	case rewriter:
		c.spare = f.rewrite(c.spare[:0], c.words, &c.memory)
		c.words, c.spare = c.spare, c.words
	}
}

func (c *chain) appendTokens(dst []Token) []Token {
	byPosition := func(a, b word) int {
		return cmp.Or(cmp.Compare(a.position, b.position), cmp.Compare(a.start, b.start))
	}
	if !slices.IsSortedFunc(c.words, byPosition) {
		base.SortStable(c.words, byPosition)
	}
	c.arcs, c.graph, c.next = c.arcs[:0], false, 0
	c.stack.from = 0
	for i := range c.words {
		w := &c.words[i]
		if len(w.term) == 0 || c.stack.has(c.words, i) {
			continue
		}
		start, end := w.start, w.end
		for j := len(c.places) - 1; j >= 0; j-- {
			start, end = c.places[j].start(start), c.places[j].end(end)
		}
		if start >= end { // all of it was inserted by a char filter
			continue
		}
		dst = append(dst, Token{Term: w.term, Start: int32(start), End: int32(end), Position: uint32(w.position)})
		arc := Arc{Length: uint32(w.length), Step: uint32(cmp.Or(w.step, w.length))}
		c.arcs = append(c.arcs, arc)
		c.graph = c.graph || arc.Length > 1 || w.position < c.next // an earlier word ends after this one starts
		c.next = w.position + w.length
	}
	return dst
}

// stack finds words with the same term at one position.
type stack struct {
	from int                 // of the position's first word
	seen map[string]struct{} // of a high stack
}

// has reports whether a word before words[i] has its term and position. It is called for rising i.
func (s *stack) has(words []word, i int) bool {
	const high = 32
	w := &words[i]
	if w.position != words[s.from].position {
		s.from = i
		clear(s.seen)
	}
	if i-s.from < high {
		return slices.ContainsFunc(words[s.from:i], func(o word) bool { return bytes.Equal(o.term, w.term) })
	}
	if s.seen == nil {
		s.seen = map[string]struct{}{}
	}
	if len(s.seen) == 0 {
		for _, o := range words[s.from:i] {
			s.seen[string(o.term)] = struct{}{}
		}
	}
	if _, ok := s.seen[string(w.term)]; ok {
		return true
	}
	s.seen[string(w.term)] = struct{}{}
	return false
}

// appendValid appends text with blanks in the place of bytes that are not UTF-8.
func appendValid(dst, text []byte) []byte {
	from := len(dst)
	dst = append(dst, text...)
	for i := from; i < len(dst); {
		if dst[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(dst[i:])
		if r == utf8.RuneError && size == 1 {
			dst[i] = ' '
		}
		i += size
	}
	return dst
}

// replaced says that bytes of a text became other bytes.
type replaced struct{ out, outLen, in, inLen int }

// replacements are sorted by out.
type replacements []replaced

// at returns the last replacement before or at an offset of the changed text, nil for none.
func (r replacements) at(out int) *replaced {
	i, found := slices.BinarySearchFunc(r, out, func(r replaced, out int) int { return cmp.Compare(r.out, out) })
	for found && i+1 < len(r) && r[i+1].out == out {
		i++
	}
	if !found {
		i--
	}
	if i < 0 {
		return nil
	}
	return &r[i]
}

// start returns the offset in the original text at which a word of the changed text begins. A word that
// begins or ends within a replacement has all of the replaced bytes.
func (r replacements) start(out int) int {
	p := r.at(out)
	switch {
	case p == nil:
		return out
	case out < p.out+p.outLen:
		return p.in
	}
	return p.in + p.inLen + out - (p.out + p.outLen)
}

// end returns the offset at which a word ends: before bytes that were removed there.
func (r replacements) end(out int) int {
	if out == 0 {
		return 0
	}
	p := r.at(out - 1)
	switch {
	case p == nil:
		return out
	case out <= p.out+p.outLen:
		return p.in + p.inLen
	}
	return p.in + p.inLen + out - (p.out + p.outLen)
}
