package plan

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/query"
)

// oracle answers queries from the stored texts. It shares only the analyzer ("whitespace") and
// the contribution of a posting (score.Term) with the engine.
type oracle struct {
	docs    []oracleDoc
	numLive uint64
	fields  []string
	avgLen  []float64 // of live documents, as all statistics
	bm25    score.BM25
	idfs    map[string]float64 // cache of idf by field and words
	factors map[string]map[string]float64
}

type oracleDoc struct {
	docID  base.DocID
	id     string
	rank   int // among documents of equal score
	live   bool
	tokens [][]string // by field; a "" token separates title and text
	length []uint32
}

func newOracle(t testing.TB, snapshot *index.Snapshot, bm25 score.BM25) *oracle {
	o := &oracle{bm25: bm25, fields: []string{"", "title"}, avgLen: make([]float64, 2), idfs: map[string]float64{}, factors: map[string]map[string]float64{}}
	for i := range snapshot.Segments {
		view := &snapshot.Segments[i]
		for d := range base.DocID(view.NumDocs()) {
			var stored segment.StoredDoc
			if err := view.Stored(d, &stored); err != nil {
				t.Fatal(err)
			}
			title, text := strings.Fields(string(stored.Title)), strings.Fields(string(stored.Text))
			doc := oracleDoc{
				docID: view.Base + d, live: view.Live == nil || view.Live.Has(int(d)),
				tokens: [][]string{slices.Concat(title, []string{""}, text), title},
				length: []uint32{uint32(len(title) + len(text)), uint32(len(title))},
			}
			doc.rank = int(doc.docID)
			id, err := view.ID(d)
			if err != nil {
				t.Fatal(err)
			}
			doc.id = string(id)
			if numbers, _, err := view.Written(); err != nil {
				t.Fatal(err)
			} else if numbers != nil { // its ids are numbers in the order of writing
				id, err := view.ID(d)
				if err != nil {
					t.Fatal(err)
				}
				if doc.rank, err = strconv.Atoi(string(id)); err != nil {
					t.Fatal(err)
				}
			}
			o.docs = append(o.docs, doc)
			if !doc.live {
				continue
			}
			o.numLive++
			for f, n := range doc.length {
				o.avgLen[f] += float64(n)
			}
		}
	}
	for f := range o.avgLen {
		o.avgLen[f] /= float64(o.numLive)
	}
	return o
}

func (d *oracleDoc) freq(field int, words []string) (n uint32) {
	tokens := d.tokens[field]
	for i := range tokens {
		if i+len(words) <= len(tokens) && slices.Equal(tokens[i:i+len(words)], words) {
			n++
		}
	}
	return n
}

func (o *oracle) docFreq(field int, word string) (n uint64) {
	for i := range o.docs {
		if o.docs[i].live && o.docs[i].freq(field, []string{word}) > 0 {
			n++
		}
	}
	return n
}

func (o *oracle) idf(field int, words []string) float64 {
	key := strconv.Itoa(field) + strings.Join(words, " ")
	sum, ok := o.idfs[key]
	if !ok {
		for _, w := range words {
			sum += score.IDF(o.numLive, o.docFreq(field, w))
		}
		o.idfs[key] = sum
	}
	return sum
}

// matches follows the definition, in float64.
func (o *oracle) matches(d *oracleDoc, n query.Node, mode Mode, boost float64) (bool, float64) {
	switch n := n.(type) {
	case *query.Term:
		return o.matchesWords(d, n.Field, []string{n.Text}, boost*n.Boost)
	case *query.Phrase:
		if n.Slop > 0 || n.Prefix {
			return o.matchesPhrase(d, n, boost*n.Boost)
		}
		return o.matchesWords(d, n.Field, strings.Fields(n.Text), boost*n.Boost)
	case *query.Boolean:
		return o.matchesBoolean(d, n, mode, boost)
	}
	return o.matchesNode(d, n, mode, boost)
}

func (o *oracle) matchesBoolean(d *oracleDoc, b *query.Boolean, mode Mode, boost float64) (bool, float64) {
	total, required, optional, clauses := 0.0, 0, 0, 0
	for _, c := range b.Clauses {
		ok, s := o.matches(d, c.Node, mode, boost*b.Boost)
		switch {
		case c.Occur == query.MustNot:
			if ok {
				return false, 0
			}
			continue
		case c.Occur == query.Must, c.Occur == query.Filter, c.Occur == query.Plain && mode == ModeAnd && b.AtLeast == "":
			if !ok {
				return false, 0
			}
			required++
			if c.Occur == query.Filter {
				s = 0
			}
		default:
			clauses++
			if ok {
				optional++
			}
		}
		if ok {
			total += s
		}
	}
	if b.AtLeast != "" {
		if n, err := b.AtLeast.Of(clauses); err != nil || optional < n {
			return false, 0
		}
	}
	return required+optional > 0, total
}

func (o *oracle) matchesWords(d *oracleDoc, field string, words []string, boost float64) (bool, float64) {
	f := slices.Index(o.fields, field)
	freq := float64(d.freq(f, words))
	if freq == 0 {
		return false, 0
	}
	k := float64(o.bm25.K1) * (1 - float64(o.bm25.B) + float64(o.bm25.B)*float64(d.length[f])/o.avgLen[f])
	return true, o.idf(f, words) * boost * freq / (freq + k)
}

// score follows the definition, in fixed point.
func (o *oracle) score(d *oracleDoc, n node, terms []term) (bool, base.Score) {
	switch n := n.(type) {
	case *leaf:
		if n.slop > 0 || n.expand > 0 || n.blend != nil {
			return o.scoreLeaf(d, n, terms)
		}
		words := make([]string, len(n.terms))
		for i, t := range n.terms {
			words[i] = string(terms[t].bytes)
		}
		freq := d.freq(int(n.field), words)
		if freq == 0 {
			return false, 0
		}
		return true, o.bm25.NewTerm(o.idf(int(n.field), words)*n.boost, 1, o.avgLen[n.field]).Score(freq, d.length[n.field])
	case *group:
		var sum base.Score
		for _, child := range n.excluded {
			if ok, _ := o.score(d, child, terms); ok {
				return false, 0
			}
		}
		matched := len(n.required) > 0
		for _, child := range n.required {
			ok, s := o.score(d, child, terms)
			if !ok {
				return false, 0
			}
			sum += s
		}
		optional := 0
		for _, child := range n.optional {
			if ok, s := o.score(d, child, terms); ok {
				optional++
				sum += s
			}
		}
		if n.atLeast > 1 {
			return optional >= n.atLeast, sum
		}
		return matched || optional > 0, sum
	}
	return o.scoreNode(d, n, terms)
}

// answer returns all matching live documents in result order and checks that the planned tree
// is equivalent to the query.
func (o *oracle) answer(t testing.TB, p *Plan, st *Stage) []base.Hit {
	var hits []base.Hit
	for i := range o.docs {
		d := &o.docs[i]
		if !d.live {
			continue
		}
		ok, s := o.score(d, st.root, p.words.terms)
		want, exact := o.matches(d, p.query, st.mode, 1)
		if ok != want {
			t.Fatalf("%s in mode %s: plan %s: document %d matches: %t, the query: %t", p.query, st.mode, nodeString(st.root), d.docID, ok, want)
		}
		if ok {
			if math.Abs(s.Float64()-exact) > 1e-3 {
				t.Fatalf("%s: document %d scores %v, in float64 %v", p.query, d.docID, s, exact)
			}
			hits = append(hits, base.Hit{DocID: d.docID, Score: s})
		}
	}
	slices.SortFunc(hits, func(a, b base.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(o.docs[a.DocID].rank, o.docs[b.DocID].rank))
	})
	return hits
}

// Recursive graph bisection renumbers the documents.
func reorderedIndex(t testing.TB, rng *rand.Rand, numDocs int) *index.Index {
	var lines strings.Builder
	for i := range numDocs {
		fmt.Fprintf(&lines, `{"id":"%d","title":"%s","text":"%s"}`+"\n", i, plantest.RandomWords(rng, rng.IntN(4)), plantest.RandomWords(rng, rng.IntN(60)))
	}
	reader, err := corpus.Open([]string{"-"}, corpus.Options{Format: "jsonl", Stdin: strings.NewReader(lines.String())})
	if err != nil {
		t.Fatal(err)
	}
	ix := indextest.Create(t, index.Options{Analyzer: "whitespace", Positions: true})
	if _, err := ix.Build(t.Context(), reader, index.BuildOptions{Reorder: index.ReorderBP}); err != nil {
		t.Fatal(err)
	}
	return ix
}

func testScratch(t testing.TB, analyzer string) *Scratch {
	sc, err := NewScratch(analyzer)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// Random trees give the oracle's hits and scores in all modes, with one or several segments,
// with and without deletions, with the index's BM25 parameters and others.
func TestOracle(t *testing.T) {
	for _, test := range []struct {
		docs, commits, queries int
		deletes, reorder       bool
		bm25                   score.BM25
	}{
		{1, 1, 100, false, false, score.DefaultBM25},
		{60, 1, 300, false, false, score.DefaultBM25},
		{200, 1, 100, false, true, score.DefaultBM25},
		{300, 5, 150, true, false, score.DefaultBM25},
		{700, 3, 60, true, false, score.BM25{K1: 2, B: 0.9}},
		{300, 2, 60, false, false, score.BM25{K1: 0, B: 0}},
	} {
		name := fmt.Sprintf("docs=%d/commits=%d/deletes=%t/reorder=%t/k1=%g", test.docs, test.commits, test.deletes, test.reorder, test.bm25.K1)
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, uint64(test.docs)))
			var ix *index.Index
			if test.reorder {
				ix = reorderedIndex(t, rng, test.docs)
			} else {
				ix = plantest.RandomIndex(t, rng, test.docs, test.commits, test.deletes)
			}
			snapshot := indextest.Snapshot(t, ix)
			if len(snapshot.Segments) != test.commits {
				t.Fatalf("%d segments, want %d", len(snapshot.Segments), test.commits)
			}
			o := newOracle(t, snapshot, test.bm25)
			s := New(snapshot, &test.bm25)
			sc := testScratch(t, "whitespace")
			for range test.queries {
				checkQuery(t, o, s, sc, plantest.RandomNode(rng, 3))
			}
		})
	}
}

func checkQuery(t *testing.T, o *oracle, s *Planner, sc *Scratch, q query.Node) {
	all := map[Mode][]base.Hit{} // by the oracle
	for _, mode := range []Mode{ModeOr, ModeAnd, ModeAndOr} {
		for _, k := range []int{1, 3, 10, 1000} {
			p, err := s.Prepare(sc, q, Options{Mode: mode, K: k})
			if err != nil {
				t.Fatalf("%s: %v", q, err)
			}
			var want []base.Hit
			var answered *Stage
			for i := range p.stages {
				answered = &p.stages[i]
				if _, ok := all[answered.mode]; !ok {
					all[answered.mode] = o.answer(t, p, answered)
				}
				want = all[answered.mode][:min(k, len(all[answered.mode]))]
				if len(want) == k {
					break
				}
			}
			a, err := p.RunCPU(context.Background(), sc, nil, nil)
			if err != nil {
				t.Fatalf("%s: %v", q, err)
			}
			if !slices.Equal(a.Hits, want) || a.Mode != answered.mode {
				t.Fatalf("%s in mode %s (%s), plan %s, k=%d:\ngot  %v in mode %s\nwant %v in mode %s",
					q, mode, a.Traversal, nodeString(answered.root), k, a.Hits, a.Mode, want, answered.mode)
			}
			if k == 10 {
				checkExplanations(t, p, sc, s.snapshot, a)
			}
		}
	}
}

func checkExplanations(t *testing.T, p *Plan, sc *Scratch, snapshot *index.Snapshot, a Answer) {
	for _, h := range a.Hits {
		view := 0
		for view+1 < len(snapshot.Segments) && snapshot.Segments[view+1].Base <= h.DocID {
			view++
		}
		e, err := p.Explain(context.Background(), sc, view, h.DocID-snapshot.Segments[view].Base)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, part := range e.Parts {
			sum += part.Contribution
			if part.Contribution != 0 && part.Query == "" {
				length := float64(part.Length)
				if part.Combined != nil {
					length = part.CombinedLength
				}
				k := float64(part.K1) * (1 - float64(part.B) + float64(part.B)*length/part.AvgLength)
				f := max(float64(part.Freq), part.SloppyFreq)
				if want := part.IDF * part.Boost * f / (f + k); math.Abs(want-part.Contribution) > 1e-4 {
					t.Fatalf("%s: part %+v: the formula gives %v", p.query, part, want)
				}
			}
		}
		if !e.Matches || e.Score != h.Score.Float64() || sum != e.Score {
			t.Fatalf("%s: document %d: explanation %+v, the hit's score is %v", p.query, h.DocID, e, h.Score)
		}
	}
}
