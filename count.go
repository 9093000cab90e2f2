package griffin

import (
	"context"
	"time"

	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Count returns the number of documents of an index that match a query: Results.Matches of Search with Count, without
// hits. Of q, Text, Node, Mode, Lenient, Filter, Policy and, in ModeAndOr, K apply. Errors are Search's.
//
// Without an Engine it computes no scores, except in ModeAndOr if the Runtime has limits or a GPU. Without all of these it
// does not read words that cannot change the matches, and takes the count of a single word from the dictionary.
func Count(ctx context.Context, ix *Index, q Query) (n int64, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	a := askedMemory.Get().(*asked)
	a.query.Text, a.query.Node, a.query.Mode, a.query.Lenient = q.Text, q.Node, q.Mode, q.Lenient
	a.query.Filter, a.query.Policy, a.query.K, a.query.Load, a.query.Count = q.Filter, q.Policy, q.K, LoadNone, true
	if n, err = a.count(ctx, ix); err == nil {
		*a = asked{}
		askedMemory.Put(a)
	}
	return n, err
}

func (a *asked) count(ctx context.Context, ix *Index) (n int64, err error) {
	s := &a.search
	began := time.Now()
	if err := beginIn(ctx, s, ix, &a.query); err != nil {
		return 0, err
	}
	if !s.searcher.Dispatcher().Plain() {
		s.noHits = a.query.Mode != ModeAndOr && s.searcher.Dispatcher().Engine() == nil
		r, err := s.answer(ctx, began)
		if err != nil {
			return 0, err
		}
		return r.Matches, nil
	}
	defer s.snapshot.Release()
	ix.runtime.gate.Enter()
	defer ix.runtime.gate.Leave()
	s.plain, s.stop = true, ctx
	if _, err = s.prepare(&s.sc.query, false /* cached */); err == nil {
		n, err = plan.CountMatches(ctx, &s.sc.query.Plan, &s.sc.search.Scratch)
	}
	ix.scratches.Put(s.sc) // not deferred, as in Search
	if err != nil {
		return 0, publicError(err)
	}
	return n, nil
}
