package aggregate

import "github.com/griffin-search/griffin/internal/base"

// topHits has the best documents of each bucket.
type topHits struct {
	*Request
	e      *env
	ranker HitRanker
	counts counts
}

func parseTopHits(r *Request, p *params) (func(e *env) (collector, error), error) {
	raw := p.whole()
	return func(e *env) (collector, error) {
		if e.index.Hits == nil {
			return nil, r.errorf("it is not supported here")
		}
		ranker, err := e.index.Hits(raw)
		return &topHits{Request: r, e: e, ranker: ranker}, r.wrap(err)
	}, p.err
}

func (t *topHits) request() *Request { return t.Request }

func (t *topHits) begin(segment int) error { return t.wrap(t.ranker.Begin(segment)) }

func (t *topHits) collect(docs []base.DocID, buckets []uint32) error {
	for i, doc := range docs {
		if err := t.e.count(t.Request, &t.counts, buckets[i], 1); err != nil {
			return err
		}
		if err := t.ranker.Add(doc, buckets[i]); err != nil {
			return t.wrap(err)
		}
	}
	return nil
}

func (t *topHits) end() error    { return nil }
func (t *topHits) finish() error { return nil }

func (t *topHits) build(bucket uint32) (*Result, error) {
	out := newResult(t.Request)
	hits, err := t.ranker.Hits(bucket)
	if err != nil {
		return nil, t.wrap(err)
	}
	out.Hits = hits
	out.Hits.Total = t.counts.of(bucket)
	return out, nil
}
