package trec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Definitions as sums over document pairs and ranks, without the package's code.
type oracle struct {
	docs     []string // ranked
	judged   map[string]int
	relLevel int
}

func (o oracle) relevant(doc string) bool {
	relevance, ok := o.judged[doc]
	return ok && relevance >= o.relLevel
}

func (o oracle) relevantTo(rank int) float64 {
	n := 0.0
	for i, doc := range o.docs {
		if i < rank && o.relevant(doc) {
			n++
		}
	}
	return n
}

func (o oracle) numRel() float64 {
	n := 0.0
	for doc := range o.judged {
		if o.relevant(doc) {
			n++
		}
	}
	return n
}

func (o oracle) ap(depth int) float64 {
	sum := 0.0
	for i, doc := range o.docs {
		if rank := i + 1; rank <= depth && o.relevant(doc) {
			sum += o.relevantTo(rank) / float64(rank)
		}
	}
	return ratio(sum, o.numRel())
}

func (o oracle) ndcg(depth int) float64 {
	dcg := func(docs []string) float64 {
		sum := 0.0
		for i, doc := range docs {
			if i < depth {
				sum += float64(max(o.judged[doc], 0)) * math.Ln2 / math.Log(float64(i)+2)
			}
		}
		return sum
	}
	var ideal []string
	for doc := range o.judged {
		ideal = append(ideal, doc)
	}
	slices.SortFunc(ideal, func(a, b string) int { return o.judged[b] - o.judged[a] })
	return ratio(dcg(o.docs), dcg(ideal))
}

func (o oracle) bpref() float64 {
	nonrelevant := func(doc string) bool {
		relevance, ok := o.judged[doc]
		return ok && relevance >= 0 && relevance < o.relLevel
	}
	numNonrel := 0.0
	for doc := range o.judged {
		if nonrelevant(doc) {
			numNonrel++
		}
	}
	bound := min(numNonrel, o.numRel())
	sum := 0.0
	for i, doc := range o.docs {
		if !o.relevant(doc) {
			continue
		}
		above := 0.0
		for _, other := range o.docs[:i] {
			if nonrelevant(other) {
				above++
			}
		}
		sum += 1 - ratio(min(above, o.numRel()), bound)
	}
	return ratio(sum, o.numRel())
}

func (o oracle) recipRank() float64 {
	for rank := 1; rank <= len(o.docs); rank++ {
		if o.relevantTo(rank) > 0 {
			return 1 / float64(rank)
		}
	}
	return 0
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

func TestAgainstOracle(t *testing.T) {
	random := rand.New(rand.NewPCG(20, 26))
	names := []string{
		"num_ret", "num_rel", "num_rel_ret", "map", "Rprec", "recip_rank", "bpref",
		"P_5", "recall_5", "ndcg", "ndcg_cut_5", "map_cut_5", "success_5",
	}
	measures := mustMeasures(t, names...)
	for round := range 3000 {
		level := 1 + random.IntN(3)
		o := oracle{judged: make(map[string]int), relLevel: level}
		qrels := &Qrels{judgments: map[string]map[string]int{"q": o.judged}, queries: []string{"q"}}
		for d := range 20 {
			doc := fmt.Sprint("d", d)
			if random.IntN(2) == 0 {
				o.judged[doc] = random.IntN(6) - 2
			}
			if random.IntN(2) == 0 {
				o.docs = append(o.docs, doc)
			}
		}
		if len(o.docs) == 0 {
			continue
		}
		random.Shuffle(len(o.docs), func(i, j int) { o.docs[i], o.docs[j] = o.docs[j], o.docs[i] })
		entries := make([]RunEntry, len(o.docs))
		for i, doc := range o.docs {
			entries[i] = RunEntry{doc, float64(100 - i)}
		}
		run := new(Run)
		if err := run.AddRanking("q", entries); err != nil {
			t.Fatal(err)
		}
		ev, err := Evaluate(qrels, run, measures, Options{RelevanceLevel: level})
		if err != nil {
			t.Fatal(err)
		}
		all := len(o.docs)
		want := []float64{
			float64(all), o.numRel(), o.relevantTo(all), o.ap(all),
			ratio(o.relevantTo(int(o.numRel())), o.numRel()), o.recipRank(), o.bpref(),
			o.relevantTo(5) / 5, ratio(o.relevantTo(5), o.numRel()), o.ndcg(math.MaxInt), o.ndcg(5), o.ap(5),
			min(o.relevantTo(5), 1),
		}
		for i, name := range names {
			if got := ev.Queries[0].Values[i]; math.Abs(got-want[i]) > 1e-12 {
				t.Fatalf("round %d, level %d, ranking %v, judged %v: %s = %v, want %v",
					round, level, o.docs, o.judged, name, got, want[i])
			}
		}
	}
}
