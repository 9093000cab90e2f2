package plan

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/query"
)

// typicalTerm is a term of the like texts of a query.MoreLikeThis.
type typicalTerm struct {
	field base.FieldID
	text  string
	freq  int
	// score is Lucene's: freq * (ln((N+1)/(n+1)) + 1).
	score float64
	boost float64 // of the field
}

// typical collects terms.
type typical struct {
	compiler *compiler
	query    *query.MoreLikeThis
	terms    []typicalTerm
	stored   segment.StoredDoc
}

// moreLikeThis makes a disjunction of the most typical terms, as Lucene's MoreLikeThis. We differ: numbers of
// documents are of live ones, and of terms with equal scores, the first in the order of fields and bytes
// count.
func moreLikeThis(c *compiler, n *query.MoreLikeThis, boost float64) (node, error) {
	t := &typical{compiler: c, query: n}
	fields := n.Fields
	if len(fields) == 0 {
		fields = []string{""}
	}
	for _, name := range fields {
		if err := t.addField(name); err != nil {
			return nil, err
		}
	}
	base.Sort(t.terms, func(x, y typicalTerm) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.field, y.field), strings.Compare(x.text, y.text))
	})
	most := cmp.Or(n.MaxTerms, 25)
	t.terms = t.terms[:min(len(t.terms), most)]
	if len(t.terms) == 0 {
		c.note("more like this: no word is as frequent in the texts, and in as many documents, as the query asks for")
		return nothing(), nil
	}
	g := c.memory.group(len(t.terms))
	for i := range t.terms {
		term := &t.terms[i]
		own := boost * term.boost
		if n.BoostTerms > 0 {
			own *= n.BoostTerms * term.score / t.terms[0].score
		}
		terms := c.memory.numbers.take(1)
		terms[0] = c.intern(term.field, []byte(term.text))
		g.optional = append(g.optional, c.memory.leaf(leaf{field: term.field, terms: terms, boost: own}))
	}
	if len(c.terms) > query.MaxClauses {
		return nil, tooManyTerms()
	}
	if err := g.demand(cmp.Or(n.AtLeast, "30%")); err != nil {
		return nil, err
	}
	root := g.simplify()
	if n.Include || len(n.IDs) == 0 {
		return root, nil
	}
	ids := slices.Compact(slices.Sorted(slices.Values(n.IDs)))
	without := c.memory.group(1)
	without.required = append(without.required, root)
	text := (&query.IDs{IDs: ids}).String()
	without.excluded = append(without.excluded, wrapSet(setKey("ids", 0, ids...), text, &idSource{ids}, constantScore(1)))
	return without.simplify(), nil
}

// addField adds the typical terms of a field.
func (t *typical) addField(name string) error {
	c, n := t.compiler, t.query
	id, err := c.field(name)
	if err != nil {
		return err
	}
	counts, skip := map[string]int{}, map[string]int{}
	for _, part := range []struct {
		texts, ids []string
		counts     map[string]int
	}{{n.Texts, n.IDs, counts}, {n.UnlikeTexts, n.UnlikeIDs, skip}} {
		for _, text := range part.texts {
			if err := t.count(name, []byte(text), part.counts); err != nil {
				return err
			}
		}
		for _, id := range part.ids {
			if err := t.countDocument(name, id, part.counts); err != nil {
				return err
			}
		}
	}
	weight := fieldWeight(c.snapshot, &query.Term{Field: name})
	numDocs := float64(c.snapshot.NumLive)
	for text, freq := range counts {
		if _, skipped := skip[text]; skipped || !t.eligible(text, freq) {
			continue
		}
		docFreq, err := liveDocFreq(c, id, text)
		if err != nil {
			return err
		}
		if docFreq < uint64(cmp.Or(n.MinDocFreq, 5)) || docFreq == 0 || n.MaxDocFreq > 0 && docFreq > uint64(n.MaxDocFreq) {
			continue
		}
		score := float64(freq) * (math.Log((numDocs+1)/float64(docFreq+1)) + 1)
		t.terms = append(t.terms, typicalTerm{id, text, freq, score, weight})
	}
	return nil
}

func (t *typical) eligible(text string, freq int) bool {
	n := t.query
	length := utf8.RuneCountInString(text)
	return freq >= cmp.Or(n.MinTermFreq, 2) && length >= n.MinLength && (n.MaxLength == 0 || length <= n.MaxLength) && !slices.Contains(n.StopWords, text)
}

// count adds the terms of a value.
func (t *typical) count(field string, value []byte, counts map[string]int) error {
	c := t.compiler
	if f := c.typed(field); f != nil && f.Type == mapping.Keyword {
		if len(value) > 0 && !f.Ignores(string(value)) {
			counts[c.analyzers.normal(f, string(value))]++
		}
		return nil
	}
	a, err := c.analyzers.of(field, analysis.Documents)
	if err != nil {
		return err
	}
	queries, err := c.analyzers.of(field, analysis.Queries)
	if err != nil {
		return err
	}
	c.tokens = a.Tokens(c.tokens[:0], value)
	var words []analysis.Token
	for _, token := range c.tokens {
		text := string(token.Term)
		if _, known := counts[text]; !known {
			if words = queries.Tokens(words[:0], value[token.Start:token.End]); len(words) == 0 {
				counts[text] = math.MinInt32 // a stop word of queries
			}
		}
		counts[text]++
	}
	return nil
}

// countDocument adds the terms of a stored document, if there is one.
func (t *typical) countDocument(field, id string, counts map[string]int) error {
	s := t.compiler.snapshot
	number, doc, found, err := s.Lookup(id)
	if err != nil || !found {
		return err
	}
	view := &s.Segments[number]
	if !view.HasStored() {
		return fmt.Errorf("documents like %q: the index stores no text: give a text instead: %w", id, base.ErrBadInput)
	}
	if err := view.Stored(doc, &t.stored); err != nil {
		return err
	}
	var names []string
	if field != "" {
		names = s.Options.FieldMapping().Sources(field)
	}
	t.stored.EachValue(names, func(value []byte) {
		if err == nil {
			err = t.count(field, bytes.Clone(value), counts)
		}
	})
	return err
}

// liveDocFreq is the number of live documents of a term.
func liveDocFreq(c *compiler, field base.FieldID, text string) (n uint64, err error) {
	for i := range c.snapshot.Segments {
		view := &c.snapshot.Segments[i]
		found, err := view.Find(field, []byte(text), &c.list)
		if err != nil {
			return 0, err
		}
		if found {
			n += view.Deletions.DocFreq(&c.list)
		}
	}
	return n, nil
}
