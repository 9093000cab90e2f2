package plan

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/query"
)

// has reports whether a token of a field passes a test.
func (d *oracleDoc) has(field int, test func(token string) bool) bool {
	return slices.ContainsFunc(d.tokens[field], func(token string) bool { return token != "" && test(token) })
}

// matchesNode follows the definitions of nodes.go in package query, in loops over a document's tokens.
func (o *oracle) matchesNode(d *oracleDoc, n query.Node, mode Mode, boost float64) (bool, float64) {
	field := func(name string) int { return slices.Index(o.fields, name) }
	constant := func(ok bool, own float64) (bool, float64) {
		if !ok {
			return false, 0
		}
		return true, boost * own
	}
	switch n := n.(type) {
	case *query.MatchAll:
		return constant(true, n.Boost)
	case *query.Exists:
		return constant(d.length[field(n.Field)] > 0, n.Boost)
	case *query.IDs:
		return constant(slices.Contains(n.IDs, d.id), n.Boost)
	case *query.Prefix:
		return constant(d.has(field(n.Field), func(t string) bool { return strings.HasPrefix(t, n.Text) }), n.Boost)
	case *query.Wildcard:
		return constant(d.has(field(n.Field), func(t string) bool { return wildcardMatches(n.Pattern, t) }), n.Boost)
	case *query.Regexp:
		re := regexp.MustCompile("^(?:" + n.Pattern + ")$")
		return constant(d.has(field(n.Field), re.MatchString), n.Boost)
	case *query.Terms:
		return constant(d.has(field(n.Field), func(t string) bool { return slices.Contains(n.Values, t) }), n.Boost)
	case *query.Range:
		return constant(d.has(field(n.Field), func(t string) bool {
			return (t > n.From || t == n.From && !n.ExcludeFrom) && (n.To == "" || t < n.To || t == n.To && !n.ExcludeTo)
		}), n.Boost)
	case *query.Constant:
		ok, _ := o.matches(d, n.Node, mode, 1)
		return constant(ok, n.Score)
	case *query.FunctionScore:
		return o.matchesFunctions(d, n, mode, boost*n.Boost)
	case *query.Combined:
		return o.matchesCombined(d, n, mode, boost*n.Boost)
	case *query.Fuzzy:
		return o.matchesFuzzy(d, field(n.Field), n, boost*n.Boost)
	case *query.DisMax:
		return o.matchesDisMax(d, n, mode, boost)
	case *query.Boosting:
		ok, s := o.matches(d, n.Positive, mode, boost*n.Boost)
		if negative, _ := o.matches(d, n.Negative, mode, 1); negative {
			s *= n.NegativeBoost
		}
		return ok, s
	}
	panic(fmt.Sprintf("node of type %T", n))
}

func (o *oracle) matchesDisMax(d *oracleDoc, n *query.DisMax, mode Mode, boost float64) (matched bool, score float64) {
	best, sum := 0.0, 0.0
	for _, child := range n.Nodes {
		if ok, s := o.matches(d, child, mode, boost*n.Boost); ok {
			matched = true
			best = max(best, s)
			sum += s
		}
	}
	return matched, best + n.TieBreaker*(sum-best)
}

func wildcardMatches(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	_, size := utf8.DecodeRuneInString(text)
	switch pattern[0] {
	case '*':
		return wildcardMatches(pattern[1:], text) || text != "" && wildcardMatches(pattern, text[size:])
	case '?':
		return text != "" && wildcardMatches(pattern[1:], text[size:])
	}
	return text != "" && pattern[0] == text[0] && wildcardMatches(pattern[1:], text[1:])
}

// distance is the number of edits, by the whole table.
func distance(a, b []rune, swaps bool) int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
		for j := range table[i] {
			switch {
			case i == 0:
				table[i][j] = j
			case j == 0:
				table[i][j] = i
			default:
				cost := 1
				if a[i-1] == b[j-1] {
					cost = 0
				}
				table[i][j] = min(table[i-1][j-1]+cost, table[i-1][j]+1, table[i][j-1]+1)
				if swaps && i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					table[i][j] = min(table[i][j], table[i-2][j-2]+1)
				}
			}
		}
	}
	return table[len(a)][len(b)]
}

// similar returns the terms of live documents that a Fuzzy stands for, with their factors.
func (o *oracle) similar(field int, n *query.Fuzzy) map[string]float64 {
	key := fmt.Sprint("similar ", field, *n)
	if factors, ok := o.factors[key]; ok {
		return factors
	}
	type candidate struct {
		text   string
		factor float64
	}
	edits, err := n.Max(n.Text)
	if err != nil {
		panic(err)
	}
	var all []candidate
	seen := map[string]bool{}
	word := []rune(n.Text)
	for i := range o.docs {
		if !o.docs[i].live {
			continue
		}
		for _, token := range o.docs[i].tokens[field] {
			t := []rune(token)
			if token == "" || seen[token] {
				continue
			}
			seen[token] = true
			same := min(n.PrefixLength, len(word))
			if len(t) < same || !slices.Equal(t[:same], word[:same]) {
				continue
			}
			far := distance(word, t, !n.NoSwaps)
			if factor := 1 - float64(far)/float64(min(len(word), len(t))); far <= edits && factor > 0 {
				all = append(all, candidate{token, factor})
			}
		}
	}
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Or(cmp.Compare(b.factor, a.factor), cmp.Compare(a.text, b.text)) })
	most := cmp.Or(n.MaxExpansions, query.DefaultExpansions)
	factors := map[string]float64{}
	for _, c := range all[:min(most, len(all))] {
		factors[c.text] = c.factor
	}
	o.factors[key] = factors
	return factors
}

func (o *oracle) matchesFuzzy(d *oracleDoc, field int, n *query.Fuzzy, boost float64) (ok bool, sum float64) {
	factors := o.similar(field, n)
	idf := math.Inf(1)
	for text := range factors {
		idf = min(idf, o.idf(field, []string{text}))
	}
	for text, factor := range factors {
		if freq := float64(d.freq(field, []string{text})); freq > 0 {
			ok = true
			sum += idf * boost * factor * freq / (freq + o.saturation(d, field))
		}
	}
	return ok, sum
}

func (o *oracle) saturation(d *oracleDoc, field int) float64 {
	return float64(o.bm25.K1) * (1 - float64(o.bm25.B) + float64(o.bm25.B)*float64(d.length[field])/o.avgLen[field])
}

// matchesPhrase is for words that are not repeated: each way to place them within the slop is a match if
// no word can be moved further back without another one left of the last word becoming the first.
func (o *oracle) matchesPhrase(d *oracleDoc, n *query.Phrase, boost float64) (bool, float64) {
	field := slices.Index(o.fields, n.Field)
	slots, words := o.slots(d, field, n)
	freq := sloppyFrequency(slots, n.Slop)
	if freq == 0 {
		return false, 0
	}
	return true, o.idf(field, words) * boost * freq / (freq + o.saturation(d, field))
}

// slots returns the positions of each word less its place, and all words for the idf.
func (o *oracle) slots(d *oracleDoc, field int, n *query.Phrase) (slots [][]int, words []string) {
	words = strings.Fields(n.Text)
	for i, w := range words {
		alternatives := []string{w}
		if n.Prefix && i == len(words)-1 {
			alternatives = o.beginning(field, w, cmp.Or(n.MaxExpansions, query.DefaultExpansions))
			words = append(words[:i:i], alternatives...)
		}
		slots = append(slots, d.positions(field, i, alternatives...))
	}
	return slots, words
}

func (o *oracle) beginning(field int, prefix string, most int) []string {
	var all []string
	for i := range o.docs {
		if o.docs[i].live {
			for _, token := range o.docs[i].tokens[field] {
				if token != "" && strings.HasPrefix(token, prefix) {
					all = append(all, token)
				}
			}
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(most, len(all))]
}

// sloppyFrequency tries each first position: of the places of each word, those up to the first one after
// which the word would no longer be the leftmost.
func sloppyFrequency(slots [][]int, slop int) (freq float64) {
	at := make([]int, len(slots))
	if slices.ContainsFunc(slots, func(s []int) bool { return len(s) == 0 }) {
		return 0
	}
	for {
		first := 0
		for i := range slots {
			if slots[i][at[i]] < slots[first][at[first]] {
				first = i
			}
		}
		last, next := math.MinInt, math.MaxInt
		for i := range slots {
			last = max(last, slots[i][at[i]])
			if i != first {
				next = min(next, slots[i][at[i]])
			}
		}
		length := last - slots[first][at[first]]
		for at[first]++; at[first] < len(slots[first]) && slots[first][at[first]] <= next; at[first]++ {
			length = min(length, last-slots[first][at[first]])
		}
		if length <= slop {
			freq += 1 / float64(1+length)
		}
		if at[first] == len(slots[first]) {
			return freq
		}
	}
}

// scoreLeaf is score for phrases with slop or alternatives, and for similar terms.
func (o *oracle) scoreLeaf(d *oracleDoc, l *leaf, terms []term) (bool, base.Score) {
	field := int(l.field)
	weight := 0.0
	for _, t := range l.terms {
		weight += o.idf(field, []string{string(terms[t].bytes)})
	}
	if l.blend != nil {
		weight = math.Inf(1)
		for _, t := range l.blend.terms {
			weight = min(weight, o.idf(field, []string{string(terms[t].bytes)}))
		}
	}
	scorer := o.bm25.NewTerm(weight*l.boost, 1, o.avgLen[field])
	if len(l.terms) == 1 {
		freq := d.freq(field, []string{string(terms[l.terms[0]].bytes)})
		if freq == 0 {
			return false, 0
		}
		return true, scorer.Score(freq, d.length[field])
	}
	slots := map[uint32][]int{}
	for i, t := range l.terms {
		slots[l.offsets[i]] = append(slots[l.offsets[i]], d.positions(field, int(l.offsets[i]), string(terms[t].bytes))...)
	}
	var all [][]int
	for _, offset := range slices.Compact(slices.Clone(l.offsets)) {
		slices.Sort(slots[offset])
		all = append(all, slots[offset])
	}
	freq := sloppyFrequency(all, int(l.slop))
	if freq == 0 {
		return false, 0
	}
	if l.slop == 0 {
		return true, scorer.Score(uint32(freq), d.length[field])
	}
	return true, scorer.ScoreOf(float32(freq), d.length[field])
}

// positions returns the places of words in a field less an offset, rising.
func (d *oracleDoc) positions(field, offset int, words ...string) (positions []int) {
	gap := 0
	for p, token := range d.tokens[field] {
		if token == "" {
			gap = 63 // besides the place of the separator: inverter.positionGap
		}
		if slices.Contains(words, token) {
			positions = append(positions, p+gap-offset)
		}
	}
	return positions
}

// scoreNode is score for nodes.go.
func (o *oracle) scoreNode(d *oracleDoc, n node, terms []term) (bool, base.Score) {
	switch n := n.(type) {
	case *constant:
		ok, _ := o.score(d, n.child, terms)
		if !ok {
			return false, 0
		}
		return true, n.score
	case *set:
		return o.inSet(d, n.source), 0
	case *disMax:
		matched, best, sum := false, base.Score(0), base.Score(0)
		for _, child := range n.children {
			if ok, s := o.score(d, child, terms); ok {
				matched = true
				best = max(best, s)
				sum += s
			}
		}
		return matched, best + base.Score(float64(sum-best)*n.tie)
	case *boosting:
		ok, s := o.score(d, n.positive, terms)
		if negative, _ := o.score(d, n.negative, terms); negative {
			s = base.Score(float64(s) * n.factor)
		}
		return ok, s
	}
	switch n := n.(type) {
	case *combined:
		return o.scoreCombined(d, n, terms)
	case *functionScore:
		return o.scoreFunctions(d, n, terms)
	}
	return false, 0
}

func (o *oracle) inSet(d *oracleDoc, s source) bool {
	switch s := s.(type) {
	case everything:
		return true
	case existing:
		return d.length[s.field] > 0
	case *idSource:
		return slices.Contains(s.ids, d.id)
	case *prefixSource:
		return d.has(int(s.field), func(t string) bool { return strings.HasPrefix(t, string(s.prefix)) })
	case *patternSource:
		return d.has(int(s.field), s.pattern.Automaton().Match)
	case *termsSource:
		return d.has(int(s.field), func(t string) bool {
			return slices.ContainsFunc(s.terms, func(term []byte) bool { return string(term) == t })
		})
	case *rangeSource:
		return d.has(int(s.field), func(t string) bool {
			from, to := string(s.from), string(s.to)
			return (t > from || t == from && !s.excludeFrom) && (to == "" || t < to || t == to && !s.excludeTo)
		})
	}
	panic(fmt.Sprintf("source %T", s))
}

func TestWildcardOfOracle(t *testing.T) {
	if !wildcardMatches("w*1?", "w0110") || wildcardMatches("w?", "w") || !wildcardMatches("*", "") || wildcardMatches("", "a") {
		t.Error("the oracle's wildcards are wrong")
	}
}
