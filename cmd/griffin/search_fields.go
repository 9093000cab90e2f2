package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/query"
)

// fieldFlags filter, sort and count by fields.
type fieldFlags struct {
	filters []string
	sort    string
	facets  []string
	fields  []string
}

func (o *fieldFlags) register(f *pflag.FlagSet) {
	f.StringArrayVar(&o.filters, "filter", nil, "only documents that also match `QUERY`, which does not change scores; repeat for several")
	f.StringVar(&o.sort, "sort", "", "order by `FIELD[:asc|desc],…` instead of the score; _score and _doc (the order of writing) are fields")
	f.StringArrayVar(&o.facets, "facet", nil, "count the values of `FIELD[=N]`, the N most frequent (default 10), over all matching documents; repeat for several")
	f.StringSliceVar(&o.fields, "fields", nil, "of the stored fields, show these: `FIELD,…`")
}

// facet is a field whose values are counted.
type facet struct {
	field string
	size  int
}

const defaultFacetSize = 10

func (o *fieldFlags) parseFacets() ([]facet, error) {
	var out []facet
	for _, text := range o.facets {
		f := facet{field: text, size: defaultFacetSize}
		if i := strings.LastIndexByte(text, '='); i >= 0 {
			n, err := strconv.Atoi(text[i+1:])
			if err != nil || n < 1 {
				return nil, usagef("--facet %s: want FIELD=N, N at least 1", text)
			}
			f = facet{field: text[:i], size: n}
		}
		if f.field == "" || slices.ContainsFunc(out, func(g facet) bool { return g.field == f.field }) {
			return nil, usagef("--facet %s: want different fields", text)
		}
		out = append(out, f)
	}
	return out, nil
}

// apply sets what the flags ask for.
func (o *fieldFlags) apply(q *griffin.Query, ix *griffin.Index) error {
	var clauses []query.Clause
	for _, text := range o.filters {
		node, err := griffin.ParseQuery(ix, text)
		if err != nil {
			return fmt.Errorf("--filter: %w", err)
		}
		clauses = append(clauses, query.Clause{Occur: query.Must, Node: node})
	}
	switch len(clauses) {
	case 0:
	case 1:
		q.Filter = clauses[0].Node
	default:
		q.Filter = &query.Boolean{Clauses: clauses}
	}
	if o.sort != "" {
		q.Sort = sortKeys(o.sort)
		q.TrackScores = true
	}
	facets, err := o.parseFacets()
	if err != nil || len(facets) == 0 {
		return err
	}
	aggs := map[string]any{}
	for i, f := range facets {
		aggs[facetName(i)] = map[string]any{"terms": map[string]any{"field": f.field, "size": f.size}}
	}
	q.Aggregations, err = json.Marshal(aggs)
	return err
}

func facetName(i int) string { return "facet" + strconv.Itoa(i) }

// sortKeys turns "price:desc,name" into the JSON of Query.Sort.
func sortKeys(text string) json.RawMessage {
	var keys []any
	for key := range strings.SplitSeq(text, ",") {
		name, order, directed := strings.Cut(key, ":")
		if directed {
			keys = append(keys, map[string]string{name: order})
		} else {
			keys = append(keys, name)
		}
	}
	raw, _ := json.Marshal(keys) // texts have a JSON form
	return raw
}

// searchResult is the JSON of a search.
type searchResult struct {
	*griffin.Results
	// Facets are the values of --facet by field, the most frequent first.
	Facets map[string][]facetValue `json:"facets,omitempty"`
}

type facetValue struct {
	Value json.RawMessage `json:"value"` // a string or a number
	Count int64           `json:"count"`
}

// result takes the facets out of the aggregations, and leaves only the wanted fields of hits.
func (o *fieldFlags) result(r *griffin.Results) searchResult {
	out := searchResult{Results: r}
	facets, _ := o.parseFacets() // apply has parsed them
	for i, f := range facets {
		a, _ := r.Aggregations.Get(facetName(i))
		values := []facetValue{}
		for _, b := range a.Buckets() {
			values = append(values, facetValue{Value: facetJSON(&b), Count: b.DocCount})
		}
		if out.Facets == nil {
			out.Facets = map[string][]facetValue{}
		}
		out.Facets[f.field] = values
	}
	r.Aggregations = griffin.Aggregations{}
	if len(o.fields) > 0 {
		for i := range r.Hits {
			r.Hits[i].Fields = slices.DeleteFunc(r.Hits[i].Fields, func(f griffin.Field) bool { return !slices.Contains(o.fields, f.Name) })
		}
	}
	return out
}

// facetJSON is the key for people: of dates and booleans, their texts.
func facetJSON(b *griffin.Bucket) json.RawMessage {
	if b.Key == string(b.KeyJSON) {
		return b.KeyJSON
	}
	text, _ := json.Marshal(b.Key) // texts have a JSON form
	return text
}

// printFacets prints a line for each facet.
func (o *fieldFlags) printFacets(con *console, r *griffin.Results) {
	st := con.style(con.out)
	facets, _ := o.parseFacets()
	for i, f := range facets {
		a, _ := r.Aggregations.Get(facetName(i))
		var values []string
		for _, b := range a.Buckets() {
			values = append(values, oneLine(b.Key)+" "+st.dim+"("+count(b.DocCount)+")"+st.reset)
		}
		con.printf("%s%s:%s %s\n", st.title, oneLine(f.field), st.reset, strings.Join(values, ", "))
	}
}

// printFields prints the wanted fields of a hit, a line each.
func (o *fieldFlags) printFields(con *console, h *griffin.Hit) {
	st := con.style(con.out)
	for _, name := range o.fields {
		var values []string
		for _, f := range h.Fields {
			if f.Name == name {
				values = append(values, oneLine(f.Value))
			}
		}
		if len(values) > 0 {
			con.printf("    %s%s:%s %s\n", st.dim, name, st.reset, strings.Join(values, ", "))
		}
	}
}
