package aggregate

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
)

// collector computes one aggregation. The order of calls is begin, collect any number of times, end, for
// each segment; then finish; then build.
type collector interface {
	request() *Request
	begin(segment int) error
	// collect takes documents, which do not fall within a segment, and for each the bucket of the
	// parent aggregation that it is in.
	collect(docs []base.DocID, buckets []uint32) error
	end() error
	finish() error
	// build returns the answer for a bucket of the parent; for one that never had a document, an
	// empty one.
	build(bucket uint32) (*Result, error)
}

// wholeCollector is a collector that can take the matching documents of a segment as a bitmap, all in
// topBucket. It may decline.
type wholeCollector interface {
	collector
	whole(segment int, words []uint64) (done bool, err error)
}

// metricCollector is a collector whose answer has numbers, by which buckets can be sorted.
type metricCollector interface {
	collector
	// metric returns a number of a bucket; ok is false if there is none (as of an average of nothing).
	metric(bucket uint32, name string) (v float64, ok bool)
}

// noBucket is never one: its answer is empty.
const noBucket = ^uint32(0)

// within holds the aggregations within one, and hands them its documents.
type within struct {
	e        *env
	children []collector
	docs     []base.DocID
	buckets  []uint32
}

func (e *env) within(r *Request) (within, error) {
	children, err := e.collectors(r.Aggs)
	return within{e: e, children: children}, err
}

func (w *within) begin(segment int) error {
	for _, c := range w.children {
		if err := c.begin(segment); err != nil {
			return err
		}
	}
	return nil
}

func (w *within) add(doc base.DocID, bucket uint32) error {
	if len(w.children) == 0 {
		return nil
	}
	w.docs, w.buckets = append(w.docs, doc), append(w.buckets, bucket)
	if len(w.docs) == batchSize {
		return w.flush()
	}
	return nil
}

func (w *within) flush() error {
	if len(w.docs) == 0 {
		return nil
	}
	if err := w.e.ctx.Err(); err != nil {
		return err
	}
	for _, c := range w.children {
		if err := c.collect(w.docs, w.buckets); err != nil {
			return err
		}
	}
	w.docs, w.buckets = w.docs[:0], w.buckets[:0]
	return nil
}

func (w *within) end() error {
	if err := w.flush(); err != nil {
		return err
	}
	for _, c := range w.children {
		if err := c.end(); err != nil {
			return err
		}
	}
	return nil
}

func (w *within) finish() error {
	for _, c := range w.children {
		if err := c.finish(); err != nil {
			return err
		}
	}
	return nil
}

func (w *within) build(bucket uint32) ([]*Result, error) {
	var out []*Result
	for _, c := range w.children {
		r, err := c.build(bucket)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// counts are numbers by bucket.
type counts []int64

// count adds to the number of a bucket.
func (e *env) count(r *Request, c *counts, bucket uint32, n int64) (err error) {
	if *c, err = grown(e, r, *c, bucket); err == nil {
		(*c)[bucket] += n
	}
	return err
}

func (c counts) of(bucket uint32) int64 {
	if int(bucket) >= len(c) {
		return 0
	}
	return c[bucket]
}

// grown returns list with an element for the bucket.
func grown[T any, L ~[]T](e *env, r *Request, list L, bucket uint32) (L, error) {
	if int(bucket) < len(list) {
		return list, nil
	}
	more := int(bucket) + 1 - len(list)
	if err := e.budget.take(r, more*int(reflect.TypeFor[T]().Size())); err != nil {
		return list, err
	}
	return append(list, make([]T, more)...), nil
}

// inner numbers the buckets of an aggregation with n of them in each bucket of the parent.
func (e *env) inner(r *Request, parent uint32, n, i int) (uint32, error) {
	if parent == noBucket {
		return noBucket, nil
	}
	number := int64(parent)*int64(n) + int64(i)
	if number >= int64(noBucket) {
		return 0, r.wrap(fmt.Errorf("more than %d buckets: %w", noBucket, ErrTooLarge))
	}
	return uint32(number), nil
}

// recorder keeps documents with their buckets, to hand them on when their buckets are final.
type recorder struct {
	segments []recorded
}

type recorded struct {
	segment int
	docs    []base.DocID
	buckets []uint32
}

// recordBytes is the memory of a document in a recorder.
const recordBytes = 8

func (r *recorder) begin(segment int) {
	r.segments = append(r.segments, recorded{segment: segment})
}

func (r *recorder) add(docs []base.DocID, buckets []uint32) {
	s := &r.segments[len(r.segments)-1]
	s.docs, s.buckets = append(s.docs, docs...), append(s.buckets, buckets...)
}

// replay calls f for each document, segment by segment.
func (r *recorder) replay(begin func(segment int) error, f func(doc base.DocID, bucket uint32) error, end func() error) error {
	for i := range r.segments {
		s := &r.segments[i]
		if err := begin(s.segment); err != nil {
			return err
		}
		for j, doc := range s.docs {
			if err := f(doc, s.buckets[j]); err != nil {
				return err
			}
		}
		if err := end(); err != nil {
			return err
		}
		s.docs, s.buckets = nil, nil
	}
	return nil
}

// table numbers pairs of a parent's bucket and a key, in the order of their first appearance. It is a hash
// table with open addressing.
type table struct {
	parents []uint32 // by number
	keys    []int64
	slots   []uint32 // number + 1; 0: free
	byOwner []uint32 // numbers sorted by parent, after group
	starts  []uint32
}

// tableBytes is the memory of a pair in a table, with a count.
const tableBytes = 8 + 4 + 8 + 12

func hashPair(parent uint32, key int64) uint64 {
	h := (uint64(key) ^ uint64(parent)*0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd
	h ^= h >> 32
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>29
}

// number returns the number of a pair and whether it is new.
func (t *table) number(parent uint32, key int64) (n uint32, isNew bool) {
	if 4*(len(t.keys)+1) > 3*len(t.slots) {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	for i := hashPair(parent, key) & mask; ; i = (i + 1) & mask {
		s := t.slots[i]
		if s == 0 {
			t.parents, t.keys = append(t.parents, parent), append(t.keys, key)
			t.slots[i] = uint32(len(t.keys))
			return uint32(len(t.keys) - 1), true
		}
		if t.keys[s-1] == key && t.parents[s-1] == parent {
			return s - 1, false
		}
	}
}

// find returns noBucket if there is no such pair.
func (t *table) find(parent uint32, key int64) uint32 {
	if len(t.slots) == 0 {
		return noBucket
	}
	mask := uint64(len(t.slots) - 1)
	for i := hashPair(parent, key) & mask; ; i = (i + 1) & mask {
		s := t.slots[i]
		if s == 0 {
			return noBucket
		}
		if t.keys[s-1] == key && t.parents[s-1] == parent {
			return s - 1
		}
	}
}

func (t *table) grow() {
	t.slots = make([]uint32, max(16, 2*len(t.slots)))
	mask := uint64(len(t.slots) - 1)
	for n, key := range t.keys {
		i := hashPair(t.parents[n], key) & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = uint32(n + 1)
	}
}

// group sorts the numbers by parent, for of.
func (t *table) group() {
	most := uint32(0)
	for _, p := range t.parents {
		most = max(most, p)
	}
	t.starts = make([]uint32, int(most)+2)
	for _, p := range t.parents {
		t.starts[p+1]++
	}
	for i := 1; i < len(t.starts); i++ {
		t.starts[i] += t.starts[i-1]
	}
	t.byOwner = make([]uint32, len(t.parents))
	next := slices.Clone(t.starts)
	for n, p := range t.parents {
		t.byOwner[next[p]] = uint32(n)
		next[p]++
	}
}

// of returns the numbers of a parent's pairs, in the order of appearance. The caller may not change them.
func (t *table) of(parent uint32) []uint32 {
	if int64(parent)+1 >= int64(len(t.starts)) {
		return nil
	}
	return t.byOwner[t.starts[parent]:t.starts[parent+1]]
}
