package collection

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"

	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/query"
	"github.com/griffin-search/griffin/trec"
)

func composeVectors(ctx context.Context, from *index.Snapshot, log []trec.Topic, o *Options) (*source, *Report, error) {
	words, docFreqs, err := readWords(ctx, from)
	if err != nil {
		return nil, nil, err
	}
	v := newPieces(words, docFreqs, o.Like.Vectors.Vocabulary, o.Seed)
	asked, err := askQueries(ctx, from, log, v, docFreqs, o)
	if err != nil {
		return nil, nil, err
	}
	f, p, err := layOut(ctx, from, v, o)
	if err != nil {
		return nil, nil, err
	}
	m := newModel(f, p, o)
	if err := m.calibrate(ctx, p, asked, o); err != nil {
		return nil, nil, err
	}
	made, err := composeAll(ctx, o, v, p, func() maker { return newExpander(m) }, o.phase("compose"))
	if err != nil {
		return nil, nil, err
	}
	queries := newExpander(m).queries(asked, v, o)
	report, err := newReport(ctx, o, queries, made)
	if err != nil {
		return nil, nil, err
	}
	report.addVectors(o, m.sample(ctx, p, o))
	return made, report, ctx.Err()
}

type asked struct {
	id    string
	terms []uint32
	fit   uint32 // the best-matching passage of the source
}

// askQueries draws queries and finds their best-matching passages: the greatest sum of idf of
// common words, the first among equals.
func askQueries(ctx context.Context, source *index.Snapshot, log []trec.Topic, v *vocabulary, docFreqs []uint32, o *Options) ([]asked, error) {
	candidates, err := drawCandidates(source, log, o)
	if err != nil {
		return nil, err
	}
	fits := make([]float64, source.NumDocs)
	progress := o.phase("fit the queries")
	queries := make([]asked, len(candidates))
	for i, c := range candidates {
		q := &queries[i]
		q.id = c.topic.ID
		words := make([]word, len(c.terms))
		idf := make([]float64, len(c.terms))
		for j, text := range c.terms {
			at, _ := slices.BinarySearchFunc(v.words, text, func(w word, text string) int { return cmp.Compare(w.text, text) })
			words[j] = word{text, []uint32{uint32(j)}}
			idf[j] = math.Log1p(float64(source.NumDocs) / float64(docFreqs[at]))
			for _, t := range v.words[at].terms {
				if !slices.Contains(q.terms, t) {
					q.terms = append(q.terms, t)
				}
			}
		}
		clear(fits)
		err := eachPosting(ctx, source, words, func(j uint32, docIDs, _ []uint32) {
			for _, d := range docIDs {
				if fits[d] += idf[j]; fits[d] > fits[q.fit] || fits[d] == fits[q.fit] && d < q.fit {
					q.fit = d
				}
			}
		}, func(int) {})
		if err != nil {
			return nil, err
		}
		progress(int64(i+1), int64(len(queries)))
	}
	return queries, nil
}

// Like documents: own terms weigh most; others include the matching passage's.
func (e *expander) queries(all []asked, v *vocabulary, o *Options) []Query {
	shape := &o.Like.Vectors
	queries := make([]Query, len(all))
	for i, q := range all {
		rng := newStream(o.Seed, streamVectors, uint64(i))
		size := shape.LeastQuery + rng.below(shape.MostQuery-shape.LeastQuery+1)
		e.begin()
		for _, t := range q.terms[:min(len(q.terms), shape.MostQuery)] {
			e.add(&rng, t, askedActivation)
		}
		e.relate(&rng, q.fit)
		e.relatives[0], e.relatives[1] = q.fit, q.fit
		e.expand(&rng, size, addedActivation)
		vector := make([]query.TermWeight, len(e.terms))
		for j, t := range e.terms {
			const hundredth = 100
			vector[j] = query.TermWeight{Term: v.terms[t], Weight: max(1, math.Round(weight(e.activations[j])*hundredth)) / hundredth}
		}
		queries[i] = Query{ID: q.id, Text: (&query.Weights{Terms: vector}).String(), Terms: slices.Clone(e.terms), weights: vector}
	}
	return queries
}

// calibrate finds the share of draws of frequent terms to accept, so that queries have the
// preset's postings; if there are fewer, all.
func (m *model) calibrate(ctx context.Context, p *plan, all []asked, o *Options) error {
	want := o.Like.MeanPostings * float64(o.NumDocs) / float64(o.Like.NumDocs)
	docFreqs := m.f.docFreqs()
	longest := float64(max(1, slices.Max(docFreqs)))
	low, high := 0.0, math.Log(longest)*flattening // of the logarithm of the factor
	progress := o.phase("calibrate")
	const steps = 9
	for step := range int64(steps) {
		progress(step, steps)
		middle := high
		if step > 0 {
			middle = (low + high) / 2
		}
		for t, n := range docFreqs {
			m.keep[t] = threshold(keepOf(float64(n), math.Exp(middle), flattening))
		}
		queries := newExpander(m).queries(all, &vocabulary{terms: make([]string, m.f.numTerms)}, o)
		got := meanPostings(queries, m.sample(ctx, p, o).docFreqs)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case got > want:
			high = middle
		case step == 0: // all draws are too few
			return nil
		default:
			low = middle
		}
	}
	return nil
}

type vectorSample struct {
	docFreqs []float64 // extrapolated to all documents, by term
	weights  [256]uint64
	// The mean share of the sampleHeaviest greatest weights of a document.
	heaviest float64
}

const (
	sampleVectors  = 40_000
	sampleHeaviest = 50
)

func (m *model) sample(ctx context.Context, p *plan, o *Options) *vectorSample {
	n := min(sampleVectors, p.numDocs())
	s := &vectorSample{docFreqs: make([]float64, m.f.numTerms)}
	var mu sync.Mutex
	var wg sync.WaitGroup
	heaviest := make([]float64, n)
	for w := range o.Threads {
		wg.Go(func() {
			e := newExpander(m)
			counts := make([]uint32, m.f.numTerms)
			var weights [256]uint64
			for i := w; i < n && ctx.Err() == nil; i += o.Threads {
				g := int(int64(i) * int64(p.numDocs()) / int64(n))
				d := e.compose(uint32(g), p.starts[g])
				for j, t := range d.terms {
					counts[t]++
					weights[d.freqs[j]]++
				}
				slices.Sort(d.freqs)
				sum := 0
				for _, f := range d.freqs[max(0, len(d.freqs)-sampleHeaviest):] {
					sum += int(f)
				}
				heaviest[i] = float64(sum) / float64(max(1, d.length))
			}
			mu.Lock()
			defer mu.Unlock()
			for t, c := range counts {
				s.docFreqs[t] += float64(c) // whole numbers: the order does not matter
			}
			for i, c := range weights {
				s.weights[i] += c
			}
		})
	}
	wg.Wait()
	for t := range s.docFreqs {
		s.docFreqs[t] *= float64(p.numDocs()) / float64(n)
	}
	for _, share := range heaviest {
		s.heaviest += share / float64(n)
	}
	return s
}

func (r *Report) addVectors(o *Options, s *vectorSample) {
	shape := &o.Like.Vectors
	terms := 0
	for i := range r.Queries {
		terms += len(r.Queries[i].Terms)
	}
	r.Reached = append(r.Reached,
		Statistic{"terms", float64(shape.Vocabulary), float64(r.NumTerms)},
		Statistic{"terms of a document", shape.MeanTerms, float64(r.NumPostings) / float64(r.NumDocs)},
		Statistic{"terms of a query", shape.MeanQuery, float64(terms) / float64(len(r.Queries))},
		Statistic{"mean weight, of 255", 0, r.MeanLength * float64(r.NumDocs) / float64(r.NumPostings)},
		Statistic{"median weight, of 255", 0, float64(s.medianWeight())},
		Statistic{"share of a document's 50 heaviest", 0, s.heaviest},
		Statistic{"share of a query's 10 heaviest", 0, heaviestOfQueries(r.Queries)},
	)
}

func heaviestOfQueries(queries []Query) float64 {
	const most = 10
	mean := 0.0
	for i := range queries {
		weights := make([]float64, len(queries[i].weights))
		all := 0.0
		for j, t := range queries[i].weights {
			weights[j] = t.Weight
			all += t.Weight
		}
		slices.Sort(weights)
		for _, w := range weights[max(0, len(weights)-most):] {
			mean += w / all / float64(len(queries))
		}
	}
	return mean
}

func (s *vectorSample) medianWeight() int {
	total, before := uint64(0), uint64(0)
	for _, n := range s.weights {
		total += n
	}
	for w, n := range s.weights {
		if before += n; 2*before >= total {
			return w
		}
	}
	return 0
}
