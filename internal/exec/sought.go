package exec

import "github.com/griffin-search/griffin/internal/score"

// Sought is what a query looks for in texts, for whoever shows why a document
// was found. What stands under a minus is not in it.
type Sought struct {
	Terms   []SoughtTerm // each once
	Phrases [][]string   // index terms of a phrase, in order
}

// SoughtTerm is an index term and its idf in the field that it is sought in.
type SoughtTerm struct {
	Text string
	IDF  float64
}

// Sought returns the terms and phrases that the query looks for.
func (p *Plan) Sought() Sought {
	var s Sought
	seen := make([]bool, len(p.terms))
	// The last stage has every leaf that can match: ModeOr, if it was asked for,
	// drops only what matches nothing.
	walkLeaves(p.stages[len(p.stages)-1].root, false, func(l *leaf, excluded bool) {
		if excluded {
			return
		}
		var phrase []string
		for _, t := range l.terms {
			text := string(p.terms[t].bytes)
			phrase = append(phrase, text)
			if !seen[t] {
				seen[t] = true
				idf := score.IDF(p.searcher.snapshot.Fields[l.field].NumDocs, p.docFreqs[t])
				s.Terms = append(s.Terms, SoughtTerm{Text: text, IDF: idf})
			}
		}
		if l.isPhrase() {
			s.Phrases = append(s.Phrases, phrase)
		}
	})
	return s
}
