package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/query"
)

// maxFacets is the number of facets that the page chooses, moreValues the number of values of one
// that a reader asks more of.
const (
	maxFacets  = 8
	moreValues = 100
)

// facetPlan has the facets and filters that a page requests and shows beside its hits.
type facetPlan struct {
	fields     []plannedFacet
	selections []selection
	types      map[string]string
	parsed     [][]query.Node // filters of aggregations, by number
}

type plannedFacet struct {
	griffin.Facet
	column griffin.ColumnStats
	bounds []float64 // of numbers
}

// facetView is a facet as the page shows it.
type facetView struct {
	Field, Title string
	Values       []facetValue
	More         string // the address with more values; "": none
	// Range: there is a form for a range; From and To are its present values.
	Range    string // "number", "date" or ""
	From, To string
}

// facetValue is a value that can be chosen.
type facetValue struct {
	Text    string
	Count   int64 // -1: unknown
	Chosen  bool
	Address string
}

// chooseFacets returns the fields whose values the page counts: the ones that the address names, or fields with
// few different values.
func chooseFacets(asked []griffin.Facet, columns []griffin.ColumnStats, selections []selection) []plannedFacet {
	var out []plannedFacet
	if len(asked) > 0 {
		for _, f := range asked {
			i := slices.IndexFunc(columns, func(c griffin.ColumnStats) bool { return c.Name == f.Field })
			if i < 0 {
				out = append(out, plannedFacet{Facet: f})
			} else {
				out = append(out, planFacet(f, columns[i], selections))
			}
		}
		return out
	}
	for _, c := range columns {
		if len(out) < maxFacets && usefulFacet(&c) {
			out = append(out, planFacet(griffin.Facet{Field: c.Name}, c, selections))
		}
	}
	return out
}

// usefulFacet excludes names and numbers of single documents: keywords of which most documents have their own.
func usefulFacet(c *griffin.ColumnStats) bool {
	switch {
	case !c.Sortable || c.NumDocs == 0:
		return false
	case c.Type == "keyword" || c.Type == "ip":
		return c.NumTerms > 1 && (c.NumTerms <= max(griffin.DefaultFacetSize, c.NumDocs/2))
	case c.Type == "geo_point":
		return false
	default:
		return c.Min != c.Max
	}
}

func planFacet(f griffin.Facet, c griffin.ColumnStats, selections []selection) plannedFacet {
	p := plannedFacet{Facet: f, column: c}
	if isNumber(c.Type) && c.Min != "" {
		lo, hi := number(c.Min, 0), number(c.Max, 0)
		for i := range selections {
			if r := selections[i].Range; r != nil && selections[i].Field == f.Field {
				lo, hi = max(lo, number(r.From, lo)), min(hi, number(r.To, hi))
			}
		}
		p.bounds = niceBounds(lo, hi, isWhole(c.Type))
	}
	return p
}

func number(text string, missing float64) float64 {
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return v
	}
	return missing
}

func isNumber(kind string) bool { return isWhole(kind) || kind == "double" || kind == "float" }

func isWhole(kind string) bool {
	return slices.Contains([]string{"long", "integer", "short", "byte"}, kind)
}

// plan reads the filters of a request and chooses the facets. The error wraps griffin.ErrBadInput.
func (h *handler) plan(req searchRequest, columns []griffin.ColumnStats, counted bool) (*facetPlan, error) {
	p := &facetPlan{types: columnTypes(columns)}
	var err error
	for _, text := range req.Filters {
		node, parseErr := h.backend.parse(text)
		if parseErr != nil && err == nil {
			err = fmt.Errorf("filter %.60q: %s: %w", text, base.Message(parseErr), griffin.ErrBadInput)
		}
		p.selections = append(p.selections, newSelection(text, node))
	}
	if counted {
		p.fields = chooseFacets(req.Facets, columns, p.selections)
	}
	return p, err
}

// apply sets filters and aggregations. Values of keywords that are chosen do not filter the counts of their own field.
func (p *facetPlan) apply(q *griffin.Query) error {
	var all, post []query.Node
	chosen := map[string]query.Node{}
	for i := range p.selections {
		s := &p.selections[i]
		if len(s.Values) > 0 && chosen[s.Field] == nil && slices.ContainsFunc(p.fields, func(f plannedFacet) bool { return f.Field == s.Field && f.bounds == nil }) {
			chosen[s.Field] = s.Node
			post = append(post, s.Node)
		} else {
			all = append(all, s.Node)
		}
	}
	if len(all) > 0 {
		q.Filter = query.All(all...)
	}
	if len(post) > 0 {
		q.PostFilter = query.All(post...)
	}
	requests := map[string]any{}
	for i := range p.fields {
		f := &p.fields[i]
		request := f.request()
		var others []query.Node
		for field, node := range chosen {
			if field != f.Field {
				others = append(others, node)
			}
		}
		if len(others) > 0 {
			request = map[string]any{"filter": map[string]int{"number": len(p.parsed)}, "aggs": map[string]any{"of": request}}
			p.parsed = append(p.parsed, others)
		}
		requests[strconv.Itoa(i)] = request
	}
	if len(requests) == 0 {
		return nil
	}
	raw, err := json.Marshal(requests)
	if err != nil {
		return err
	}
	q.Aggregations, q.ParseQuery = raw, p.filterOf
	return nil
}

// filterOf is griffin.Query.ParseQuery.
func (p *facetPlan) filterOf(raw json.RawMessage) (query.Node, error) {
	var f struct {
		Number *int `json:"number"`
	}
	if err := json.Unmarshal(raw, &f); err != nil || f.Number == nil || *f.Number < 0 || *f.Number >= len(p.parsed) {
		return nil, fmt.Errorf("filter %.40s of a facet: %w", raw, base.ErrBadInput)
	}
	return query.All(p.parsed[*f.Number]...), nil
}

// request is the aggregation of a facet.
func (f *plannedFacet) request() map[string]any {
	size := f.Size
	if size == 0 {
		size = griffin.DefaultFacetSize
	}
	switch {
	case len(f.bounds) > 0:
		ranges := make([]map[string]any, len(f.bounds))
		for i, from := range f.bounds {
			ranges[i] = map[string]any{"from": from}
			if i+1 < len(f.bounds) {
				ranges[i]["to"] = f.bounds[i+1]
			}
		}
		return map[string]any{"range": map[string]any{"field": f.Field, "ranges": ranges}}
	case f.column.Type == "date":
		return map[string]any{"auto_date_histogram": map[string]any{"field": f.Field, "buckets": size + 2}}
	default:
		return map[string]any{"terms": map[string]any{"field": f.Field, "size": size}}
	}
}

// views are the facets of an answer, without those that have nothing to choose.
func (p *facetPlan) views(req searchRequest, r *griffin.Results) []facetView {
	var out []facetView
	for i := range p.fields {
		f := &p.fields[i]
		a, ok := r.Aggregations.Get(strconv.Itoa(i))
		if !ok {
			continue
		}
		if a.Type() == "filter" {
			if a, ok = a.Aggregations().Get("of"); !ok {
				continue
			}
		}
		v := facetView{Field: f.Field, Title: strings.TrimSuffix(f.Field, ".keyword")}
		switch {
		case len(f.bounds) > 0:
			v.Values = p.numbers(req, f, a.Buckets())
			v.rangeForm("number", p.rangeOf(f.Field))
		case f.column.Type == "date":
			v.Values = p.dates(req, f, a.Buckets())
			v.rangeForm("date", p.rangeOf(f.Field))
		default:
			v.Values = p.terms(req, f, a.Buckets())
			if a.Others() > 0 && f.Size < moreValues {
				v.More = p.more(req, f.Field)
			}
		}
		if len(v.Values) > 1 || v.Range != "" || slices.ContainsFunc(v.Values, func(v facetValue) bool { return v.Chosen }) {
			out = append(out, v)
		}
	}
	return out
}

func (v *facetView) rangeForm(kind string, r *query.Range) {
	v.Range = kind
	if r == nil {
		return
	}
	v.From, v.To = r.From, r.To
	if kind == "date" { // as the form's field has it
		v.From, v.To, _ = days(r)
	}
}

// rangeOf is the range of a field that is chosen; nil: none.
func (p *facetPlan) rangeOf(field string) *query.Range {
	for i := range p.selections {
		if p.selections[i].Field == field && p.selections[i].Range != nil {
			return p.selections[i].Range
		}
	}
	return nil
}

func (p *facetPlan) chosen(field string) []string {
	for i := range p.selections {
		if p.selections[i].Field == field && len(p.selections[i].Values) > 0 {
			return p.selections[i].Values
		}
	}
	return nil
}

func (p *facetPlan) terms(req searchRequest, f *plannedFacet, buckets []griffin.Bucket) []facetValue {
	var out []facetValue
	chosen := slices.Clone(p.chosen(f.Field))
	add := func(text string, count int64, isChosen bool) {
		out = append(out, facetValue{Text: text, Count: count, Chosen: isChosen, Address: req.with(toggled(p.selections, f.Field, text)).page()})
	}
	for _, b := range buckets {
		at := slices.Index(chosen, b.Key)
		add(b.Key, b.DocCount, at >= 0)
		if at >= 0 {
			chosen = slices.Delete(chosen, at, at+1)
		}
	}
	for _, text := range chosen { // not among the most frequent
		add(text, -1, true)
	}
	return out
}

// more asks for more values of a field and keeps the other facets.
func (p *facetPlan) more(req searchRequest, field string) string {
	req.Facets = nil
	for i := range p.fields {
		f := p.fields[i].Facet
		if f.Field == field {
			f.Size = moreValues
		}
		req.Facets = append(req.Facets, f)
	}
	return req.page()
}
