package plan

import (
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
)

// Sought holds the words of a query for snippets and highlighting, without excluded parts.
type Sought struct {
	Terms    []SoughtTerm    // without duplicates
	Phrases  [][]string      // index terms of each phrase, in order
	Patterns []SoughtPattern // prefixes, wildcards, regular expressions, ranges and sets of terms
}

// SoughtPattern is a set of terms of a field. Match is for one goroutine.
type SoughtPattern struct {
	Field string // "" is the default field
	Match func(term string) bool
}

// termSet is a source that stands for terms.
type termSet interface {
	// matchTerms returns their field, and what tells them from others.
	matchTerms() (base.FieldID, func(term string) bool)
}

var (
	_ termSet = (*prefixSource)(nil)
	_ termSet = (*patternSource)(nil)
	_ termSet = (*termsSource)(nil)
	_ termSet = (*rangeSource)(nil)
)

func (s *prefixSource) matchTerms() (base.FieldID, func(string) bool) {
	prefix := string(s.prefix)
	return s.field, func(term string) bool { return strings.HasPrefix(term, prefix) }
}

func (s *patternSource) matchTerms() (base.FieldID, func(string) bool) {
	return s.field, s.pattern.Automaton().Match
}

func (s *termsSource) matchTerms() (base.FieldID, func(string) bool) {
	return s.field, func(term string) bool {
		_, found := slices.BinarySearchFunc(s.terms, term, func(value []byte, term string) int { return strings.Compare(string(value), term) })
		return found
	}
}

func (s *rangeSource) matchTerms() (base.FieldID, func(string) bool) {
	return s.field, func(term string) bool {
		from, to := strings.Compare(term, string(s.from)), strings.Compare(term, string(s.to))
		return (from > 0 || from == 0 && !s.excludeFrom) && (len(s.to) == 0 || to < 0 || to == 0 && !s.excludeTo)
	}
}

// SoughtTerm is an index term and its idf in its field.
type SoughtTerm struct {
	Field string // "" is the default field
	Text  string
	IDF   float64
}

// Sought returns the terms, phrases and patterns of the query. With filters, it includes the parts with the score 0.
func (p *Plan) Sought(filters bool) Sought {
	var s Sought
	seen := make([]bool, len(p.words.terms))
	// The last stage has every leaf that can match: ModeOr drops only leaves that match nothing.
	walkSought(p.stages[len(p.stages)-1].root, filters, func(n *set) {
		if t, ok := n.source.(termSet); ok {
			field, match := t.matchTerms()
			s.Patterns = append(s.Patterns, SoughtPattern{Field: p.planner.fields[field], Match: match})
		}
	}, func(l *leaf) {
		var phrase []string
		for _, t := range l.terms {
			text := string(p.words.terms[t].bytes)
			phrase = append(phrase, text)
			if !seen[t] {
				seen[t] = true
				idf := score.IDF(p.planner.snapshot.Fields[l.field].NumDocs, p.words.docFreqs[t])
				s.Terms = append(s.Terms, SoughtTerm{Field: p.planner.fields[l.field], Text: text, IDF: idf})
			}
		}
		if l.isPhrase() {
			s.Phrases = append(s.Phrases, phrase)
		}
	})
	return s
}

// walkSought visits the sets and leaves that are not excluded and do not only lower scores; unless filters, those that have a
// score.
func walkSought(n node, filters bool, sets func(*set), leaves func(*leaf)) {
	walk := func(children ...node) {
		for _, child := range children {
			walkSought(child, filters, sets, leaves)
		}
	}
	switch n := n.(type) {
	case *set:
		sets(n)
	case *leaf:
		leaves(n)
	case *constant:
		if n.score > 0 || filters {
			walk(n.child)
		}
	case *group:
		walk(n.required...)
		walk(n.optional...)
	case *disMax:
		walk(n.children...)
	case *functionScore:
		walk(n.child)
	case *combined:
		for _, l := range n.leaves {
			leaves(l)
		}
	case *boosting:
		walk(n.positive)
	}
}
