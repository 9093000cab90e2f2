package main

import (
	"context"
	"os"

	"github.com/blevesearch/bleve/v2"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/en" // the analyzer "en"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
)

// livingBleve writes batches to scorch. unsafe_batch is off, its default: Batch returns after the
// persister has synced the batch's segment file (zapx, build.go and merge.go: File.Sync), and committed
// and synced the transaction of bbolt that names it (scorch, persister.go: persistSnapshotDirect). The
// persister joins the batches of several callers.
type livingBleve struct{ idx bleve.Index }

var _ livingEngine = (*livingBleve)(nil)

func (e *livingBleve) name() string { return "bleve v2.5.7" }

// Contents and title with positions, in English, and stored title and text, like Griffin's defaults.
func livingMapping() mapping.IndexMapping {
	field := func(index, store bool) *mapping.FieldMapping {
		f := bleve.NewTextFieldMapping()
		f.Index, f.Store, f.IncludeTermVectors = index, store, index
		f.IncludeInAll, f.DocValues = false, false
		f.Analyzer = "en"
		return f
	}
	document := bleve.NewDocumentStaticMapping()
	document.AddFieldMappingsAt("title", field(true, true))
	document.AddFieldMappingsAt("text", field(false, true))
	document.AddFieldMappingsAt(contentsField, field(true, false))
	m := bleve.NewIndexMapping()
	m.DefaultMapping = document
	m.ScoringModel = "bm25"
	return m
}

func (e *livingBleve) open(_ context.Context, dir string) (err error) {
	setBM25(0.9, 0.4)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	e.idx, err = bleve.NewUsing(dir+"/bleve", livingMapping(), scorch.Name, scorch.Name, nil)
	return err
}

func (e *livingBleve) write(_ context.Context, passages []passage) error {
	batch := e.idx.NewBatch()
	for i := range passages {
		p := &passages[i]
		err := batch.Index(p.ID, map[string]any{"title": p.Title, "text": p.Text, contentsField: p.Title + " " + p.Text})
		if err != nil {
			return err
		}
	}
	return e.idx.Batch(batch)
}

func (e *livingBleve) search(ctx context.Context, text string) (hits int, err error) {
	q := bleve.NewMatchQuery(text)
	q.SetField(contentsField)
	found, err := e.idx.SearchInContext(ctx, bleve.NewSearchRequestOptions(q, 10, 0, false /* explain */))
	if err != nil {
		return 0, err
	}
	return len(found.Hits), nil
}

func (e *livingBleve) numDocs() (int, error) {
	n, err := e.idx.DocCount()
	return int(n), err
}

func (e *livingBleve) close(context.Context) error { return e.idx.Close() }
