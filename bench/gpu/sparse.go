package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
)

// Consecutive passages form articles, as in a collection of web passages, with a common
// topic. Half of a passage's terms are drawn from its topic, the others from all terms by
// Zipf's law.
const (
	sparseTerms    = 30_000 // the size of a word-piece vocabulary
	sparseTopics   = 4_000
	topicTerms     = 400
	vectorTerms    = 120
	articleDocs    = 8
	sparseQueries  = 500
	sparseMaxFreq  = 255
	sparseDocsPart = 1 << 16 // documents generated per work item
)

// Each vector is a function of the document's number.
type sparse struct {
	topics [][]uint32 // terms
	zipf   []float64  // cumulative probabilities of terms
}

func newSparseModel() *sparse {
	m := &sparse{zipf: make([]float64, sparseTerms)}
	sum := 0.0
	for i := range m.zipf {
		sum += 1 / math.Pow(float64(i+20), 0.9)
		m.zipf[i] = sum
	}
	for i := range m.zipf {
		m.zipf[i] /= sum
	}
	rng := rand.New(rand.NewPCG(1, 1))
	m.topics = make([][]uint32, sparseTopics)
	for i := range m.topics {
		for range topicTerms {
			// Topics have more rare words than texts.
			m.topics[i] = append(m.topics[i], uint32(float64(sparseTerms)*math.Pow(rng.Float64(), 2)))
		}
	}
	return m
}

func (m *sparse) common(rng *rand.Rand) uint32 {
	i, _ := slices.BinarySearch(m.zipf, rng.Float64())
	return uint32(min(i, sparseTerms-1))
}

type weighted struct {
	term   uint32
	weight float64
}

// vector appends the vector of a document, sorted by term. Weights depend little on the rarity
// of a term and are noisy (Mackenzie, Trotman and Lin, "Wacky weights in learned sparse
// representations", 2021, §4).
func (m *sparse) vector(dst []weighted, doc int) []weighted {
	rng := rand.New(rand.NewPCG(uint64(doc), 2))
	article := rand.New(rand.NewPCG(uint64(doc/articleDocs), 3))
	topic := m.topics[article.IntN(sparseTopics)]
	from := len(dst)
	for i := range vectorTerms + 14 { // about 14 are duplicates
		w := math.Exp(rng.NormFloat64() * 0.5)
		var term uint32
		if i%2 == 0 {
			// The first terms of a topic are more frequent and have larger weights.
			at := int(topicTerms * math.Pow(rng.Float64(), 2))
			term = topic[at]
			w *= 1.5 - float64(at)/topicTerms
		} else {
			term = m.common(rng)
			w *= 0.6
		}
		// Rare terms have slightly larger weights.
		w *= 0.7 + 0.3*math.Log(float64(term)+20)/math.Log(sparseTerms)
		dst = append(dst, weighted{term, w})
	}
	v := dst[from:]
	slices.SortFunc(v, func(a, b weighted) int { return int(a.term) - int(b.term) })
	n := 0
	for i := range v {
		if n > 0 && v[n-1].term == v[i].term {
			v[n-1].weight = max(v[n-1].weight, v[i].weight)
			continue
		}
		v[n] = v[i]
		n++
	}
	return dst[:from+n]
}

// From 1 to 255.
func quantised(w float64) uint32 { return uint32(min(max(math.Round(w*40), 1), sparseMaxFreq)) }

func newSparse(docs int) (*bench, error) {
	m := newSparseModel()
	b := &bench{
		name: "sparse", numDocs: docs, sat: score.Saturation{Linear: true}, close: func() {},
		derived: derived.NewCache(16 << 30).NewSegment(),
	}
	wanted := make([]int32, sparseTerms) // list number + 1; 0: not wanted
	var names []uint32
	for i := range sparseQueries {
		rng := rand.New(rand.NewPCG(uint64(i), 4))
		v := m.vector(nil, rng.IntN(docs))
		for j := range v {
			v[j].weight *= math.Exp(rng.NormFloat64() * 0.4)
		}
		slices.SortFunc(v, func(a, b weighted) int { return cmpFloat(b.weight, a.weight) })
		var q benchQuery
		for _, t := range v[:min(25+rng.IntN(21), len(v))] {
			if wanted[t.term] == 0 {
				names = append(names, t.term)
				wanted[t.term] = int32(len(names))
			}
			q.lists = append(q.lists, int(wanted[t.term])-1)
			q.weights = append(q.weights, math.Round(t.weight*100)/100)
		}
		b.queries = append(b.queries, q)
	}
	lists := invert(m, docs, wanted, len(names))
	return b, b.encode(lists)
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Frequencies are quantised weights.
type plain struct {
	docIDs []uint32
	freqs  []uint8
}

func invert(m *sparse, docs int, wanted []int32, numLists int) []plain {
	parts := (docs + sparseDocsPart - 1) / sparseDocsPart
	made := make([][]plain, parts)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			var v []weighted
			for {
				p := int(next.Add(1)) - 1
				if p >= parts {
					return
				}
				lists := make([]plain, numLists)
				for d := p * sparseDocsPart; d < min((p+1)*sparseDocsPart, docs); d++ {
					v = m.vector(v[:0], d)
					for _, t := range v {
						if n := wanted[t.term]; n > 0 {
							l := &lists[n-1]
							l.docIDs, l.freqs = append(l.docIDs, uint32(d)), append(l.freqs, uint8(quantised(t.weight)))
						}
					}
				}
				made[p] = lists
			}
		})
	}
	wg.Wait()
	lists := make([]plain, numLists)
	parallel(numLists, func(i int) {
		for p := range made {
			lists[i].docIDs = append(lists[i].docIDs, made[p][i].docIDs...)
			lists[i].freqs = append(lists[i].freqs, made[p][i].freqs...)
			made[p][i] = plain{}
		}
	})
	return lists
}

func parallel(n int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
}

// encode compresses the lists and clears them.
func (b *bench) encode(lists []plain) error {
	b.lists = make([]postings.List, len(lists))
	b.lengths = make([]uint32, b.numDocs)
	errs := make([]error, len(lists))
	parallel(len(lists), func(i int) {
		var p, f bytes.Buffer
		w := postings.NewWriter(postings.Options{Codec: codec.SIMDBP{}, Saturation: b.sat}, &p, nil, &f)
		freqs := make([]uint32, len(lists[i].freqs))
		for j, x := range lists[i].freqs {
			freqs[j] = uint32(x)
		}
		w.Begin(b.lengths)
		if errs[i] = w.AddBlock(lists[i].docIDs, freqs, nil); errs[i] != nil {
			return
		}
		m, err := w.Finish()
		if err == nil {
			err = b.lists[i].Open(m, codec.SIMDBP{}, p.Bytes(), nil, f.Bytes())
		}
		errs[i] = err
		lists[i] = plain{}
	})
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("list %d: %w", i, err)
		}
	}
	return nil
}
