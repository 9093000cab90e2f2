package plan

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/query"
)

// narrowedNode is a random query with filters of columns.
func narrowedNode(rng *rand.Rand) query.Node {
	filter := func() query.Node {
		from := rng.IntN(10_000)
		return &query.Range{Field: []string{"random", "place", "words"}[rng.IntN(3)], From: strconv.Itoa(from), To: strconv.Itoa(from + []int{10, 500, 9000}[rng.IntN(3)])}
	}
	term := func() query.Node { return &query.Term{Text: plantest.RandomWord(rng)} }
	b := &query.Boolean{}
	for range 1 + rng.IntN(3) {
		c := query.Clause{Occur: []query.Occur{query.Must, query.Should, query.MustNot, query.Filter}[rng.IntN(4)]}
		switch rng.IntN(5) {
		case 0:
			c.Node = filter()
		case 1:
			c.Node = &query.Phrase{Text: plantest.RandomWords(rng, 2+rng.IntN(2)), Slop: rng.IntN(2), Prefix: rng.IntN(4) == 0}
		case 2:
			c.Node = &query.FunctionScore{Node: term(), MinScore: float64(rng.IntN(3))}
		case 3:
			c.Node = query.Any(filter(), term())
		default:
			c.Node = &query.Words{Text: plantest.RandomWords(rng, 1+rng.IntN(30)), Occur: []query.Occur{query.Should, query.Must}[rng.IntN(2)]}
		}
		b.Clauses = append(b.Clauses, c)
	}
	return b
}

// Narrowing a list or a bitmap by a node leaves the documents that the node's iterator yields, too.
func TestNarrow(t *testing.T) {
	rng := rand.New(rand.NewPCG(67, 1))
	sc := testScratch(t, "whitespace")
	lists, bitmaps := 0, 0
	for _, numDocs := range []int{90, 5000} {
		columns := selectIndex(t, rng, numDocs, 2, false)
		fields := New(indextest.Snapshot(t, plantest.RandomIndex(t, rng, numDocs, 2, false)), nil)
		for i := range sampletest.Rounds(200, 4000) {
			s, node := fields, plantest.RandomNode(rng, 2)
			if i%2 == 0 {
				s, node = columns, narrowedNode(rng)
			}
			p, err := s.Prepare(sc, node, Options{K: 1})
			if err != nil {
				t.Fatalf("%s: %v", node, err)
			}
			root := p.stages[0].root
			if root == nil {
				continue
			}
			for segment := range s.snapshot.Segments {
				m := sc.begin(&p.words, segment, t.Context())
				all := cleared(nil, m.view().NumDocs())
				if err := m.iterate(all, root); err != nil {
					t.Fatal(err)
				}
				for range 3 {
					d := randomDocuments(rng, m.view().NumDocs())
					want := cleared(nil, m.view().NumDocs())
					d.addTo(want)
					and(want, all)
					before := slices.Clone(d.words)
					found, err := narrower{m}.narrow(d, root)
					if err != nil {
						t.Fatal(err)
					}
					got := cleared(nil, m.view().NumDocs())
					found.addTo(got)
					if !slices.Equal(got, want) || found.count != int(ones(want)) {
						t.Fatalf("%s: %d documents of %d: %d, want %d", node, d.count, m.view().NumDocs(), found.count, ones(want))
					}
					if !slices.Equal(before, d.words) {
						t.Fatalf("%s: the documents changed", node)
					}
					if d.words == nil {
						lists++
					} else {
						bitmaps++
					}
				}
				got := cleared(nil, m.view().NumDocs())
				if err := m.mark(got, root); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, all) {
					t.Fatalf("%s: %d documents, want %d", node, ones(got), ones(all))
				}
			}
		}
	}
	if lists < 100 || bitmaps < 100 {
		t.Errorf("%d lists and %d bitmaps were narrowed", lists, bitmaps)
	}
}

// randomDocuments are a list if they are few.
func randomDocuments(rng *rand.Rand, numDocs int) documents {
	words := cleared(nil, numDocs)
	n := []int{0, 1, numDocs / 100, numDocs / 3, numDocs}[rng.IntN(5)]
	for _, d := range rng.Perm(numDocs)[:n] {
		words[d/64] |= 1 << (d % 64)
	}
	return listed(words, n, numDocs, nil)
}

// The memory of a conjunction or a disjunction does not grow with the number of its parts.
func TestNarrowMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(68, 1))
	s := selectIndex(t, rng, 5000, 1, false)
	sc := testScratch(t, "whitespace")
	var words []string
	for i := range 40 {
		words = append(words, "w"+strconv.Itoa(i))
	}
	for _, occur := range []query.Occur{query.Should, query.Must} {
		b := &query.Boolean{Clauses: []query.Clause{{Occur: query.Must, Node: &query.Words{Text: strings.Join(words, " "), Occur: occur}}}}
		for _, field := range []string{"random", "place", "words"} {
			b.Clauses = append(b.Clauses, query.Clause{Occur: query.Filter, Node: &query.Range{Field: field, From: "0", To: "9000"}})
		}
		for i := range 40 {
			b.Clauses = append(b.Clauses, query.Clause{Occur: query.MustNot, Node: &query.Range{Field: "random", From: strconv.Itoa(9 * i), To: strconv.Itoa(9*i + 8)}})
		}
		p, err := s.Prepare(sc, b, Options{K: 1})
		if err != nil {
			t.Fatal(err)
		}
		m := sc.begin(&p.words, 0, t.Context())
		m.free, m.lists = nil, nil
		if err := m.mark(m.take(), p.stages[0].root); err != nil {
			t.Fatal(err)
		}
		if n := len(m.free) + len(m.held); n > 8 || len(m.lists) > 8 {
			t.Errorf("%d bitmaps and %d lists are in memory", n, len(m.lists))
		}
	}
}
