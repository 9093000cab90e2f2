package plan

import (
	"strings"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/query"
)

// analyzers are made when they are first used, for one goroutine.
type analyzers struct {
	scheme *analysis.Scheme
	made   map[analyzerKey]analysis.Analyzer
	// normalizers are of keywords, by field; nil: none.
	normalizers map[string]*analysis.Normalizer

	ofDefault [analysis.Phrases + 1]analysis.Analyzer // of the default field, by use
}

type analyzerKey struct {
	name string
	use  analysis.Use
}

// setScheme drops the analyzers of another scheme.
func (a *analyzers) setScheme(s *analysis.Scheme) {
	if a.scheme != s && !a.scheme.Equal(s) {
		clear(a.made)
		clear(a.normalizers)
		clear(a.ofDefault[:])
	}
	a.scheme = s
}

// of returns the analyzer of a field.
func (a *analyzers) of(field string, use analysis.Use) (analysis.Analyzer, error) {
	if made := a.ofDefault[use]; field == "" && made != nil {
		return made, nil
	}
	key := analyzerKey{a.scheme.Name(field, use), use}
	made := a.made[key]
	if made == nil {
		var err error
		if made, err = a.scheme.New(field, use); err != nil {
			return nil, err
		}
		if a.made == nil {
			a.made = map[analyzerKey]analysis.Analyzer{}
		}
		a.made[key] = made
	}
	if field == "" {
		a.ofDefault[use] = made
	}
	return made, nil
}

// normalizer returns the normalizer of a keyword; nil: it has none.
func (a *analyzers) normalizer(field string) (*analysis.Normalizer, error) {
	n, known := a.normalizers[field]
	if known {
		return n, nil
	}
	n, err := a.scheme.Normalizer(field)
	if err != nil {
		return nil, err
	}
	if a.normalizers == nil {
		a.normalizers = map[string]*analysis.Normalizer{}
	}
	a.normalizers[field] = n
	return n, nil
}

// normal brings a value to the normal form of a keyword's terms.
func (a *analyzers) normal(f *mapping.Field, text string) string {
	if f == nil || f.Normalizer == "" || text == "" {
		return text
	}
	n, err := a.normalizer(f.Name)
	if err != nil || n == nil {
		return text // an index with the mapping has the normalizer
	}
	return string(n.Normalize([]byte(text)))
}

// normalWildcard is normal for the text between the wildcards and escaped characters of a pattern.
func (a *analyzers) normalWildcard(f *mapping.Field, pattern string) string {
	if f == nil || f.Normalizer == "" {
		return pattern
	}
	var out strings.Builder
	for pattern != "" {
		at := strings.IndexAny(pattern, `*?\`)
		if at < 0 {
			at = len(pattern)
		}
		out.WriteString(a.normal(f, pattern[:at]))
		pattern = pattern[at:]
		special := min(1, len(pattern))
		if strings.HasPrefix(pattern, `\`) && len(pattern) > 1 {
			_, size := utf8.DecodeRuneInString(pattern[1:])
			special += size
		}
		out.WriteString(pattern[:special])
		pattern = pattern[special:]
	}
	return out.String()
}

// tokenize fills c.tokens, and returns the analyzer, which has the arcs of the tokens. A query loses stop
// words that documents keep, unless it is a phrase or has no other words.
func (c *compiler) tokenize(field, text string, phrase bool) (analysis.Analyzer, error) {
	use := analysis.Queries
	if phrase || c.keepStops {
		use = analysis.Phrases
	}
	a, err := c.analyzers.of(field, use)
	if err != nil {
		return nil, err
	}
	c.text = append(c.text[:0], text...)
	c.tokens = a.Tokens(c.tokens[:0], c.text)
	if len(c.tokens) > 0 || use == analysis.Phrases {
		return a, nil
	}
	all, err := c.analyzers.of(field, analysis.Phrases)
	if err != nil {
		return nil, err
	}
	if c.tokens = all.Tokens(c.tokens, c.text); len(c.tokens) > 0 {
		c.stopped = true
		c.tokens = c.tokens[:0]
	}
	return a, nil
}

// whole compiles a query, and again with its stop words if it has nothing else.
func (c *compiler) whole(n query.Node, mode Mode) (node, error) {
	c.keepStops, c.stopped = false, false
	notes := len(c.notes)
	root, err := c.compile(n, mode, 1)
	if err != nil || !c.stopped || len(c.terms) > 0 {
		return root, err
	}
	c.keepStops = true
	defer func() { c.keepStops = false }()
	c.notes = c.notes[:notes]
	return c.compile(n, mode, 1)
}

// maxPaths bounds the ways to say a text with its alternatives.
const maxPaths = 256

// alternatives returns the node of the tokens of a word or a phrase with alternatives: any of its paths.
func (c *compiler) alternatives(id base.FieldID, terms []int, arcs []analysis.Arc, text string, boost float64) (node, error) {
	paths, err := analysis.AllPaths(c.tokens, arcs, maxPaths)
	if err != nil {
		return nil, err
	}
	return c.anyOf(id, terms, paths, text, boost), nil
}

// sections returns the nodes of a text with alternatives, in the place of its words.
func (c *compiler) sections(id base.FieldID, terms []int, arcs []analysis.Arc, text string, boost float64) ([]node, error) {
	sections, err := analysis.Sections(c.tokens, arcs, maxPaths)
	if err != nil {
		return nil, err
	}
	nodes := make([]node, len(sections))
	for i, paths := range sections {
		nodes[i] = c.anyOf(id, terms, paths, text, boost)
	}
	return nodes, nil
}

func (c *compiler) anyOf(id base.FieldID, terms []int, paths []analysis.Path, text string, boost float64) node {
	g := c.memory.group(len(paths))
	for _, p := range paths {
		l := leaf{field: id, terms: c.memory.numbers.take(len(p.Tokens)), boost: boost}
		for i, token := range p.Tokens {
			l.terms[i] = terms[token]
		}
		if len(p.Tokens) > 1 && !c.positions {
			g.optional = append(g.optional, c.allOf(l, text))
			continue
		}
		if len(p.Tokens) > 1 {
			l.offsets = c.memory.offsets.take(len(p.Offsets))
			copy(l.offsets, p.Offsets)
		}
		g.optional = append(g.optional, c.memory.leaf(l))
	}
	return g.simplify()
}

// allOf requires the terms of a leaf in any place.
func (c *compiler) allOf(l leaf, text string) node {
	c.note("%q is several terms of the index, and the index has no positions to find them side by side: documents that have them anywhere match (griffin index without --no-positions keeps positions)", text)
	g := c.memory.group(len(l.terms))
	for i := range l.terms {
		g.required = append(g.required, c.memory.leaf(leaf{field: l.field, terms: l.terms[i : i+1], boost: l.boost}))
	}
	return g.simplify()
}
