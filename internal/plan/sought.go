package plan

import "github.com/griffin-search/griffin/internal/score"

// Sought holds the words of a query for snippets and highlighting, without excluded parts.
type Sought struct {
	Terms   []SoughtTerm // without duplicates
	Phrases [][]string   // index terms of each phrase, in order
}

// SoughtTerm is an index term and its idf in its field.
type SoughtTerm struct {
	Field string // "" is the default field
	Text  string
	IDF   float64
}

// Sought returns the terms and phrases of the query.
func (p *Plan) Sought() Sought {
	var s Sought
	seen := make([]bool, len(p.words.terms))
	// The last stage has every leaf that can match: ModeOr drops only leaves that match nothing.
	walkLeaves(p.stages[len(p.stages)-1].root, false, func(l *leaf, excluded bool) {
		if excluded {
			return
		}
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
