package griffin_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// aggregationOf is a request with what its answer must be.
type aggregationOf struct {
	request map[string]any
	checks  []func(got map[string]map[string]any) error
}

func (a *aggregationOf) check(got map[string]map[string]any) error {
	for _, check := range a.checks {
		if err := check(got); err != nil {
			return err
		}
	}
	return nil
}

func (a *aggregationOf) add(name, kind string, body map[string]any, check func(got map[string]any) error) {
	a.request[name] = map[string]any{kind: body}
	a.checks = append(a.checks, func(got map[string]map[string]any) error {
		if got[name] == nil {
			return fmt.Errorf("no answer %s", name)
		}
		if err := check(got[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

// aggregation asks for numbers of one field and buckets of another.
func (s *structured) aggregation(docs []*structuredDoc) *aggregationOf {
	a := &aggregationOf{request: map[string]any{}}
	s.buckets(a, docs, &s.fields[s.rng.IntN(len(s.fields))])
	f := &s.fields[s.rng.IntN(len(s.fields))]
	body := map[string]any{"field": f.name}
	var all []any
	without := 0.0
	for _, d := range docs {
		all = append(all, f.distinct(d)...)
		if len(d.values[f.name]) == 0 {
			without++
		}
	}
	a.add("values", "value_count", body, equalTo("value", float64(len(all))))
	a.add("without", "missing", body, equalTo("doc_count", without))
	slices.SortFunc(all, compareValues)
	a.add("different", "cardinality", body, equalTo("value", float64(len(slices.CompactFunc(slices.Clone(all), func(a, b any) bool { return a == b })))))
	if f.isText() {
		return a
	}
	sum, least, most := 0.0, math.Inf(1), math.Inf(-1)
	for _, v := range all {
		n := v.(float64)
		sum, least, most = sum+n, min(least, n), max(most, n)
	}
	if len(all) == 0 {
		a.add("least", "min", body, equalTo("value", nil))
	} else {
		a.add("least", "min", body, equalTo("value", least))
		a.add("most", "max", body, equalTo("value", most))
	}
	a.add("sum", "sum", body, equalTo("value", sum)) // exact: all are multiples of 1/8
	return a
}

// distinct returns the values that a column has: of keywords, each once a document.
func (f *structuredField) distinct(d *structuredDoc) []any {
	values := slices.Clone(d.values[f.name])
	if !f.isText() {
		return values
	}
	slices.SortFunc(values, compareValues)
	return slices.Compact(values)
}

func equalTo(key string, want any) func(map[string]any) error {
	return func(got map[string]any) error {
		if got[key] != want {
			return fmt.Errorf("%s is %v, want %v", key, got[key], want)
		}
		return nil
	}
}

// buckets asks for terms, or for a histogram.
func (s *structured) buckets(a *aggregationOf, docs []*structuredDoc, f *structuredField) {
	if f.kind != "boolean" && f.kind != "date" && !f.isText() && s.rng.IntN(2) == 0 {
		s.histogram(a, docs, f)
		return
	}
	counts := map[any]float64{}
	for _, d := range docs {
		seen := map[any]bool{}
		for _, v := range d.values[f.name] {
			if !seen[v] {
				seen[v] = true
				counts[v]++
			}
		}
	}
	type bucket struct {
		value any
		count float64
	}
	var want []bucket
	for v, n := range counts {
		want = append(want, bucket{v, n})
	}
	slices.SortFunc(want, func(a, b bucket) int { return cmp.Or(cmp.Compare(b.count, a.count), compareValues(a.value, b.value)) })
	size := 1 + s.rng.IntN(12)
	others := 0.0
	for _, b := range want[min(size, len(want)):] {
		others += b.count
	}
	want = want[:min(size, len(want))]
	a.add("terms", "terms", map[string]any{"field": f.name, "size": size}, func(got map[string]any) error {
		list, _ := got["buckets"].([]any)
		if len(list) != len(want) || got["sum_other_doc_count"] != others {
			return fmt.Errorf("%d buckets and %v others, want %d and %v", len(list), got["sum_other_doc_count"], len(want), others)
		}
		for i, b := range list {
			b := b.(map[string]any)
			if b["key"] != want[i].value || b["doc_count"] != want[i].count {
				return fmt.Errorf("bucket %d is %v, want %v", i, b, want[i])
			}
		}
		return nil
	})
}

func (s *structured) histogram(a *aggregationOf, docs []*structuredDoc, f *structuredField) {
	interval := []float64{1, 2.5, 10, 64}[s.rng.IntN(4)]
	counts := map[float64]float64{}
	for _, d := range docs {
		seen := map[float64]bool{}
		for _, v := range d.values[f.name] {
			key := math.Floor(v.(float64)/interval) * interval
			if !seen[key] {
				seen[key] = true
				counts[key]++
			}
		}
	}
	a.add("histogram", "histogram", map[string]any{"field": f.name, "interval": interval, "min_doc_count": 1}, func(got map[string]any) error {
		list, _ := got["buckets"].([]any)
		last := math.Inf(-1)
		for _, b := range list {
			b := b.(map[string]any)
			key, _ := b["key"].(float64)
			if b["doc_count"] != counts[key] || counts[key] == 0 || key <= last {
				return fmt.Errorf("bucket %v, want %v", b, counts[key])
			}
			last = key
		}
		if len(list) != len(counts) {
			return fmt.Errorf("%d buckets, want %d", len(list), len(counts))
		}
		return nil
	})
}
