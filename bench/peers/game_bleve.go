package main

import (
	"context"
	"strconv"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/search/query"
)

// bleveGame has the passages' numbers as ids.
type bleveGame struct{ bleveTasks }

var _ gameEngine = (*bleveGame)(nil)

func (e *bleveGame) build(ctx context.Context, dir string, passages []passage) error {
	numbered := make([]taskPassage, len(passages))
	for i := range passages {
		numbered[i] = taskPassage{passage: passages[i], n: i}
		numbered[i].ID = strconv.Itoa(i)
	}
	return e.bleveTasks.build(ctx, dir, numbered)
}

func (e *bleveGame) run(ctx context.Context, c *gameCommand, q *gameQuery) (int64, time.Duration, error) {
	began := time.Now()
	found, err := e.idx.SearchInContext(ctx, bleve.NewSearchRequestOptions(q.bleve(), c.k, 0, false /* explain */))
	took := time.Since(began)
	if err != nil || !c.counts {
		return 1, took, err
	}
	return int64(found.Total), took, nil
}

func (e *bleveGame) top(ctx context.Context, q *gameQuery, k int) (docs []int, err error) {
	found, err := e.idx.SearchInContext(ctx, bleve.NewSearchRequestOptions(q.bleve(), k, 0, false /* explain */))
	if err != nil {
		return nil, err
	}
	for _, h := range found.Hits {
		n, err := strconv.Atoi(h.ID)
		if err != nil {
			return nil, err
		}
		docs = append(docs, n)
	}
	return docs, nil
}

func (q *gameQuery) bleve() query.Query {
	all := bleve.NewBooleanQuery()
	q.clauses(func(occur byte, words []string) {
		var clause query.Query = bleve.NewPhraseQuery(words, contentsField)
		if len(words) == 1 {
			term := bleve.NewTermQuery(words[0])
			term.SetField(contentsField)
			clause = term
		}
		switch occur {
		case '+':
			all.AddMust(clause)
		case '-':
			all.AddMustNot(clause)
		default:
			all.AddShould(clause)
		}
	})
	return all
}
