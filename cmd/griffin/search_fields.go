package main

import (
	"errors"
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
	in      []string
	flags   *pflag.FlagSet
	notes   []string // about the index, for JSON
}

func (o *fieldFlags) register(f *pflag.FlagSet) {
	o.flags = f
	f.StringArrayVar(&o.filters, "filter", nil, "only documents that also match `QUERY`, which does not change scores; repeat for several")
	f.StringVar(&o.sort, "sort", "", "order by `FIELD[:asc|desc],…` instead of the score; _score and _doc (the order of writing) are fields")
	f.StringArrayVar(&o.facets, "facet", nil, "count the values of `FIELD[=N]`, the N most frequent (default 10), over all matching documents; repeat for several")
	f.StringSliceVar(&o.in, "in", nil, "seek words without a field in `FIELD[^WEIGHT],…`, which count as one field (BM25F)")
	f.StringSliceVar(&o.fields, "fields", nil, "of the stored fields, show these: `FIELD,…`")
}

// check returns an error for a flag whose value is empty or is no sort.
func (o *fieldFlags) check() error {
	for _, flag := range []struct {
		name, want string
		values     []string
	}{
		{"filter", "a query, such as kind:book", o.filters},
		{"sort", "FIELD, FIELD:asc or FIELD:desc, several with commas between them", strings.Split(o.sort, ",")},
		{"fields", "names of fields with commas between them", o.fields},
		{"in", "names of fields with commas between them", o.in},
	} {
		empty := func(value string) bool { return strings.TrimSpace(value) == "" }
		if o.flags.Changed(flag.name) && (len(flag.values) == 0 || slices.ContainsFunc(flag.values, empty)) {
			return usagef("--%s %q: want %s", flag.name, o.flags.Lookup(flag.name).Value, flag.want)
		}
	}
	for key := range strings.SplitSeq(o.sort, ",") {
		name, order, directed := strings.Cut(strings.TrimSpace(key), ":")
		if order = strings.ToLower(order); directed && (name == "" || order != "asc" && order != "desc") {
			return usagef("--sort %s: want FIELD, FIELD:asc or FIELD:desc", key)
		}
	}
	return nil
}

// explain adds to an error of sorts and facets where the types of fields come from.
func (o *fieldFlags) explain(err error) error {
	syntax := (*query.Error)(nil)
	if o == nil || o.sort == "" && len(o.facets) == 0 || !errors.Is(err, griffin.ErrBadInput) || errors.As(err, &syntax) {
		return err
	}
	return hintedError{err, "griffin mapping INDEX lists the fields that have types; griffin mapping --guess FILE makes a mapping for a new index"}
}

// apply sets the options of the flags in q.
func (o *fieldFlags) apply(q *griffin.Query, ix *griffin.Index) error {
	var clauses []query.Clause
	for _, text := range o.filters {
		node, err := griffin.ParseFilter(ix, text)
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
	q.Sort = griffin.SortKeys(o.sort)
	q.TrackScores = q.Sort != nil
	for _, text := range o.facets {
		f, err := griffin.ParseFacet(text)
		if err != nil {
			return usagef("--%w", err)
		}
		if slices.ContainsFunc(q.Facets, func(g griffin.Facet) bool { return g.Field == f.Field }) {
			return usagef("--facet %s is given twice", f.Field)
		}
		q.Facets = append(q.Facets, f)
	}
	return nil
}

// query sets the text of a search, or the node of a text in the fields of --in.
func (o *fieldFlags) query(q *griffin.Query, ix *griffin.Index, text string) error {
	q.Text, q.Node = text, nil
	if len(o.in) == 0 {
		return nil
	}
	fields, err := o.searched()
	if err != nil {
		return err
	}
	node, err := griffin.ParseQuery(ix, text)
	if err != nil {
		return err
	}
	q.Text, q.Node, q.Suggest = "", query.Across(node, fields), false
	return nil
}

func (o *fieldFlags) searched() (fields []query.FieldWeight, err error) {
	for _, text := range o.in {
		name, weight, weighted := strings.Cut(text, "^")
		f := query.FieldWeight{Name: name, Weight: 1}
		if weighted {
			if f.Weight, err = strconv.ParseFloat(weight, 64); err != nil || f.Weight < query.MinBoost || f.Weight > query.MaxBoost {
				return nil, usagef("--in %s: want a weight from %g to %g after ^", text, query.MinBoost, float64(query.MaxBoost))
			}
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// leave keeps only the wanted fields of hits.
func (o *fieldFlags) leave(r *griffin.Results) {
	if len(o.fields) == 0 {
		return
	}
	for i := range r.Hits {
		r.Hits[i].Fields = slices.DeleteFunc(r.Hits[i].Fields, func(f griffin.Field) bool { return !slices.Contains(o.fields, f.Name) })
	}
}

// noteMissing adds a note for each wanted field that the mapping does not have, nor any hit.
func (o *fieldFlags) noteMissing(r *griffin.Results, ix *griffin.Index) {
	if len(r.Hits) == 0 {
		return
	}
	for _, name := range o.fields {
		isField := func(f griffin.Field) bool { return f.Name == name }
		isMapped := func(f griffin.MappedField) bool { return f.Name == name }
		inHit := func(h griffin.Hit) bool { return slices.ContainsFunc(h.Fields, isField) }
		if name != "title" && !slices.ContainsFunc(ix.Mapping().Fields(), isMapped) && !slices.ContainsFunc(r.Hits, inHit) {
			r.Notes = append(r.Notes, fmt.Sprintf("--fields: no hit has a stored field %q", name))
		}
	}
}

// printFacets prints a line for each facet.
func printFacets(con *console, facets []griffin.Facet, r *griffin.Results) {
	st := con.style(con.out)
	for _, f := range facets {
		var values []string
		for _, v := range r.Facets[f.Field] {
			values = append(values, oneLine(v.Text)+" "+st.dim+"("+count(v.Count)+")"+st.reset)
		}
		con.printf("%s%s:%s %s\n", st.title, oneLine(f.Field), st.reset, strings.Join(values, ", "))
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
