package main

import (
	"context"
	"fmt"
)

// engine is a search engine under test. Calls are sequential: first build, at
// least once, then the others, which use the last build.
type engine interface {
	name(ctx context.Context) (string, error)
	build(ctx context.Context) (buildTimes, error)
	indexBytes() (int64, error)
	// On one thread, with k results each.
	query(ctx context.Context, mode queryMode) (queryResult, error)
	close() error
}

// With any term, or with all.
type queryMode string

const (
	modeOr  queryMode = "or"
	modeAnd queryMode = "and"
)

type searchOptions struct {
	k    int
	runs int
}

// measure builds with each engine in turn, builds times (the minimum counts),
// then measures the queries of each mode with each engine in turn, so that
// other load affects all equally.
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
