package aggregate

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// order sorts buckets.
type order []orderKey

type orderKey struct {
	by     orderBy
	path   []string // names of aggregations with one bucket, then of a metric
	metric string   // the number of the metric
	desc   bool
}

type orderBy uint8

const (
	byCount orderBy = iota
	byKey
	byMetric
)

// order reads the parameter; ties are broken by rising keys.
func (p *params) order(otherwise order) order {
	raw := p.raw("order")
	if raw == nil {
		return otherwise
	}
	list := []json.RawMessage{raw}
	if strings.HasPrefix(shortened(raw), "[") {
		var err error
		if list, err = base.Elements(raw); err != nil || len(list) == 0 {
			p.fail("order", "want a list of objects")
		}
	}
	var out order
	for _, raw := range list {
		m, err := members(raw)
		if err != nil || len(m) != 1 {
			p.fail("order", "want an object with one key, have %s", shortened(raw))
			return otherwise
		}
		var direction string
		_ = json.Unmarshal(m[0].Value, &direction)
		direction = strings.ToLower(direction)
		if direction != "asc" && direction != "desc" {
			p.fail("order", "[%s] is %s: want \"asc\" or \"desc\"", m[0].Name, shortened(m[0].Value))
			return otherwise
		}
		out = append(out, p.orderKey(m[0].Name, direction == "desc"))
	}
	return out
}

func (p *params) orderKey(name string, desc bool) orderKey {
	switch name {
	case "_count":
		return orderKey{by: byCount, desc: desc}
	case "_key", "_term":
		return orderKey{by: byKey, desc: desc}
	}
	k := orderKey{by: byMetric, desc: desc, path: strings.Split(name, ">")}
	last := &k.path[len(k.path)-1]
	if i := strings.IndexAny(*last, ".["); i >= 0 {
		*last, k.metric = (*last)[:i], strings.TrimSuffix((*last)[i+1:], "]")
	}
	within := p.r.Aggs
	for i, part := range k.path {
		found := slices.IndexFunc(within, func(r *Request) bool { return r.Name == part })
		if found < 0 {
			p.fail("order", "there is no aggregation [%s] within it", name)
			return k
		}
		r := within[found]
		if i < len(k.path)-1 || r.kind.isSingle {
			if !r.kind.isSingle || i == len(k.path)-1 && k.metric != "" && k.metric != "doc_count" {
				p.fail("order", "[%s]: aggregation [%s] of type [%s] has several buckets or no such number", name, r.Name, r.Type)
			}
			within = r.Aggs
			continue
		}
		if !metricNamed(r, k.metric) {
			p.fail("order", "[%s]: aggregation [%s] of type [%s] has no such number", name, r.Name, r.Type)
		}
	}
	return k
}

// metricNamed reports whether a metric has a number of the name; "" is the one of those with one.
func metricNamed(r *Request, name string) bool {
	switch r.Type {
	case "stats", "extended_stats":
		return slices.Contains(statsNames(r.Type), name)
	case "percentiles", "percentile_ranks":
		return slices.ContainsFunc(r.percents, func(p float64) bool { return percentNamed(p, name) })
	}
	return r.kind.isMetric && (name == "" || name == "value")
}

// single is a collector with one bucket for each of the parent's.
type single interface {
	collector
	count(bucket uint32) int64
	inside() *within
}

// value returns the sort value of a bucket for the key.
func (k *orderKey) value(w *within, bucket uint32) (v float64, ok bool) {
	for i, name := range k.path {
		at := slices.IndexFunc(w.children, func(c collector) bool { return c.request().Name == name })
		switch c := w.children[at].(type) {
		case single:
			if i == len(k.path)-1 {
				return float64(c.count(bucket)), true
			}
			w = c.inside()
		case metricCollector:
			return c.metric(bucket, k.metric)
		}
	}
	return 0, false
}

// candidate is a bucket that is sorted.
type candidate struct {
	number uint32 // noBucket: without documents
	key    int64
	count  int64
	values []float64 // of the keys by metric, in their order
	none   []bool
}

// best sorts the best n candidates; compare orders keys.
func (o order) best(list []candidate, n int, w *within, compare func(a, b int64) int) []candidate {
	metric := slices.ContainsFunc(o, func(k orderKey) bool { return k.by == byMetric })
	if n >= len(list)/2 || metric {
		o.sort(list, w, compare)
		return list[:min(n, len(list))]
	}
	// A heap of the best n with the last at the root.
	heap := list[:n]
	after := func(a, b *candidate) bool { return o.compare(a, b, compare) > 0 }
	down := func(i int) {
		for {
			child := 2*i + 1
			if child >= n {
				return
			}
			if child+1 < n && after(&heap[child+1], &heap[child]) {
				child++
			}
			if !after(&heap[child], &heap[i]) {
				return
			}
			heap[i], heap[child] = heap[child], heap[i]
			i = child
		}
	}
	for i := n/2 - 1; i >= 0; i-- {
		down(i)
	}
	for i := n; i < len(list); i++ {
		if n > 0 && after(&heap[0], &list[i]) {
			heap[0] = list[i]
			down(0)
		}
	}
	o.sort(heap, w, compare)
	return heap
}

// sort sorts candidates.
func (o order) sort(list []candidate, w *within, compare func(a, b int64) int) {
	if slices.ContainsFunc(o, func(k orderKey) bool { return k.by == byMetric }) {
		for i := range list {
			c := &list[i]
			for j := range o {
				if o[j].by == byMetric {
					v, ok := o[j].value(w, c.number)
					c.values, c.none = append(c.values, v), append(c.none, !ok)
				}
			}
		}
	}
	sortCandidates(list, func(a, b *candidate) int { return o.compare(a, b, compare) })
}

// sortCandidates sorts numbers in the place of candidates, which are larger: the binary has the code for these already.
func sortCandidates(list []candidate, compare func(a, b *candidate) int) {
	order := make([]uint32, len(list))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(x, y uint32) int { return compare(&list[x], &list[y]) })
	sorted := make([]candidate, len(list))
	for i, at := range order {
		sorted[i] = list[at]
	}
	copy(list, sorted)
}

func (o order) compare(a, b *candidate, compare func(a, b int64) int) int {
	metric := 0
	for i := range o {
		c := 0
		switch o[i].by {
		case byCount:
			c = cmp.Compare(a.count, b.count)
		case byKey:
			c = compare(a.key, b.key)
		case byMetric:
			j := metric
			metric++
			if a.none[j] != b.none[j] { // last in both directions
				if a.none[j] {
					return 1
				}
				return -1
			}
			if !a.none[j] {
				c = cmp.Compare(a.values[j], b.values[j])
			}
		}
		if o[i].desc {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return compare(a.key, b.key)
}
