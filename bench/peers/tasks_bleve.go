package main

import (
	"context"
	"fmt"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/custom"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/keyword"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search/query"
)

type bleveTasks struct{ idx bleve.Index }

var _ taskEngine = (*bleveTasks)(nil)

func (*bleveTasks) name() string { return "bleve v2.5.7" }

// Contents with positions; numbers and keywords with doc values, for sorts and facets; the text is stored, as in
// Griffin.
func bleveTaskMapping() (mapping.IndexMapping, error) {
	contents := bleve.NewTextFieldMapping()
	contents.Index, contents.Store, contents.IncludeTermVectors = true, true, true
	contents.IncludeInAll, contents.DocValues = false, false
	contents.Analyzer = simpleTokenizer
	document := bleve.NewDocumentStaticMapping()
	document.AddFieldMappingsAt(contentsField, contents)
	for _, name := range numberFieldNames {
		f := bleve.NewNumericFieldMapping()
		f.Index, f.Store, f.IncludeInAll, f.DocValues = true, false, false, true
		document.AddFieldMappingsAt(name, f)
	}
	for _, name := range keywordFieldNames {
		f := bleve.NewTextFieldMapping()
		f.Index, f.Store, f.IncludeInAll, f.DocValues, f.IncludeTermVectors = true, false, false, true, false
		f.Analyzer = keyword.Name
		document.AddFieldMappingsAt(name, f)
	}
	m := bleve.NewIndexMapping()
	m.DefaultMapping = document
	m.ScoringModel = "bm25"
	err := m.AddCustomAnalyzer(simpleTokenizer, map[string]any{"type": custom.Name, "tokenizer": simpleTokenizer})
	return m, err
}

func (e *bleveTasks) build(ctx context.Context, dir string, passages []taskPassage) error {
	setBM25(0.9, 0.4)
	m, err := bleveTaskMapping()
	if err != nil {
		return err
	}
	if e.idx, err = bleve.NewUsing(dir, m, scorch.Name, scorch.Name, map[string]any{"unsafe_batch": true}); err != nil {
		return err
	}
	const batchSize = 1000
	for from := 0; from < len(passages); from += batchSize {
		batch := e.idx.NewBatch()
		for i := range passages[from:min(from+batchSize, len(passages))] {
			p := &passages[from+i]
			fields := map[string]any{contentsField: p.Title + " " + p.Text}
			for _, f := range numberFieldNames {
				fields[f] = p.number(f)
			}
			for _, f := range keywordFieldNames {
				if v := p.keyword(f); v != "" {
					fields[f] = v
				}
			}
			if err := batch.Index(p.ID, fields); err != nil {
				return err
			}
		}
		if err := e.idx.Batch(batch); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return mergeToOne(ctx, e.idx)
}

func (e *bleveTasks) close() error {
	if e.idx == nil {
		return nil
	}
	return e.idx.Close()
}

func (e *bleveTasks) prepare(t *task) (func(ctx context.Context) (taskAnswer, error), error) {
	q := t.bleve()
	var filter query.Query
	switch {
	case t.within != nil:
		filter = t.within.bleve()
	case t.filter:
		part := bleve.NewTermQuery(taskFilter)
		part.SetField(fieldPart)
		filter = part
	}
	if filter != nil {
		b := bleve.NewBooleanQuery()
		b.AddMust(q)
		b.AddFilter(filter)
		q = b
	}
	request := bleve.NewSearchRequestOptions(q, taskHits, 0, false /* explain */)
	if t.count || t.every {
		request.Size = 0
	}
	if t.sort != "" {
		order := t.sort
		if t.desc {
			order = "-" + order
		}
		request.SortBy([]string{order})
	}
	if t.facet != "" {
		request.AddFacet(t.facet, bleve.NewFacetRequest(t.facet, taskHits))
	}
	return func(ctx context.Context) (a taskAnswer, err error) {
		found, err := e.idx.SearchInContext(ctx, request)
		if err != nil {
			return a, err
		}
		a.total = int64(found.Total)
		for _, h := range found.Hits {
			a.ids = append(a.ids, h.ID)
		}
		if t.facet == "" {
			return a, nil
		}
		facet := found.Facets[t.facet]
		if facet == nil || facet.Terms == nil {
			return a, fmt.Errorf("bleve has no facet %s", t.facet)
		}
		a.facets = map[string]int64{}
		for _, f := range facet.Terms.Terms() {
			a.facets[f.Term] = int64(f.Count)
		}
		return a, nil
	}, nil
}

func (t *task) bleve() query.Query {
	switch {
	case t.every:
		return bleve.NewMatchAllQuery()
	case t.numbers != nil:
		return t.numbers.bleve()
	case t.prefix != "":
		q := bleve.NewPrefixQuery(t.prefix)
		q.SetField(contentsField)
		return q
	case t.wildcard != "":
		q := bleve.NewWildcardQuery(t.wildcard)
		q.SetField(contentsField)
		return q
	case t.fuzzy != "":
		q := bleve.NewFuzzyQuery(t.fuzzy)
		q.SetField(contentsField)
		q.SetFuzziness(t.edits)
		return q
	case len(t.phrase) > 0:
		return bleve.NewPhraseQuery(t.phrase, contentsField)
	}
	mode := modeOr
	if t.all {
		mode = modeAnd
	}
	return bleveQuery(t.words, mode)
}

func (r *numberRange) bleve() query.Query {
	lo, hi, inclusive := float64(r.lo), float64(r.hi), true
	q := bleve.NewNumericRangeInclusiveQuery(&lo, &hi, &inclusive, &inclusive)
	q.SetField(r.field)
	return q
}
