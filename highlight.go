package griffin

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/snippet"
)

// Highlight asks for Hit.Highlights: passages of the fields of hits.
type Highlight struct {
	Fields []HighlightField
	// Filters also highlights words of filters, which are parts of the query with the score 0.
	Filters bool
}

// HighlightField is a field of a Highlight.
type HighlightField struct {
	// Name is a field of the document, one that takes its values, such as a multi-field, "title" or "text"; "*" is any
	// text: "chapter*", "*".
	Name string
	// FragmentSize is the length of a passage in characters, Fragments the maximum number of
	// passages; 0: DefaultSnippetLength, one.
	FragmentSize, Fragments int
	// Whole returns the whole text of each value that has a word of the query, of a long one the first 1,048,576 characters.
	Whole bool
	// AnyField also highlights words that the query seeks in other fields.
	AnyField bool
	// NoMatchSize is the length in characters of the beginning of the first value, which a field without a passage has instead; 0: none.
	NoMatchSize int
}

// Names of the parts of documents that are no fields.
const (
	titlePart = "title"
	textPart  = "text"
)

// sourceField has the JSON of a document that was written over HTTP. Its text has the values of all fields.
const sourceField = "_source"

// highlighter makes the highlights of hits.
type highlighter struct {
	search *search
	sought plan.Sought
	fields []HighlightField
	makers map[makerKey]*snippet.Maker // nil: no word is sought in the field
	takers map[string][]string         // wanted fields that take the values of a field, by its name
}

// beginning is the first value of a field that may have no passage.
type beginning struct {
	name, value string
	size        int
}

type makerKey struct {
	field string
	of    int  // index of fields
	taken bool // the values are of another field
}

func (s *search) newHighlighter(q *dispatch.Query, h *Highlight) *highlighter {
	if h == nil {
		return nil
	}
	return &highlighter{search: s, sought: q.Sought(h.Filters), fields: h.Fields, makers: map[makerKey]*snippet.Maker{}, takers: map[string][]string{}}
}

// highlights returns the passages of a document by field.
func (h *highlighter) highlights(title, text string, fields []Field) map[string][]Snippet {
	var out map[string][]Snippet
	var beginnings []beginning
	appendTo := func(name string, s Snippet) {
		if out == nil {
			out = map[string][]Snippet{}
		}
		out[name] = append(out[name], s)
	}
	add := func(name, value string, taken bool) {
		for i := range h.fields {
			f := &h.fields[i]
			if !matchesName(f.Name, name) || f.Name != name && h.isVector(name) {
				continue
			}
			if f.NoMatchSize > 0 && !slices.ContainsFunc(beginnings, func(b beginning) bool { return b.name == name }) {
				beginnings = append(beginnings, beginning{name, value, f.NoMatchSize})
			}
			left := max(f.Fragments, 1) - len(out[name])
			for _, s := range h.passages(makerKey{name, i, taken}, value) {
				if left <= 0 && !f.Whole {
					break
				}
				left--
				appendTo(name, s)
			}
			return
		}
	}
	addTo := func(name, value string) {
		add(name, value, false /* taken */)
		for _, taker := range h.takersOf(name) {
			add(taker, value, true /* taken */)
		}
	}
	given := map[string]bool{}
	for _, f := range fields {
		given[f.Name] = true
		addTo(f.Name, f.Value)
	}
	if title != "" && !given[titlePart] {
		addTo(titlePart, title)
	}
	if text != "" && !given[textPart] && !given[sourceField] {
		addTo(textPart, text)
	}
	for _, b := range beginnings {
		if len(out[b.name]) > 0 {
			continue
		}
		if text := h.beginning(b.value, b.size); text != "" {
			appendTo(b.name, Snippet{Text: text})
		}
	}
	return out
}

// beginning returns the beginning of a text, to the end of a sentence or a word.
func (h *highlighter) beginning(text string, size int) string {
	analyzer, err := h.search.sc.search.Analyzer("")
	if err != nil { // the query had the error before
		return ""
	}
	options := snippet.Options{MaxChars: size, MaxScanBytes: (size + 1) * utf8.UTFMax}
	for _, f := range snippet.New(analyzer, snippet.Query{}, options).Make(text) {
		return f.Text
	}
	return ""
}

// takersOf returns the wanted fields that take the values of another: multi-fields, and those that it copies to.
func (h *highlighter) takersOf(name string) []string {
	takers, known := h.takers[name]
	if known {
		return takers
	}
	for _, t := range h.search.snapshot.Options.FieldMapping().Targets(name) {
		taker := t.Field.Name
		if taker != name && slices.ContainsFunc(h.fields, func(f HighlightField) bool { return matchesName(f.Name, taker) }) {
			takers = append(takers, taker)
		}
	}
	h.takers[name] = takers
	return takers
}

// isVector reports whether the values of a field are no texts for people.
func (h *highlighter) isVector(name string) bool {
	f, ok := h.search.snapshot.Options.FieldMapping().Field(name)
	return ok && f.Type.Vector()
}

// passages returns the passages of a value that have a word of the query.
func (h *highlighter) passages(key makerKey, value string) (out []Snippet) {
	maker, known := h.makers[key]
	if !known {
		maker = h.maker(key)
		h.makers[key] = maker
	}
	if maker == nil {
		return nil
	}
	for _, fragment := range maker.Make(value) {
		if len(fragment.Highlights) == 0 {
			continue
		}
		s := Snippet{Text: fragment.Text}
		for _, r := range fragment.Highlights {
			s.Highlights = append(s.Highlights, Span(r))
		}
		out = append(out, s)
	}
	return out
}

// maker returns nil if the query seeks no word in the field. Words without a field are not sought in values of another field.
func (h *highlighter) maker(key makerKey) *snippet.Maker {
	var q snippet.Query
	name, f := key.field, &h.fields[key.of]
	sought := func(field string) bool { return f.AnyField || field == name || field == "" && !key.taken }
	terms := map[string]bool{}
	analyzed := "" // the field whose terms they are
	if m := h.search.snapshot.Options.FieldMapping(); f.AnyField && !slices.ContainsFunc(h.sought.Terms, func(t plan.SoughtTerm) bool { return t.Field == "" }) {
		if mapped, ok := m.Field(name); ok && mapped.HasTerms() {
			analyzed = name
		}
	}
	for _, t := range h.sought.Terms {
		if sought(t.Field) {
			terms[t.Text] = true
			q.Terms = append(q.Terms, snippet.Term{Text: t.Text, Weight: t.IDF})
		}
		if t.Field == name {
			analyzed = name
		}
	}
	for _, p := range h.sought.Patterns {
		if sought(p.Field) {
			q.Patterns = append(q.Patterns, p.Match)
		}
		if p.Field == name {
			analyzed = name
		}
	}
	analyzer, err := h.search.sc.search.Analyzer(analyzed)
	if err != nil || len(q.Terms)+len(q.Patterns) == 0 { // the query had the error before
		return nil
	}
	for _, p := range h.sought.Phrases {
		if terms[p[0]] {
			q.Phrases = append(q.Phrases, p)
		}
	}
	o := snippet.Options{MaxChars: f.FragmentSize, MaxFragments: f.Fragments}
	if o.MaxChars == 0 {
		o.MaxChars = DefaultSnippetLength
	}
	if f.Whole {
		o.MaxChars, o.MaxFragments, o.MaxScanBytes = maxWholeText, 1, maxWholeText*utf8.UTFMax
	}
	return snippet.New(analyzer, q, o)
}

// maxWholeText is the length of a text that is highlighted as a whole, in characters.
const maxWholeText = 1 << 20

// matchesName matches * with any text.
func matchesName(pattern, name string) bool {
	first, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == name
	}
	if !strings.HasPrefix(name, first) || strings.HasPrefix(name, "_") && first == "" {
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
