package collection

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/query"
)

// Small enough to check every posting; the vocabulary is smaller than the source's.
func vectorPreset() Preset {
	return Preset{
		Name: "vectors", NumDocs: 6_000, NumQueries: 60, MeanPostings: 16_000,
		Vectors: VectorShape{Vocabulary: 800, MeanTerms: 60, MeanQuery: 15, LeastQuery: 12, MostQuery: 18},
		Sites:   20, Breadth: 0.05, LengthSpread: 0.1, RankSite: 0.5, RankLength: 0.25,
	}
}

func TestVectorsReachTheTargets(t *testing.T) {
	sampletest.SkipRace(t)
	source, log := testSource(t)
	p := vectorPreset()
	s, r := generate(t, source, log, Options{Like: p, Order: Crawl, Seed: 1})
	if !s.Options.Weighted() || s.NumDocs != p.NumDocs || r.NumQueries != p.NumQueries || r.NumTerms != p.Vectors.Vocabulary {
		t.Errorf("weighted %v, %d documents, %d queries, %d terms", s.Options.Weighted(), s.NumDocs, r.NumQueries, r.NumTerms)
	}
	if got := int64(s.Fields[0].NumPostings); got != r.NumPostings {
		t.Errorf("index has %d postings, reported %d", got, r.NumPostings)
	}
	near := map[string]struct{ want, tolerance float64 }{
		"postings of a query": {p.MeanPostings, 0.03},
		"terms of a document": {p.Vectors.MeanTerms, 0.03},
		"terms of a query":    {15, 0.05},
		// All but a few of the 12 to 18.
		"share of a query's 10 heaviest": {0.92, 0.08},
	}
	for _, s := range r.Reached {
		if c, ok := near[s.What]; ok && math.Abs(s.Reached/c.want-1) > c.tolerance {
			t.Errorf("%s: %g, want %g", s.What, s.Reached, c.want)
		}
		delete(near, s.What)
	}
	if len(near) > 0 {
		t.Errorf("not reported: %v", near)
	}
	for _, q := range r.Queries {
		w, err := query.ParseWeights(q.Text)
		if err != nil || len(w.Terms) != len(q.Terms) || len(w.Terms) < p.Vectors.LeastQuery || len(w.Terms) > p.Vectors.MostQuery {
			t.Fatalf("query %s: %s: %v", q.ID, q.Text, err)
		}
		for _, term := range w.Terms {
			if term.Weight <= 0 || len(readList(t, s, term.Term)) == 0 {
				t.Fatalf("query %s: %q with %g has no postings", q.ID, term.Term, term.Weight)
			}
		}
	}
}

// Unreachable targets accept all draws and shrink with the collection.
func TestVectorsTakeWhatThereIs(t *testing.T) {
	sampletest.SkipRace(t)
	source, log := testSource(t)
	p := vectorPreset()
	p.MeanPostings *= 100
	_, most := generate(t, source, log, Options{Like: p, Order: Random, Seed: 1})
	p.NumDocs *= 2 // generate half of it
	_, half := generate(t, source, log, Options{Like: p, Order: Random, Seed: 1, NumDocs: 6_000})
	if most.Reached[1].Reached != half.Reached[1].Reached || half.Reached[1].Paper*2 != most.Reached[1].Paper {
		t.Errorf("%+v and %+v", most.Reached[1], half.Reached[1])
	}
}

func TestVectorsAreDeterministic(t *testing.T) {
	source, log := testSource(t)
	sum := func(o Options) (uint32, []Query) {
		o.Like = vectorPreset()
		o.NumDocs = sampletest.UnderRace(o.Like.NumDocs, 1_500)
		s, r := generate(t, source, log, o)
		return s.Segments[0].Meta().Sum(), r.Queries
	}
	equal := func(a, b []Query) bool {
		return slices.EqualFunc(a, b, func(a, b Query) bool { return a.ID == b.ID && a.Text == b.Text })
	}
	one, queries := sum(Options{Order: Crawl, Seed: 7, Threads: 1})
	if three, others := sum(Options{Order: Crawl, Seed: 7, Threads: 3}); three != one || !equal(queries, others) {
		t.Error("1 and 3 threads make different collections")
	}
	if other, others := sum(Options{Order: Crawl, Seed: 8, Threads: 1}); other == one || equal(queries, others) {
		t.Error("seeds 7 and 8 make the same collection")
	}
}

// Each vector is made separately.
func TestVectorsEqualMakingEach(t *testing.T) {
	sampletest.SkipRace(t)
	source, log := testSource(t)
	o := Options{Like: vectorPreset(), Order: Rank, Seed: 3, Threads: 2}
	s, _ := generate(t, source, log, o)
	if err := o.fill(); err != nil {
		t.Fatal(err)
	}
	v, m, p := testModel(t, &o)
	e := newExpander(m)
	want := make([][]uint64, len(v.terms))
	for d := range s.NumDocs {
		made := e.compose(p.at(d), p.starts[p.at(d)])
		length := uint32(0)
		for i, term := range made.terms {
			length += uint32(made.freqs[i])
			want[term] = append(want[term], uint64(d)<<32|uint64(made.freqs[i]))
		}
		if got := s.Segments[0].Lengths(0)[d]; got != length || made.length != length {
			t.Fatalf("document %d: length %d, made %d, want %d", d, got, made.length, length)
		}
	}
	for i, term := range v.terms {
		if got := readList(t, s, term); !slices.Equal(got, want[i]) {
			t.Fatalf("term %q: %d postings, want %d, or others", term, len(got), len(want[i]))
		}
	}
	if err := s.Segments[0].Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func testModel(t *testing.T, o *Options) (*vocabulary, *model, *plan) {
	t.Helper()
	ctx := t.Context()
	source, log := testSource(t)
	words, docFreqs, err := readWords(ctx, source)
	if err != nil {
		t.Fatal(err)
	}
	v := newPieces(words, docFreqs, o.Like.Vectors.Vocabulary, o.Seed)
	queries, err := askQueries(ctx, source, log, v, docFreqs, o)
	if err != nil {
		t.Fatal(err)
	}
	f, p, err := layOut(ctx, source, v, o)
	if err != nil {
		t.Fatal(err)
	}
	m := newModel(f, p, o)
	if err := m.calibrate(ctx, p, queries, o); err != nil {
		t.Fatal(err)
	}
	return v, m, p
}

// A vector contains its passage's words, which weigh more; the others are of the same topic.
func TestVectorsAreOfTheirPassage(t *testing.T) {
	sampletest.SkipRace(t)
	o := Options{Like: vectorPreset(), Order: Crawl, Seed: 3}
	o.Like.Vectors.Vocabulary = 5000 // all words are terms
	if err := o.fill(); err != nil {
		t.Fatal(err)
	}
	v, m, p := testModel(t, &o)
	e := newExpander(m)
	var saidWeights, saidTerms, drawnWeights, drawnTerms, ownTopic, otherTopic float64
	for g := range 2000 {
		start := p.starts[g]
		passage := m.f.terms[m.f.starts[start]:m.f.starts[start+1]]
		topic, _, _ := strings.Cut(v.terms[firstTopical(v, passage)], "w")
		d := e.compose(uint32(g), start)
		for i, term := range d.terms {
			if slices.Contains(passage, term) {
				saidWeights += float64(d.freqs[i])
				saidTerms++
				continue
			}
			drawnWeights += float64(d.freqs[i])
			drawnTerms++
			switch word := v.terms[term]; {
			case strings.HasPrefix(word, topic+"w"):
				ownTopic++
			case word[0] == 't':
				otherTopic++
			}
		}
	}
	if saidWeights/saidTerms < 1.25*drawnWeights/drawnTerms {
		t.Errorf("words of the passage weigh %.1f, others %.1f", saidWeights/saidTerms, drawnWeights/drawnTerms)
	}
	// There are 60 topics.
	if ownTopic < otherTopic/4 {
		t.Errorf("of the words of topics that were drawn %g are of the passage's, %g of another", ownTopic, otherTopic)
	}
	if drawnTerms < saidTerms/2 || saidTerms == 0 {
		t.Errorf("%g terms are of the passages, %g drawn", saidTerms, drawnTerms)
	}
}

func firstTopical(v *vocabulary, terms []uint32) uint32 {
	for _, t := range terms {
		if v.terms[t][0] == 't' {
			return t
		}
	}
	return terms[0]
}

func TestPieces(t *testing.T) {
	words := []string{"a", "b", "c", "d", "e", "f"}
	docFreqs := []uint32{5, 1, 9, 9, 2, 1}
	v := newPieces(words, docFreqs, 6, 1)
	if !slices.Equal(v.terms, words) {
		t.Errorf("as many terms as words: %q", v.terms)
	}
	v = newPieces(words, docFreqs, 4, 1)
	if want := []string{"##0000", "a", "c", "d"}; !slices.Equal(v.terms, want) {
		t.Errorf("terms %q, want %q", v.terms, want)
	}
	for i, want := range [][]uint32{{1}, {0}, {2}, {3}, {0}, {0}} {
		if v.words[i].text != words[i] || !slices.Equal(v.words[i].terms, want) {
			t.Errorf("word %d: %+v, want %v", i, v.words[i], want)
		}
	}
}
