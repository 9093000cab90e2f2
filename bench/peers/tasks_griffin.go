package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/query"
)

type griffinTasks struct {
	rt *griffin.Runtime
	ix *griffin.Index
}

var _ taskEngine = (*griffinTasks)(nil)

func (*griffinTasks) name() string { return "griffin" }

// Keywords are not searched, but for the filter, and numbers have columns only, as all are in Griffin.
const griffinTaskMapping = `{"properties": {
	"lastmod": {"type": "long"}, "day": {"type": "long"}, "seconds": {"type": "long"},
	"title": {"type": "keyword"}, "month": {"type": "keyword"}, "date": {"type": "keyword"},
	"day_text": {"type": "keyword"}, "label": {"type": "keyword"}, "part": {"type": "keyword"}
}}`

func (e *griffinTasks) build(ctx context.Context, dir string, passages []taskPassage) error {
	m, err := griffin.ParseMapping([]byte(griffinTaskMapping))
	if err != nil {
		return err
	}
	if e.rt, err = oneThread(); err != nil {
		return err
	}
	if e.ix, err = griffin.Create(dir, griffin.Settings{Analyzer: "simple", Mapping: m}, griffin.Options{Runtime: e.rt}); err != nil {
		return err
	}
	for i := range passages {
		p := &passages[i]
		d := griffin.Document{ID: p.ID, Text: p.Title + " " + p.Text}
		for _, f := range numberFieldNames {
			d.Fields = append(d.Fields, griffin.Field{Name: f, Value: strconv.FormatInt(p.number(f), 10)})
		}
		for _, f := range keywordFieldNames {
			if v := p.keyword(f); v != "" {
				d.Fields = append(d.Fields, griffin.Field{Name: f, Value: v})
			}
		}
		if err := e.ix.Add(ctx, d); err != nil {
			return err
		}
	}
	if err := e.ix.Commit(ctx); err != nil {
		return err
	}
	_, err = e.ix.Merge(ctx, griffin.MergeOptions{Segments: 1})
	return err
}

func (e *griffinTasks) close() error {
	if e.ix == nil {
		return nil
	}
	return errors.Join(e.ix.Close(), e.rt.Close())
}

func (e *griffinTasks) prepare(t *task) (func(ctx context.Context) (taskAnswer, error), error) {
	q := griffin.Query{Node: t.node(), K: taskHits, Load: griffin.LoadIDs, Policy: griffin.PolicyCPU}
	switch {
	case t.within != nil:
		q.Filter = t.within.node()
	case t.filter:
		q.Filter = &query.Term{Field: fieldPart, Text: taskFilter, Exact: true}
	}
	if t.sort != "" {
		order := "asc"
		if t.desc {
			order = "desc"
		}
		var err error
		if q.Sort, err = json.Marshal(map[string]string{t.sort: order}); err != nil {
			return nil, err
		}
	}
	if t.facet != "" {
		q.Facets = []griffin.Facet{{Field: t.facet, Size: taskHits}}
	}
	if t.count || t.every {
		q.K, q.Load, q.Sort = 1, griffin.LoadNone, json.RawMessage(`"_doc"`) // the total without scores
	}
	return func(ctx context.Context) (a taskAnswer, err error) {
		found, err := e.ix.Search(ctx, q)
		if err != nil {
			return a, err
		}
		a.total = found.Total.Value
		for _, h := range found.Hits {
			a.ids = append(a.ids, h.ID)
		}
		if t.facet != "" {
			a.facets = map[string]int64{}
			for _, v := range found.Facets[t.facet] {
				a.facets[v.Text] = v.Count
			}
		}
		return a, nil
	}, nil
}

// total counts the matches of any task.
func (e *griffinTasks) total(ctx context.Context, t *task) (int64, error) {
	counted := *t
	counted.count, counted.facet, counted.sort = true, "", ""
	run, err := e.prepare(&counted)
	if err != nil {
		return 0, err
	}
	a, err := run(ctx)
	return a.total, err
}

func (t *task) node() query.Node {
	switch {
	case t.every:
		return &query.MatchAll{}
	case t.numbers != nil:
		return t.numbers.node()
	case t.prefix != "":
		return &query.Prefix{Text: t.prefix, Exact: true}
	case t.wildcard != "":
		return &query.Wildcard{Pattern: t.wildcard, Exact: true}
	case t.fuzzy != "":
		return &query.Fuzzy{Text: t.fuzzy, Exact: true, Similarity: query.Similarity{Edits: fmt.Sprint(t.edits), MaxExpansions: query.MaxClauses}}
	}
	if len(t.phrase) > 0 {
		return &query.Phrase{Text: strings.Join(t.phrase, " ")}
	}
	w := &query.Words{Text: strings.Join(t.words, " "), Occur: query.Should}
	if t.all {
		w.Occur = query.Must
	}
	return w
}

func (r *numberRange) node() query.Node {
	return &query.Range{Field: r.field, From: fmt.Sprint(r.lo), To: fmt.Sprint(r.hi)}
}
