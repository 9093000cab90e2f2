package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/shareddata"
	"github.com/griffin-search/griffin/internal/traverse"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/query"
	"github.com/griffin-search/griffin/trec"
)

// sparseCollection makes vectors shaped like learned sparse models' on real passages. A vector
// has all words of its passage, stop words included, and with less weight, as expansion, words
// of the previous passage, usually from the same article: 100 terms on average. Weights grow
// with the logarithm of the frequency and the root of the idf, times log-normal noise. So
// frequent terms weigh much, and the bounds of lists are far above most postings (Mackenzie,
// Trotman and Lin, "Wacky weights in learned sparse representations", 2021, §4).
type sparseCollection struct {
	analyzer analysis.Analyzer
	numbers  map[string]uint32
	names    []string
	docFreq  []int
	docs     [][]termFreq
}

type termFreq struct{ term, freq uint32 }

func newSparseCollection(tb testing.TB, docs int) *sparseCollection {
	tb.Helper()
	a, err := analysis.New("simple")
	if err != nil {
		tb.Fatal(err)
	}
	c := &sparseCollection{analyzer: a, numbers: map[string]uint32{}}
	reader, err := corpus.Open(shareddata.Wiki(tb), corpus.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	defer reader.Close()
	errEnough := errors.New("enough")
	for {
		batch, err := reader.Next()
		if err == nil {
			err = batch.Parse(func(d *corpus.Document) error {
				c.add(d.Title + " " + d.Text)
				if len(c.docs) == docs {
					return errEnough
				}
				return nil
			}, func(e *corpus.RecordError) error { return e })
		}
		if errors.Is(err, errEnough) || errors.Is(err, io.EOF) {
			return c
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
}

func (c *sparseCollection) terms(text string) (terms []termFreq) {
	at := map[uint32]int{}
	for _, t := range c.analyzer.Tokens(nil, []byte(text)) {
		n, ok := c.numbers[string(t.Term)]
		if !ok {
			n = uint32(len(c.names))
			c.names, c.docFreq = append(c.names, string(t.Term)), append(c.docFreq, 0)
			c.numbers[c.names[n]] = n
		}
		if i, ok := at[n]; ok {
			terms[i].freq++
			continue
		}
		at[n] = len(terms)
		terms = append(terms, termFreq{n, 1})
	}
	return terms
}

func (c *sparseCollection) add(text string) {
	terms := slices.Clip(c.terms(text))
	for _, t := range terms {
		c.docFreq[t.term]++
	}
	c.docs = append(c.docs, terms)
}

func (c *sparseCollection) weight(term, freq uint32, rng *rand.Rand) float64 {
	idf := math.Log1p(float64(len(c.docs)) / float64(1+c.docFreq[term]))
	return (0.3 + math.Log1p(float64(freq))) * math.Sqrt(idf) * math.Exp(rng.NormFloat64()*0.35)
}

// expansion is the number of terms that a vector gets from another passage.
const expansion = 35

func (c *sparseCollection) vector(terms []termFreq, from int, rng *rand.Rand) []corpus.TermWeight {
	weights := map[uint32]float64{}
	for _, t := range terms {
		weights[t.term] = c.weight(t.term, t.freq, rng)
	}
	if from >= 0 {
		for range min(expansion, len(c.docs[from])) {
			t := c.docs[from][rng.IntN(len(c.docs[from]))].term
			weights[t] = max(weights[t], 0.4*c.weight(t, 1, rng))
		}
	}
	vector := make([]corpus.TermWeight, 0, len(weights))
	for t, w := range weights {
		vector = append(vector, corpus.TermWeight{Term: c.names[t], Weight: math.Round(w*100) / 100})
	}
	slices.SortFunc(vector, func(a, b corpus.TermWeight) int { return strings.Compare(a.Term, b.Term) })
	return vector
}

func (c *sparseCollection) snapshot(tb testing.TB) *index.Snapshot {
	tb.Helper()
	ix, err := index.Create(vfs.OS, filepath.Join(tb.TempDir(), "index"), index.Options{WeightScale: 100, NoStored: true})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = ix.Close() })
	w, err := ix.Writer(index.WriterOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	for i := range c.docs {
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		if err := w.Add(&corpus.Document{ID: fmt.Sprint(i), Vector: c.vector(c.docs[i], i-1, rng)}); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Commit(context.Background()); err != nil {
		tb.Fatal(err)
	}
	s, err := ix.Snapshot()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Release)
	return s
}

// queries makes vectors of about 20 terms from real queries, expanded with the passage that
// shares most words.
func (c *sparseCollection) queries(tb testing.TB, n int) []query.Node {
	tb.Helper()
	f, err := os.Open(filepath.Join(shareddata.Dir(tb), "queries", "tb06-1000.tsv"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	topics, err := trec.ReadTopics(f)
	if err != nil {
		tb.Fatal(err)
	}
	var out []query.Node
	for i, t := range topics[:n] {
		terms := c.terms(t.Title)
		idf := map[uint32]float64{}
		for _, t := range terms {
			idf[t.term] = math.Log(float64(len(c.docs)) / float64(1+c.docFreq[t.term]))
		}
		rng := rand.New(rand.NewPCG(uint64(i), 2))
		best, most := -1, 0.0
		for d := range c.docs {
			sum := 0.0
			for _, t := range c.docs[d] {
				sum += idf[t.term]
			}
			if sum > most {
				best, most = d, sum
			}
		}
		v := c.vector(terms, best, rng)
		if len(v) > 20 {
			slices.SortFunc(v, func(a, b corpus.TermWeight) int { return cmp.Compare(b.Weight, a.Weight) })
			v = v[:20]
		}
		w := &query.Weights{}
		for _, t := range v {
			w.Terms = append(w.Terms, query.TermWeight(t))
		}
		out = append(out, w)
	}
	return out
}

// BenchmarkLearnedSparse times every or-traversal and the planner's choice with 20 terms a
// query, and compares the answers.
func BenchmarkLearnedSparse(b *testing.B) {
	c := newSparseCollection(b, 750_000)
	queries := c.queries(b, 100)
	s := New(c.snapshot(b), nil)
	for _, k := range []int{10, 1000} {
		var want [][]base.Hit
		names := append([]string{"exhaustive-taat"}, traverse.Names(traverse.Or)...)
		for _, name := range append(names, "") {
			b.Run(fmt.Sprintf("k=%d/traversal=%s", k, cmp.Or(name, "planner")), func(b *testing.B) {
				hits := benchSparse(b, s, queries, Options{K: k, Traversal: name})
				if want == nil {
					want = hits
				}
				for i := range want {
					if !slices.Equal(want[i], hits[i]) {
						b.Fatalf("%s: query %d: another answer than exhaustive-taat's", name, i)
					}
				}
			})
		}
	}
}

func benchSparse(b *testing.B, s *Planner, queries []query.Node, opts Options) (answers [][]base.Hit) {
	sc, err := NewScratch("whitespace")
	if err != nil {
		b.Fatal(err)
	}
	run := func(q query.Node) ([]base.Hit, time.Duration) {
		start := time.Now()
		p, err := s.Prepare(sc, q, opts)
		if err != nil {
			b.Fatal(err)
		}
		a, err := p.RunCPU(context.Background(), sc, nil, nil)
		if err != nil {
			b.Fatal(err)
		}
		return a.Hits, time.Since(start)
	}
	for _, q := range queries { // warm up: builds derived structures
		hits, _ := run(q)
		answers = append(answers, hits)
	}
	best := make([]float64, len(queries))
	for i := range best {
		best[i] = math.Inf(1)
	}
	for b.Loop() {
		for i, q := range queries {
			_, took := run(q)
			best[i] = min(best[i], float64(took.Nanoseconds())/1e3)
		}
	}
	sum := 0.0
	for _, t := range best {
		sum += t
	}
	slices.Sort(best)
	b.ReportMetric(sum/float64(len(best)), "µs/query")
	b.ReportMetric(best[len(best)*99/100], "p99-µs")
	return answers
}
