package ding09

import (
	"context"

	"github.com/griffin-search/griffin/internal/engine"
)

// fetch transfers the lists of a query that waits for the GPU: "this transfer is performed while processing
// other queries" (§5).
type fetch struct {
	cancel context.CancelFunc
	result chan fetched
	ended  chan struct{}
}

type fetched struct {
	query *deviceQuery
	err   error
}

// startFetch returns nil if the lists of another query are fetched, or wait for the GPU.
func (s *schedule) startFetch(ctx context.Context, q *engine.Query, stages []stage) *fetch {
	if !s.fetching.CompareAndSwap(false, true) {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	f := &fetch{cancel: cancel, result: make(chan fetched), ended: make(chan struct{})}
	go func() {
		defer close(f.ended)
		defer s.fetching.Store(false)
		d, err := s.engine.gpu.fetch(ctx, q, stages)
		select {
		case f.result <- fetched{d, err}:
		case <-ctx.Done():
			_ = s.engine.gpu.cache.release(d.items) // an error is of a failed device
		}
	}()
	return f
}

// end releases the lists unless the query has received them.
func (f *fetch) end() {
	f.cancel()
	<-f.ended
}
