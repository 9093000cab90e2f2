package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/griffin-search/griffin"
)

// griffinGame answers with Index.Search and Count, from a query's text on. The documents' IDs are the numbers of the passages.
type griffinGame struct {
	reorder griffin.Reorder // of the documents; "": the order of the passages
	rt      *griffin.Runtime
	ix      *griffin.Index
}

var _ gameEngine = (*griffinGame)(nil)

func (*griffinGame) name() string { return "griffin" }

func (e *griffinGame) build(ctx context.Context, dir string, passages []passage) (err error) {
	if e.rt, err = oneThread(); err != nil {
		return err
	}
	if e.ix, err = griffin.Create(dir, griffin.Settings{Analyzer: "simple"}, griffin.Options{Runtime: e.rt}); err != nil {
		return err
	}
	for i := range passages {
		p := &passages[i]
		if err := e.ix.Add(ctx, griffin.Document{ID: strconv.Itoa(i), Text: p.Title + " " + p.Text}); err != nil {
			return err
		}
	}
	if err := e.ix.Commit(ctx); err != nil {
		return err
	}
	_, err = e.ix.Merge(ctx, griffin.MergeOptions{Segments: 1, Reorder: e.reorder})
	return err
}

func (e *griffinGame) run(ctx context.Context, c *gameCommand, q *gameQuery) (int64, time.Duration, error) {
	began := time.Now()
	if c.k == 0 {
		n, err := griffin.Count(ctx, e.ix, griffin.Query{Text: q.text, Policy: griffin.PolicyCPU})
		return n, time.Since(began), err
	}
	found, err := e.ix.Search(ctx, griffin.Query{
		Text: q.text, K: c.k, Count: c.counts, Load: griffin.LoadNone, Policy: griffin.PolicyCPU,
	})
	took := time.Since(began)
	if err != nil || !c.counts {
		return 1, took, err
	}
	return found.Matches, took, nil
}

func (e *griffinGame) top(ctx context.Context, q *gameQuery, k int) (docs []int, err error) {
	found, err := e.ix.Search(ctx, griffin.Query{Text: q.text, K: k, Load: griffin.LoadIDs, Policy: griffin.PolicyCPU})
	if err != nil {
		return nil, err
	}
	for i := range found.Hits {
		doc, err := strconv.Atoi(found.Hits[i].ID)
		if err != nil {
			return nil, fmt.Errorf("number of a passage: %w", err)
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

func (e *griffinGame) close() error {
	if e.ix == nil {
		return nil
	}
	return errors.Join(e.ix.Close(), e.rt.Close())
}

// oneThread returns a Runtime that searches with one thread, as the other engines do.
func oneThread() (*griffin.Runtime, error) {
	return griffin.NewRuntime(griffin.RuntimeOptions{WorkersPerQuery: 1})
}
