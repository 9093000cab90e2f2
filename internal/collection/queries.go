package collection

import (
	"fmt"
	"math"
	"slices"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/query"
	"github.com/griffin-search/griffin/trec"
)

// Query is a query drawn from the log.
type Query struct {
	ID    string
	Text  string   // in a collection of vectors: a vector, in the syntax of query.ParseWeights
	Terms []uint32 // numbers of its distinct terms

	weights []query.TermWeight // of a vector
}

// The terms of a collection and the source's words from which they come.
type vocabulary struct {
	terms []string // in byte order
	words []word
}

// A source term with the numbers of the terms that it becomes.
type word struct {
	text  string
	terms []uint32
}

// All terms of the queries occur in the source. The order is the log's.
func drawQueries(source *index.Snapshot, log []trec.Topic, o *Options) ([]Query, *vocabulary, error) {
	chosen, err := drawCandidates(source, log, o)
	if err != nil {
		return nil, nil, err
	}
	v := &vocabulary{}
	ids := map[string]uint32{}
	for _, c := range chosen {
		for _, t := range c.terms {
			if _, ok := ids[t]; !ok {
				ids[t] = 0
				v.terms = append(v.terms, t)
			}
		}
	}
	slices.Sort(v.terms)
	for i, t := range v.terms {
		ids[t] = uint32(i)
		v.words = append(v.words, word{t, []uint32{uint32(i)}})
	}
	queries := make([]Query, len(chosen))
	for i, c := range chosen {
		queries[i] = Query{ID: c.topic.ID, Text: c.topic.Title}
		for _, t := range c.terms {
			queries[i].Terms = append(queries[i].Terms, ids[t])
		}
	}
	return queries, v, nil
}

func drawCandidates(source *index.Snapshot, log []trec.Topic, o *Options) ([]candidate, error) {
	candidates, err := answerable(source, log, o.Like.Together)
	if err != nil {
		return nil, err
	}
	if len(candidates) == 0 {
		return nil, fmt.Errorf("no query of the log has terms that all occur in the source: %w", base.ErrBadInput)
	}
	return choose(candidates, o), nil
}

type candidate struct {
	topic trec.Topic
	terms []string
	at    int // index in the log
}

// All terms occur in the source, or in one document if inOne.
func answerable(source *index.Snapshot, log []trec.Topic, inOne bool) ([]candidate, error) {
	analyzer, err := source.Options.Scheme().New("", analysis.Queries)
	if err != nil {
		return nil, err
	}
	var tokens []analysis.Token
	var out []candidate
	occurs := map[string]bool{}
	for at, topic := range log {
		tokens = analyzer.Tokens(tokens[:0], []byte(topic.Title))
		c := candidate{topic: topic, at: at}
		all := true
		for _, t := range tokens {
			term := string(t.Term)
			if slices.Contains(c.terms, term) {
				continue
			}
			c.terms = append(c.terms, term)
			has, known := occurs[term]
			if !known {
				if has, err = hasTerm(source, term); err != nil {
					return nil, err
				}
				occurs[term] = has
			}
			all = all && has
		}
		if all && inOne && len(c.terms) > 1 {
			if all, err = together(source, c.terms); err != nil {
				return nil, err
			}
		}
		if all && len(c.terms) > 0 {
			out = append(out, c)
		}
	}
	return out, nil
}

func hasTerm(source *index.Snapshot, term string) (bool, error) {
	var l postings.List
	for i := range source.Segments {
		found, err := source.Segments[i].Find(0, []byte(term), &l)
		if err != nil || found {
			return found, err
		}
	}
	return false, nil
}

// choose draws o.NumQueries candidates (all, if that is 0 or too many), with o.Like.TermShares
// if set.
func choose(candidates []candidate, o *Options) []candidate {
	rng := newStream(o.Seed, streamQueries, 0)
	shuffled := slices.Clone(candidates)
	for i := len(shuffled) - 1; i > 0; i-- {
		j := rng.below(i + 1)
		shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
	}
	n := o.NumQueries
	if n <= 0 || n > len(shuffled) {
		n = len(shuffled)
	}
	if o.Like.TermShares != nil {
		shuffled = withShares(shuffled, n, o.Like.TermShares)
	} else {
		shuffled = shuffled[:n]
	}
	slices.SortFunc(shuffled, func(a, b candidate) int { return a.at - b.at })
	return shuffled
}

// withShares returns about n candidates, in order, with the given shares by number of terms,
// others sharing the rest as in the candidates, or fewer if there are too few.
func withShares(candidates []candidate, n int, shares map[int]float64) []candidate {
	have := map[int]int{}
	others, rest := 0, 1.0
	for _, c := range candidates {
		have[len(c.terms)]++
		if _, ok := shares[len(c.terms)]; !ok {
			others++
		}
	}
	total := float64(n)
	for terms, share := range shares {
		rest -= share
		total = min(total, float64(have[terms])/share)
	}
	if others > 0 {
		total = min(total, float64(others)/max(rest, 1e-9))
	}
	quota := map[int]int{}
	for terms, share := range shares {
		quota[terms] = int(math.Round(total * share))
	}
	otherQuota := int(math.Round(total * rest))
	var chosen []candidate
	for _, c := range candidates {
		left, ok := quota[len(c.terms)]
		switch {
		case ok && left > 0:
			quota[len(c.terms)]--
		case !ok && otherQuota > 0:
			otherQuota--
		default:
			continue
		}
		chosen = append(chosen, c)
	}
	return chosen
}
