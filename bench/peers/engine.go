package main

import (
	"context"
	"fmt"
)

// engine is a search engine under test. Calls come one at a time: build at
// least once, then the rest in any order, which refers to what the last build
// made.
type engine interface {
	// name returns the engine's name and version.
	name(ctx context.Context) (string, error)
	// build indexes the passages afresh.
	build(ctx context.Context) (buildTimes, error)
	indexBytes() (int64, error)
	// query times the queries on one thread, k results each.
	query(ctx context.Context, mode queryMode) (queryResult, error)
	close() error
}

// queryMode says which documents match: those with any term, or with all.
type queryMode string

const (
	modeOr  queryMode = "or"
	modeAnd queryMode = "and"
)

// searchOptions are the settings of the query runs.
type searchOptions struct {
	k    int
	runs int
}

// measure builds with each engine in turn, builds times over, and then times
// the queries of each mode with each engine in turn, so that what else the
// machine does falls on all alike. The least build times count.
func measure(ctx context.Context, engines []engine, builds int) ([]*engineResult, error) {
	results := make([]*engineResult, len(engines))
	each := func(do func(e engine, r *engineResult) error) error {
		for i, e := range engines {
			if err := do(e, results[i]); err != nil {
				return fmt.Errorf("%s: %w", results[i].Engine, err)
			}
		}
		return nil
	}
	for i, e := range engines {
		name, err := e.name(ctx)
		if err != nil {
			return nil, err
		}
		results[i] = &engineResult{Engine: name}
	}
	for build := range builds {
		err := each(func(e engine, r *engineResult) error {
			times, err := e.build(ctx)
			if build == 0 {
				r.Index = times
			}
			r.Index = r.Index.least(times)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	err := each(func(e engine, r *engineResult) (err error) {
		r.IndexBytes, err = e.indexBytes()
		return err
	})
	if err != nil {
		return nil, err
	}
	err = each(func(e engine, r *engineResult) (err error) {
		r.Or, err = e.query(ctx, modeOr)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = each(func(e engine, r *engineResult) (err error) {
		r.And, err = e.query(ctx, modeAnd)
		return err
	})
	return results, err
}
