package analysis

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// Synonyms are in the format of Solr:
//
//	sea, ocean, the deep        each of them finds the others
//	ny => new york, big apple   ny finds the right side
//
// A backslash escapes a comma, = and itself. The filters before the filter apply to the rules.

// synonymRules are the parameters of a filter of synonyms.
type synonymRules struct {
	where   string
	lines   []string
	expand  bool
	lenient bool
}

func newSynonyms(p *parameters) filterMaker {
	p.embed("synonyms")
	lines, given := p.lines("synonyms")
	if !given {
		p.fail("parameter [synonyms] is missing")
	}
	p.choice("format", "solr")
	p.boolean("updateable", false) // rules change with the settings
	return filterMaker{synonyms: &synonymRules{
		where: p.where(), lines: lines, expand: p.boolean("expand", true), lenient: p.boolean("lenient", false),
	}}
}

// synonymTable finds rules by their first term.
type synonymTable struct {
	rules   map[string][]synonymRule // longest first
	longest int                      // terms of a rule
}

type synonymRule struct {
	from [][]byte
	to   [][]phraseWord
	keep bool // from is one of to
}

type phraseWord struct {
	term []byte
	step int // to the next word in a document
}

// compile analyses the rules with the chain before the filter.
func (r *synonymRules) compile(before Analyzer) (*synonymTable, error) {
	t := &synonymTable{rules: map[string][]synonymRule{}}
	for _, line := range r.lines {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if err := t.addLine(r, line, before); err != nil && !r.lenient {
			return nil, fmt.Errorf("%s: rule [%s]: %w: %w", r.where, line, err, base.ErrBadInput)
		}
	}
	for _, rules := range t.rules {
		base.Sort(rules, func(a, b synonymRule) int { return len(b.from) - len(a.from) })
	}
	return t, nil
}

func (t *synonymTable) addLine(r *synonymRules, line string, before Analyzer) error {
	sides := splitEscaped(line, "=>")
	if len(sides) > 2 {
		return errSynonymArrows
	}
	from, err := phrases(sides[0], before)
	if err != nil {
		return err
	}
	if len(sides) == 2 {
		to, err := phrases(sides[1], before)
		if err != nil {
			return err
		}
		for _, f := range from {
			t.add(f, to, slices.ContainsFunc(to, func(p []phraseWord) bool { return samePhrase(p, f) }))
		}
		return nil
	}
	to := from
	if !r.expand {
		to = from[:1]
	}
	for _, f := range from {
		t.add(f, to, slices.ContainsFunc(to, func(p []phraseWord) bool { return samePhrase(p, f) }))
	}
	return nil
}

var errSynonymArrows = fmt.Errorf("it has several =>")

// phrases analyses a list of phrases, one at least.
func phrases(list string, before Analyzer) ([][]phraseWord, error) {
	var all [][]phraseWord
	for _, text := range splitEscaped(list, ",") {
		text = strings.TrimSpace(unescapeSynonym(text))
		if text == "" {
			return nil, fmt.Errorf("it has an empty phrase")
		}
		tokens := before.Tokens(nil, []byte(text))
		if len(tokens) == 0 {
			return nil, fmt.Errorf("the filters before make no term of [%s]", text)
		}
		if Arcs(before) != nil {
			return nil, fmt.Errorf("the filters before make several forms of a word of [%s]", text)
		}
		phrase := make([]phraseWord, len(tokens))
		for i, token := range tokens {
			phrase[i] = phraseWord{term: bytes.Clone(token.Term), step: 1}
			if i+1 < len(tokens) {
				phrase[i].step = int(tokens[i+1].Position - token.Position)
			}
		}
		all = append(all, phrase)
	}
	return all, nil
}

// splitEscaped cuts at separators without a backslash before them.
func splitEscaped(s, separator string) []string {
	var parts []string
	start := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case strings.HasPrefix(s[i:], separator):
			parts = append(parts, s[start:i])
			start = i + len(separator)
			i = start - 1
		}
	}
	return append(parts, s[start:])
}

func unescapeSynonym(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func samePhrase(a, b []phraseWord) bool {
	return slices.EqualFunc(a, b, func(a, b phraseWord) bool { return bytes.Equal(a.term, b.term) })
}

// add joins rules with the same left side.
func (t *synonymTable) add(from []phraseWord, to [][]phraseWord, keep bool) {
	rules := t.rules[string(from[0].term)]
	i := slices.IndexFunc(rules, func(r synonymRule) bool {
		return slices.EqualFunc(r.from, from, func(a []byte, b phraseWord) bool { return bytes.Equal(a, b.term) })
	})
	if i < 0 {
		i = len(rules)
		rules = append(rules, synonymRule{})
		for _, w := range from {
			rules[i].from = append(rules[i].from, w.term)
		}
	}
	r := &rules[i]
	r.keep = r.keep || keep
	for _, p := range to {
		if !samePhrase(p, from) && !slices.ContainsFunc(r.to, func(o []phraseWord) bool { return samePhrase(o, p) }) {
			r.to = append(r.to, p)
		}
	}
	t.rules[string(from[0].term)] = rules
	t.longest = max(t.longest, len(from))
}

// match returns the rule with the most words that words start with.
func (t *synonymTable) match(words []word) *synonymRule {
	rules := t.rules[string(words[0].term)]
	for i := range rules {
		if follows(words, rules[i].from) {
			return &rules[i]
		}
	}
	return nil
}

// follows reports whether words start with terms, one after another and without alternatives.
func follows(words []word, terms [][]byte) bool {
	if len(words) < len(terms) {
		return false
	}
	for i, term := range terms {
		w := &words[i]
		if w.length != 1 || !bytes.Equal(w.term, term) || i > 0 && w.position != words[i-1].position+1 {
			return false
		}
	}
	n := len(terms)
	return n == len(words) || words[n].position != words[n-1].position
}

// synonymFilter adds the synonyms of words as alternatives.
type synonymFilter struct{ table *synonymTable }

var _ rewriter = synonymFilter{}

func (f synonymFilter) rewrite(dst, words []word, _ *memory) []word {
	shift := 0
	for i := 0; i < len(words); {
		rule := f.table.match(words[i:])
		if rule == nil || i > 0 && words[i-1].position == words[i].position {
			w := words[i]
			w.position += shift
			dst = append(dst, w)
			i++
			continue
		}
		n := len(rule.from)
		var positions int
		dst, positions = rule.expand(dst, words[i:i+n], words[i].position+shift)
		shift += positions - n
		i += n
	}
	return dst
}

// expand appends the alternatives from a position on, and returns how many positions they take. All begin at
// the first and end after the last one; in between, each has positions of its own.
func (r *synonymRule) expand(dst, matched []word, position int) (words []word, positions int) {
	start, end := matched[0].start, matched[len(matched)-1].end
	positions = 1
	if r.keep {
		positions += len(matched) - 1
	}
	for _, p := range r.to {
		positions += len(p) - 1
	}
	first, next := len(dst), position+1
	// path appends a path of n words, which at returns.
	path := func(n int, at func(i int) word) {
		here := position
		for i := range n {
			w := at(i)
			w.position = here
			if here = next; i+1 < n {
				next++
			} else {
				here = position + positions
			}
			w.length = here - w.position
			dst = append(dst, w)
		}
	}
	if r.keep {
		path(len(matched), func(i int) word {
			w := matched[i]
			w.step = 1
			return w
		})
	}
	for _, p := range r.to {
		path(len(p), func(i int) word { return word{term: p[i].term, start: start, end: end, step: p[i].step} })
	}
	base.SortStable(dst[first:], func(a, b word) int { return cmp.Compare(a.position, b.position) })
	return dst, positions
}
