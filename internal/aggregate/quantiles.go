package aggregate

import (
	"cmp"
	"slices"
	"sort"

	"github.com/griffin-search/griffin/internal/mapping"
)

// quantiles is a multiset of values. It is exact up to maxDistinct different ones. Beyond, the lowest bits
// of the coded values are dropped, no more than needed, of all values alike, as C. Masson, J. Rim and
// H. Lee do in "DDSketch", PVLDB 2019, section 2.3, and I. Epicoco et al. uniformly in "UDDSketch", IEEE
// Access 2020. We differ: the buckets are ranges of the order-preserving coding, so the error is a share of
// the range of integers and dates, and of floating-point numbers a share of the value.
//
// The number of dropped bits is the least with which all values have at most maxDistinct different keys, so
// the state depends on the values only, not on their order.
type quantiles struct {
	table table // of values >> shift, with the parent 0
	found []int64
	shift uint
	count int64

	keys, counts []int64 // after finish: the table's, in rising order
}

const maxDistinct = 1 << 16

// distinctBytes is the memory of a key of quantiles.
const distinctBytes = tableBytes + 16

// add returns the number of new keys, negative if bits were dropped.
func (q *quantiles) add(v int64) (more int) {
	q.count++
	n, isNew := q.table.number(0, v>>q.shift)
	if !isNew {
		q.found[n]++
		return 0
	}
	q.found = append(q.found, 1)
	if len(q.found) <= maxDistinct {
		return 1
	}
	for len(q.found) > maxDistinct {
		q.drop()
	}
	return len(q.found) - maxDistinct
}

// drop drops a bit of all keys.
func (q *quantiles) drop() {
	q.shift++
	keys, found := q.table.keys, q.found
	q.table, q.found = table{}, nil
	for i, key := range keys {
		n, isNew := q.table.number(0, key>>1)
		if isNew {
			q.found = append(q.found, 0)
		}
		q.found[n] += found[i]
	}
}

// finish sorts the keys. No value may be added afterwards.
func (q *quantiles) finish() {
	order := make([]uint32, len(q.found))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return cmp.Compare(q.table.keys[a], q.table.keys[b]) })
	q.keys, q.counts = make([]int64, len(order)), make([]int64, len(order))
	for i, n := range order {
		q.keys[i], q.counts[i] = q.table.keys[n], q.found[n]
	}
	q.table, q.found = table{}, nil
}

// bounds returns the least and the greatest value of a key.
func (q *quantiles) bounds(key int64, t mapping.Type) (lo, hi float64) {
	first := key << q.shift
	return t.Float64(first), t.Float64(first + 1<<q.shift - 1)
}

// value returns the quantile at a share of the count. The i-th value of n, from 0, is at (i+0.5)/n; between
// them it is interpolated, as t-digests do for single values.
func (q *quantiles) value(share float64, t mapping.Type) float64 {
	at := float64(share*float64(q.count)) - 0.5
	at = max(min(at, float64(q.count-1)), 0)
	i := int64(at)
	low := q.valueAt(i, t)
	if fraction := at - float64(i); fraction > 0 {
		return low + float64(fraction*(q.valueAt(i+1, t)-low))
	}
	return low
}

// valueAt returns the i-th value, from 0. The values of a key are spread evenly over its range.
func (q *quantiles) valueAt(i int64, t mapping.Type) float64 {
	var before int64
	at := 0
	for before+q.counts[at] <= i {
		before += q.counts[at]
		at++
	}
	lo, hi := q.bounds(q.keys[at], t)
	if q.counts[at] == 1 {
		return lo + float64((hi-lo)/2)
	}
	return lo + float64((hi-lo)*float64(i-before))/float64(q.counts[at]-1)
}

// rank is the inverse of value: the share of the values at or below v, of an equal one the half.
func (q *quantiles) rank(v float64, t mapping.Type) float64 {
	at := sort.Search(len(q.keys), func(i int) bool {
		_, hi := q.bounds(q.keys[i], t)
		return hi >= v
	})
	var before int64
	for _, n := range q.counts[:at] {
		before += n
	}
	if at == len(q.keys) {
		return 1
	}
	lo, hi := q.bounds(q.keys[at], t)
	n := float64(q.counts[at])
	switch {
	case v < lo && at == 0:
		return 0
	case v < lo:
		_, last := q.bounds(q.keys[at-1], t)
		from, to := float64(before)-0.5, float64(before)+0.5
		return (from + (to-from)*(v-last)/(lo-last)) / float64(q.count)
	case hi > lo:
		return (float64(before) + n*(v-lo)/(hi-lo)) / float64(q.count)
	}
	return (float64(before) + float64(n/2)) / float64(q.count)
}
