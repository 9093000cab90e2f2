package topk

import "github.com/griffin-search/griffin/internal/base"

// CopyFrom makes the queue a copy of another one. It allocates only if it holds more hits than before.
func (q *Queue) CopyFrom(o *Queue) {
	q.k, q.ties, q.unordered, q.isWide = o.k, o.ties, o.unordered, o.isWide
	q.keys = append(q.keys[:0], o.keys...)
	q.wide = append(q.wide[:0], o.wide...)
}

// AddRange adds the hits of another queue of equal k and ties that are of documents in [from, to), which the queue
// must not have.
func (q *Queue) AddRange(o *Queue, from, to base.DocID) {
	add := func(h base.Hit) {
		doc := h.DocID
		if r := q.ties.find(doc); r != nil {
			doc = r.Base + base.DocID(r.Docs[doc-r.Base])
		}
		if doc >= from && doc < to {
			q.Add(base.Hit{DocID: doc, Score: h.Score})
		}
	}
	if o.isWide {
		for _, h := range o.wide {
			add(h)
		}
		return
	}
	least := uint64(0)
	if len(q.keys) == q.k && q.k > 0 && !q.isWide {
		least = q.keys[0]
	}
	for _, k := range o.keys {
		if k > least {
			add(hit(k))
		}
	}
}
