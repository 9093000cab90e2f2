package main

import (
	"context"
	"strings"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/query"
)

// This file has queries that are more than words of which any or all match.

type wordsKind struct {
	name string
	ask  func(words, others []string) griffin.Query // others are the words of another query
}

func clause(occur query.Occur, words ...string) []query.Clause {
	var clauses []query.Clause
	for _, w := range words {
		clauses = append(clauses, query.Clause{Occur: occur, Node: &query.Words{Text: w}})
	}
	return clauses
}

func joined(parts ...[]query.Clause) query.Node {
	b := new(query.Boolean)
	for _, p := range parts {
		b.Clauses = append(b.Clauses, p...)
	}
	return b
}

func top10(node query.Node) griffin.Query { return griffin.Query{Node: node, K: 10} }

// half of the words, at least one.
func half(words []string) int { return (len(words) + 1) / 2 }

// alternatives has two clauses of words, or one if there is only a word.
func alternatives(words []string) []query.Clause {
	var clauses []query.Clause
	for n := half(words); len(words) > 0; n = len(words) {
		clauses = append(clauses, query.Clause{Occur: query.Must, Node: joined(clause(query.Plain, words[:n]...))})
		words = words[n:]
	}
	return clauses
}

var wordsKinds = []wordsKind{
	{"or", func(words, _ []string) griffin.Query { return top10(joined(clause(query.Plain, words...))) }},
	{"or -other", func(words, others []string) griffin.Query {
		return top10(joined(clause(query.Plain, words...), clause(query.MustNot, others[0])))
	}},
	{"+first rest", func(words, _ []string) griffin.Query {
		return top10(joined(clause(query.Must, words[0]), clause(query.Plain, words[1:]...)))
	}},
	{"+first rest -other", func(words, others []string) griffin.Query {
		return top10(joined(clause(query.Must, words[0]), clause(query.Plain, words[1:]...), clause(query.MustNot, others[0])))
	}},
	{"+(half) +(half)", func(words, _ []string) griffin.Query { return top10(joined(alternatives(words))) }},
	{"and", func(words, _ []string) griffin.Query { return top10(joined(clause(query.Must, words...))) }},
	{"and -other", func(words, others []string) griffin.Query {
		return top10(joined(clause(query.Must, words...), clause(query.MustNot, others[0])))
	}},
	{"or, counted", func(words, _ []string) griffin.Query {
		q := top10(joined(clause(query.Plain, words...)))
		q.Count = true
		return q
	}},
	{"+first rest -other, counted", func(words, others []string) griffin.Query {
		q := top10(joined(clause(query.Must, words[0]), clause(query.Plain, words[1:]...), clause(query.MustNot, others[0])))
		q.Count = true
		return q
	}},
	{"and, counted", func(words, _ []string) griffin.Query {
		q := top10(joined(clause(query.Must, words...)))
		q.Count = true
		return q
	}},
	{"or, k 1000", func(words, _ []string) griffin.Query {
		return griffin.Query{Node: joined(clause(query.Plain, words...)), K: 1000}
	}},
	{"or, k 10000", func(words, _ []string) griffin.Query {
		return griffin.Query{Node: joined(clause(query.Plain, words...)), K: 10_000}
	}},
}

// phraseKinds need an index with positions. Their ratios are to the first of them.
var phraseKinds = []wordsKind{
	{"phrase", func(words, _ []string) griffin.Query { return top10(phrase(words)) }},
	{"phrase of 2", func(words, _ []string) griffin.Query { return top10(phrase(words[:min(2, len(words))])) }},
	{"phrase~2", func(words, _ []string) griffin.Query {
		return top10(&query.Phrase{Text: strings.Join(words, " "), Slop: 2})
	}},
	{"+phrase of 2 +rest", func(words, _ []string) griffin.Query {
		n := min(2, len(words))
		return top10(joined([]query.Clause{{Occur: query.Must, Node: phrase(words[:n])}}, clause(query.Must, words[n:]...)))
	}},
	{"phrase, counted", func(words, _ []string) griffin.Query {
		q := top10(phrase(words))
		q.Count = true
		return q
	}},
	{"and -phrase", func(words, others []string) griffin.Query {
		return top10(joined(clause(query.Must, words...), []query.Clause{{Occur: query.MustNot, Node: phrase(others)}}))
	}},
}

func phrase(words []string) query.Node { return &query.Phrase{Text: strings.Join(words, " ")} }

func (b *bench) measureWords(ctx context.Context, rt *griffin.Runtime) error {
	kinds := wordsKinds
	if b.phrases {
		kinds = phraseKinds
	}
	for _, kind := range kinds {
		ask := func(i int) griffin.Query { return kind.ask(b.texts[i], b.texts[(i+1)%len(b.texts)]) }
		if err := b.measureQueries(ctx, rt, &figure{Filter: kind.name, Share: 1}, ask); err != nil {
			return err
		}
	}
	return nil
}
