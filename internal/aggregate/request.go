package aggregate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// Request is one aggregation. It does not change after Parse.
type Request struct {
	Name string
	Type string
	Meta json.RawMessage
	// Aggs are within it.
	Aggs []*Request

	make     func(e *env) (collector, error) // of its parameters
	kind     *kind
	raw      json.RawMessage // its parameters
	percents []float64       // of percentiles and percentile_ranks
	counted  string          // the field whose values terms counts
}

// CountedFields returns the fields whose counts of values (Index.Counts) are enough to answer the requests: then Run
// reads no matches. ok is false if they need more.
func CountedFields(ix *Index, requests []*Request) (fields []string, ok bool) {
	for _, r := range requests {
		f, found := ix.Field(r.counted)
		if r.counted == "" || len(r.Aggs) > 0 || !found || !f.HasOrdinals() || f.NoDocValues {
			return nil, false
		}
		if !slices.Contains(fields, r.counted) {
			fields = append(fields, r.counted)
		}
	}
	return fields, true
}

// maxNesting bounds the depth of aggregations.
const maxNesting = 32

// kind is a type of aggregation.
type kind struct {
	// parse returns a constructor of the collector.
	parse func(r *Request, p *params) (func(e *env) (collector, error), error)
	// leaf: it has no aggregations within it. top: it is not within another one.
	leaf, top bool
	// single: one bucket for each of the parent's. metric: a leaf with numbers.
	isSingle, isMetric bool
}

var kinds = map[string]*kind{
	"terms": {parse: parseTerms}, "multi_terms": {parse: parseMultiTerms}, "significant_terms": {parse: parseSignificant},
	"histogram": {parse: parseHistogram}, "date_histogram": {parse: parseDateHistogram}, "auto_date_histogram": {parse: parseAutoDate},
	"range": {parse: parseRange}, "date_range": {parse: parseDateRange},
	"filter": {parse: parseFilter, isSingle: true}, "filters": {parse: parseFilters}, "missing": {parse: parseMissing, isSingle: true}, "global": {parse: parseGlobal, top: true, isSingle: true},
	"composite": {parse: parseComposite, top: true},
	"min":       {parse: parseStats, leaf: true, isMetric: true}, "max": {parse: parseStats, leaf: true, isMetric: true}, "sum": {parse: parseStats, leaf: true, isMetric: true},
	"avg": {parse: parseStats, leaf: true, isMetric: true}, "stats": {parse: parseStats, leaf: true, isMetric: true}, "extended_stats": {parse: parseStats, leaf: true, isMetric: true},
	"value_count": {parse: parseValueCount, leaf: true, isMetric: true}, "cardinality": {parse: parseCardinality, leaf: true, isMetric: true},
	"percentiles": {parse: parsePercentiles, leaf: true, isMetric: true}, "percentile_ranks": {parse: parsePercentileRanks, leaf: true, isMetric: true},
	"top_hits": {parse: parseTopHits, leaf: true},
}

// Types returns the names of the types of aggregations, sorted.
func Types() []string { return slices.Sorted(maps.Keys(kinds)) }

// Parse reads the object of "aggs". Errors wrap base.ErrBadInput and name aggregation and parameter.
func Parse(raw []byte) ([]*Request, error) { return parse(raw, 0) }

func parse(raw []byte, depth int) ([]*Request, error) {
	if depth == maxNesting {
		return nil, base.Locate(fmt.Errorf("aggregations are nested more than %d deep: %w", maxNesting, base.ErrBadInput), raw)
	}
	list, err := members(raw)
	if err != nil {
		return nil, fmt.Errorf("aggregations: %w", err)
	}
	var out []*Request
	for _, m := range list {
		r, err := parseOne(m.Name, m.Value, depth)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func parseOne(name string, raw json.RawMessage, depth int) (*Request, error) {
	at := raw
	fail := func(format string, args ...any) error {
		return base.Locate(fmt.Errorf("aggregation [%s]: %s: %w", name, fmt.Sprintf(format, args...), base.ErrBadInput), at)
	}
	if name == "" || strings.ContainsAny(name, "[]>") {
		return nil, fail("a name must not be empty or have '[', ']' or '>'")
	}
	list, err := members(raw)
	if err != nil {
		return nil, fmt.Errorf("aggregation [%s]: %w", name, err)
	}
	r := &Request{Name: name}
	var own json.RawMessage
	for _, m := range list {
		at = m.Value
		switch m.Name {
		case "aggs", "aggregations":
			if r.Aggs != nil {
				return nil, fail("it has [aggs] and [aggregations]")
			}
			if r.Aggs, err = parse(m.Value, depth+1); err != nil {
				return nil, err
			}
		case "meta":
			if _, err := members(m.Value); err != nil {
				return nil, fail("[meta] is no object")
			}
			r.Meta = m.Value
		default:
			k, ok := kinds[m.Name]
			switch {
			case !ok:
				return nil, fail("unknown type [%s]: there are %s", m.Name, strings.Join(Types(), ", "))
			case r.kind != nil:
				return nil, fail("it has two types, [%s] and [%s]", r.Type, m.Name)
			}
			r.Type, r.kind, own = m.Name, k, m.Value
		}
	}
	at, r.raw = raw, own
	switch {
	case r.kind == nil:
		return nil, fail("it has no type")
	case r.kind.leaf && len(r.Aggs) > 0:
		return nil, r.errorf("it cannot have aggregations within it")
	case r.kind.top && depth > 0:
		return nil, r.errorf("it cannot be within another aggregation")
	}
	p, err := newParams(r, own)
	if err != nil {
		return nil, err
	}
	if r.make, err = r.kind.parse(r, p); err != nil {
		return nil, base.Locate(err, own)
	}
	return r, p.done()
}

// members returns the members of an object in their order.
func members(raw []byte) ([]base.Member, error) {
	list, err := base.Members(raw)
	return list, base.Locate(err, raw)
}

func shortened(raw []byte) string {
	const most = 60
	raw = bytes.TrimSpace(raw)
	if len(raw) > most {
		return string(raw[:most]) + "…"
	}
	return string(raw)
}
