package griffin_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/query"
)

// vectorField is a field of type sparse_vector.
type vectorField struct {
	name  string
	scale float64
}

// scoredTexts are fields of type text beside the default one.
var scoredTexts = []string{"t0", "t1"}

func (s *structured) declareScored(properties map[string]any) {
	for _, name := range scoredTexts {
		properties[name] = map[string]any{"type": "text"}
	}
	for i := range s.rng.IntN(3) {
		f := vectorField{fmt.Sprintf("v%d", i), []float64{1, 10, 100}[s.rng.IntN(3)]}
		s.vectors = append(s.vectors, f)
		properties[f.name] = map[string]any{"type": []string{"sparse_vector", "rank_features"}[i%2], "weight_scale": f.scale}
	}
}

func (s *structured) word() string { return fmt.Sprintf("w%d", int(s.rng.ExpFloat64()*3)) }

// addScored adds the texts and the vectors of a document.
func (s *structured) addScored(d *griffin.Document, doc *structuredDoc) {
	doc.texts, doc.vectors = map[string][]string{"": doc.words}, map[string]map[string]uint32{}
	for _, name := range scoredTexts {
		for range s.rng.IntN(6) {
			doc.texts[name] = append(doc.texts[name], s.word())
		}
		d.Fields = append(d.Fields, griffin.Field{Name: name, Value: strings.Join(doc.texts[name], " ")})
	}
	for _, f := range s.vectors {
		if s.rng.IntN(4) == 0 {
			continue
		}
		var members []string
		stored := map[string]uint32{}
		for range s.rng.IntN(12) {
			token, weight := fmt.Sprintf("#%d", int(s.rng.ExpFloat64()*6)), math.Round(s.rng.ExpFloat64()*200)/100
			if _, twice := stored[token]; twice {
				continue
			}
			members = append(members, fmt.Sprintf("%q: %g", token, weight))
			stored[token] = uint32(math.Floor(weight*f.scale + 0.5))
		}
		maps.DeleteFunc(stored, func(_ string, w uint32) bool { return w == 0 })
		doc.vectors[f.name] = stored
		d.Fields = append(d.Fields, griffin.Field{Name: f.name, Value: "{" + strings.Join(members, ", ") + "}"})
	}
}

// scoredNode is a query with the loop that scores documents; false: no match.
type scoredNode struct {
	node  query.Node
	score func(d *structuredDoc) (base.Score, bool)
}

// scoring makes nodes of one query, in which no term of a field occurs twice: equal leaves are scored once, with the
// sum of their boosts.
type scoring struct {
	*structured
	used map[string]bool
}

// free returns a word that the query does not have in a field; "": none was found.
func (s *scoring) free(field string) string {
	for range 5 {
		if w := s.word(); !s.used[field+":"+w] {
			s.used[field+":"+w] = true
			return w
		}
	}
	return ""
}

func (s *scoring) boost() float64 { return []float64{1, 0.5, 3}[s.rng.IntN(3)] }

func count(words []string, word string) (n uint32) {
	for _, w := range words {
		if w == word {
			n++
		}
	}
	return n
}

// docFreq counts the live documents with a word in one of the fields.
func (s *structured) docFreq(word string, fields ...string) (n uint64) {
	for i := range s.live {
		if slices.ContainsFunc(fields, func(f string) bool { return count(s.live[i].texts[f], word) > 0 }) {
			n++
		}
	}
	return n
}

func (s *structured) avgLen(field string) float64 {
	sum := 0
	for i := range s.live {
		sum += len(s.live[i].texts[field])
	}
	return float64(uint64(sum)) / float64(len(s.live))
}

func (s *structured) idf(word string, fields ...string) float64 {
	return score.IDF(uint64(len(s.live)), s.docFreq(word, fields...))
}

// wordScore is BM25 of a word.
func (s *structured) wordScore(field, word string, boost float64) func(d *structuredDoc) (base.Score, bool) {
	term := score.DefaultBM25.NewTerm(s.idf(word, field)*boost, 1, s.avgLen(field))
	return func(d *structuredDoc) (base.Score, bool) {
		freq := count(d.texts[field], word)
		if freq == 0 {
			return 0, false
		}
		return term.Score(freq, uint32(len(d.texts[field]))), true
	}
}

// sum scores a document with the sum over the parts that match; at least one must, or all.
func sum(parts []func(d *structuredDoc) (base.Score, bool), atLeast int) func(d *structuredDoc) (base.Score, bool) {
	return func(d *structuredDoc) (total base.Score, ok bool) {
		n := 0
		for _, part := range parts {
			if s, ok := part(d); ok {
				total, n = total+s, n+1
			}
		}
		return total, n >= atLeast
	}
}

func none(*structuredDoc) (base.Score, bool) { return 0, false }

func (s *scoring) words(outer float64) scoredNode {
	field := []string{"", "t0", "t1"}[s.rng.IntN(3)]
	boost := s.boost()
	var words []string
	var parts []func(d *structuredDoc) (base.Score, bool)
	for range 1 + s.rng.IntN(3) {
		if w := s.free(field); w != "" {
			words, parts = append(words, w), append(parts, s.wordScore(field, w, outer*boost))
		}
	}
	if len(words) == 0 {
		return s.matchAll(outer)
	}
	if len(words) == 1 {
		return scoredNode{&query.Term{Field: field, Text: words[0], Boost: boost}, parts[0]}
	}
	w := &query.Words{Field: field, Text: strings.Join(words, " "), Occur: query.Should, Boost: boost}
	atLeast := 1
	if s.rng.IntN(2) == 0 {
		w.Occur, atLeast = query.Must, len(words)
	}
	return scoredNode{w, sum(parts, atLeast)}
}

func fixed(v float64) base.Score { return base.Score(math.Round(v * (1 << base.ScoreFractionBits))) }

func (s *scoring) matchAll(outer float64) scoredNode {
	boost := s.boost()
	return scoredNode{&query.MatchAll{Boost: boost}, func(*structuredDoc) (base.Score, bool) { return fixed(outer * boost), true }}
}

// cover is a TermsSet over a text, by a field of numbers.
func (s *scoring) cover(outer float64) scoredNode {
	var numbers []string
	for i := range s.fields {
		if f := &s.fields[i]; !f.isText() {
			numbers = append(numbers, f.name)
		}
	}
	if len(numbers) == 0 {
		return s.words(outer)
	}
	field := []string{"", "t0", "t1"}[s.rng.IntN(3)]
	n := &query.TermsSet{Field: field, AtLeast: numbers[s.rng.IntN(len(numbers))], Boost: s.boost()}
	var parts []func(d *structuredDoc) (base.Score, bool)
	for range 1 + s.rng.IntN(4) {
		if w := s.free(field); w != "" {
			n.Values, parts = append(n.Values, w), append(parts, s.wordScore(field, w, outer*n.Boost))
		}
	}
	return scoredNode{n, func(d *structuredDoc) (total base.Score, ok bool) {
		matching := 0
		for _, part := range parts {
			if s, ok := part(d); ok {
				total, matching = total+s, matching+1
			}
		}
		v := d.values[n.AtLeast]
		return total, len(v) > 0 && matching >= max(1, int(slices.MinFunc(v, compareValues).(float64)))
	}}
}

func (s *scoring) constant(outer float64) scoredNode {
	c, value := s.condition(1), float64(s.rng.IntN(5))
	return scoredNode{&query.Constant{Node: c.node, Score: value}, func(d *structuredDoc) (base.Score, bool) { return fixed(outer * value), c.match(d) }}
}

// vector is a dot product of a field.
func (s *scoring) vector(outer float64) scoredNode {
	if len(s.vectors) == 0 {
		return s.words(outer)
	}
	f := s.vectors[s.rng.IntN(len(s.vectors))]
	n := &query.Weights{Field: f.name, Boost: s.boost()}
	var parts []func(d *structuredDoc) (base.Score, bool)
	for range 1 + s.rng.IntN(8) {
		token, weight := fmt.Sprintf("#%d", int(s.rng.ExpFloat64()*6)), math.Round(s.rng.ExpFloat64()*100)/100
		if s.used[f.name+":"+token] {
			continue
		}
		s.used[f.name+":"+token] = true
		n.Terms = append(n.Terms, query.TermWeight{Term: token, Weight: weight})
		if weight == 0 {
			continue
		}
		term := score.NewLinearTerm(outer*n.Boost*weight, f.scale)
		parts = append(parts, func(d *structuredDoc) (base.Score, bool) {
			stored := d.vectors[f.name][token]
			return term.Score(stored, 0), stored > 0
		})
	}
	return scoredNode{n, sum(parts, 1)}
}

// combined is BM25F of words in several fields, as a Combined or as what Across makes of words.
func (s *scoring) combined(outer float64) scoredNode {
	names := []string{"", "t0", "t1"}
	s.rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:2+s.rng.IntN(2)]
	var fields []query.FieldWeight
	for _, name := range names {
		fields = append(fields, query.FieldWeight{Name: name, Weight: []float64{1, 2, 0.5}[s.rng.IntN(3)]})
	}
	boost := s.boost()
	var words []string
	var parts []func(d *structuredDoc) (base.Score, bool)
	for range 1 + s.rng.IntN(3) {
		if w := s.free("combined"); w != "" {
			words, parts = append(words, w), append(parts, s.combinedScore(fields, w, outer*boost))
		}
	}
	if len(words) == 0 {
		return s.matchAll(outer)
	}
	text, atLeast, occur := strings.Join(words, " "), 1, query.Should
	if s.rng.IntN(2) == 0 {
		atLeast, occur = len(words), query.Must
	}
	if s.rng.IntN(2) == 0 {
		return scoredNode{&query.Combined{Fields: fields, Text: text, Boost: boost, Occur: occur}, sum(parts, atLeast)}
	}
	return scoredNode{query.Across(&query.Words{Text: text, Occur: occur, Boost: boost}, fields), sum(parts, atLeast)}
}

func (s *scoring) combinedScore(fields []query.FieldWeight, word string, boost float64) func(d *structuredDoc) (base.Score, bool) {
	var names []string
	avgLen := 0.0
	for _, f := range fields {
		names = append(names, f.Name)
		avgLen += f.Weight * s.avgLen(f.Name)
	}
	term := score.DefaultBM25.NewTerm(s.idf(word, names...)*boost, 1, avgLen)
	return func(d *structuredDoc) (base.Score, bool) {
		freq, length := 0.0, 0.0
		for _, f := range fields {
			freq += f.Weight * float64(count(d.texts[f.Name], word))
			length += f.Weight * float64(len(d.texts[f.Name]))
		}
		if freq == 0 {
			return 0, false
		}
		return term.ScoreCombined(float32(freq), float32(length)), true
	}
}

// like is a MoreLikeThis of texts of the default field.
func (s *scoring) like(outer float64) scoredNode {
	for _, word := range slices.Collect(maps.Keys(s.used)) {
		if strings.HasPrefix(word, ":") {
			return s.words(outer)
		}
	}
	n := &query.MoreLikeThis{MinTermFreq: 1 + s.rng.IntN(2), MinDocFreq: 1 + s.rng.IntN(3), MaxTerms: 1 + s.rng.IntN(6), Boost: s.boost(), AtLeast: "50%"}
	freqs := map[string]int{}
	for range 1 + s.rng.IntN(2) {
		d := &s.live[s.rng.IntN(len(s.live))]
		if s.stored && s.rng.IntN(2) == 0 && !slices.Contains(n.IDs, d.id) {
			n.IDs = append(n.IDs, d.id)
		} else {
			n.Texts = append(n.Texts, strings.Join(d.words, " "))
		}
		for _, w := range d.words {
			freqs[w]++
		}
	}
	type typical struct {
		word   string
		weight float64
	}
	var terms []typical
	for word, freq := range freqs {
		s.used[":"+word] = true
		if docFreq := s.docFreq(word, ""); freq >= n.MinTermFreq && docFreq >= uint64(n.MinDocFreq) {
			terms = append(terms, typical{word, float64(freq) * (math.Log(float64(len(s.live)+1)/float64(docFreq+1)) + 1)})
		}
	}
	slices.SortFunc(terms, func(a, b typical) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.word, b.word))
	})
	var parts []func(d *structuredDoc) (base.Score, bool)
	for _, t := range terms[:min(len(terms), n.MaxTerms)] {
		parts = append(parts, s.wordScore("", t.word, outer*n.Boost))
	}
	if len(parts) == 0 {
		return scoredNode{n, none}
	}
	inner := sum(parts, max(len(parts)/2, 1))
	return scoredNode{n, func(d *structuredDoc) (base.Score, bool) {
		if slices.Contains(n.IDs, d.id) {
			return 0, false
		}
		return inner(d)
	}}
}

func (s *scoring) disMax(outer float64, depth int) scoredNode {
	n := &query.DisMax{Boost: s.boost()}
	var parts []scoredNode
	for range 1 + s.rng.IntN(3) {
		p := s.scored(outer*n.Boost, depth-1)
		parts, n.Nodes = append(parts, p), append(n.Nodes, p.node)
	}
	return scoredNode{n, func(d *structuredDoc) (best base.Score, ok bool) {
		for _, p := range parts {
			if s, matches := p.score(d); matches {
				best, ok = max(best, s), true
			}
		}
		return best, ok
	}}
}

// group has members of all roles.
func (s *scoring) group(outer float64, depth int) scoredNode {
	b := &query.Boolean{Boost: s.boost()}
	var required, optional []scoredNode
	var filters, excluded []condition
	for range 1 + s.rng.IntN(4) {
		occur := []query.Occur{query.Must, query.Should, query.Should, query.MustNot, query.Filter}[s.rng.IntN(5)]
		c := query.Clause{Occur: occur}
		switch occur {
		case query.MustNot, query.Filter:
			condition := s.condition(1)
			c.Node = condition.node
			if occur == query.Filter {
				filters = append(filters, condition)
			} else {
				excluded = append(excluded, condition)
			}
		default:
			n := s.scored(outer*b.Boost, depth-1)
			c.Node = n.node
			if occur == query.Must {
				required = append(required, n)
			} else {
				optional = append(optional, n)
			}
		}
		b.Clauses = append(b.Clauses, c)
	}
	return scoredNode{b, func(d *structuredDoc) (total base.Score, ok bool) {
		for _, c := range excluded {
			if c.match(d) {
				return 0, false
			}
		}
		for _, c := range filters {
			if !c.match(d) {
				return 0, false
			}
		}
		for _, n := range required {
			s, matches := n.score(d)
			if !matches {
				return 0, false
			}
			total += s
		}
		ok = len(required)+len(filters) > 0
		for _, n := range optional {
			if s, matches := n.score(d); matches {
				total, ok = total+s, true
			}
		}
		return total, ok
	}}
}

// functions is a FunctionScore of weights and numbers of fields, with filters.
func (s *scoring) functions(outer float64, depth int) scoredNode {
	f := &query.FunctionScore{ScoreMode: query.ScoreMode(s.rng.IntN(6)), BoostMode: query.BoostMode(s.rng.IntN(6)), Boost: s.boost()}
	inner := s.scored(outer*f.Boost, depth-1)
	f.Node = inner.node
	if s.rng.IntN(3) == 0 {
		f.MaxBoost = float64(1 + s.rng.IntN(4))
	}
	type value func(d *structuredDoc) (v float64, applies bool)
	var values []value
	var weights []float64
	for range s.rng.IntN(4) {
		weight := []float64{0, 0.5, 1, 2}[s.rng.IntN(4)]
		fn := query.Function{Weight: &weight}
		of := func(*structuredDoc) (float64, bool) { return 1, true }
		if field := &s.fields[s.rng.IntN(len(s.fields))]; !field.isText() && s.rng.IntN(2) == 0 {
			fn.Value = &query.FieldValue{Field: field.name, Factor: 0.25}
			if s.rng.IntN(2) == 0 {
				missing := float64(s.rng.IntN(3))
				fn.Value.Missing = &missing
			}
			of = func(d *structuredDoc) (float64, bool) {
				v := d.values[field.name]
				switch {
				case len(v) > 0:
					return max(slices.MinFunc(v, compareValues).(float64)*0.25, 0), true
				case fn.Value.Missing != nil:
					return *fn.Value.Missing * 0.25, true
				}
				return 0, false
			}
		}
		if s.rng.IntN(2) == 0 {
			c, all := s.condition(1), of
			fn.Filter = c.node
			of = func(d *structuredDoc) (float64, bool) {
				if !c.match(d) {
					return 0, false
				}
				return all(d)
			}
		}
		f.Functions = append(f.Functions, fn)
		values, weights = append(values, of), append(weights, weight)
	}
	return scoredNode{f, func(d *structuredDoc) (base.Score, bool) {
		own, ok := inner.score(d)
		if !ok {
			return 0, false
		}
		factor, sumOfWeights, applied := 1.0, 0.0, 0
		for i, value := range values {
			v, applies := value(d)
			if !applies {
				continue
			}
			v *= weights[i]
			sumOfWeights += weights[i]
			if applied++; applied == 1 {
				factor = v
				continue
			}
			factor = []float64{factor * v, factor + v, factor + v, factor, max(factor, v), min(factor, v)}[f.ScoreMode]
		}
		if f.ScoreMode == query.ScoreAvg && applied > 0 && sumOfWeights > 0 {
			factor /= sumOfWeights
		}
		if f.MaxBoost > 0 {
			factor = min(factor, f.MaxBoost)
		}
		of := own.Float64()
		total := []float64{of * factor, factor, of + factor, (of + factor) / 2, max(of, factor), min(of, factor)}[f.BoostMode]
		return base.Score(min(math.Round(total*(1<<base.ScoreFractionBits)), 1<<48)), true
	}}
}

func (s *scoring) scored(outer float64, depth int) scoredNode {
	n := s.rng.IntN(10)
	if depth == 0 {
		n = s.rng.IntN(7)
	}
	switch n {
	case 0, 1:
		return s.words(outer)
	case 2:
		return s.vector(outer)
	case 3:
		return s.combined(outer)
	case 4:
		return s.constant(outer)
	case 5:
		return s.like(outer)
	case 6:
		return s.cover(outer)
	case 7:
		return s.disMax(outer, depth)
	case 8:
		return s.functions(outer, depth)
	}
	return s.group(outer, depth)
}

// searchScored compares a random search by score with the loops.
func (s *structured) searchScored(t *testing.T) {
	t.Helper()
	if len(s.live) == 0 {
		return
	}
	c := (&scoring{s, map[string]bool{}}).scored(1, 2)
	q := griffin.Query{Node: c.node, K: 1 + s.rng.IntN(30), Count: true, Load: griffin.LoadIDs}
	filter := condition{match: func(*structuredDoc) bool { return true }}
	if s.rng.IntN(2) == 0 {
		filter = s.condition(1)
		q.Filter = filter.node
	}
	type hit struct {
		id    string
		score base.Score
	}
	var want []hit
	for i := range s.live {
		d := &s.live[i]
		if sc, ok := c.score(d); ok && filter.match(d) {
			want = append(want, hit{d.id, sc})
		}
	}
	slices.SortStableFunc(want, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	r, err := s.ix.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("query %s, filter %v: %v", c.node, q.Filter, err)
	}
	if r.Total.Value != int64(len(want)) {
		t.Fatalf("query %s, filter %v: %d documents, want %d", c.node, q.Filter, r.Total.Value, len(want))
	}
	for i := range max(len(r.Hits), min(q.K, len(want))) {
		if i >= len(r.Hits) || i >= len(want) || r.Hits[i].ID != want[i].id || r.Hits[i].Score != want[i].score.Float64() {
			t.Fatalf("query %s, filter %v: hit %d of %+v, want %v", c.node, q.Filter, i, r.Hits, want[:min(len(want), q.K)])
		}
	}
}
