package main

import (
	"context"
	"errors"
	"os"

	"github.com/griffin-search/griffin"
)

// livingGriffin writes with griffin.Writer, whose log is synced before Apply returns.
type livingGriffin struct {
	ix *griffin.Index
	w  *griffin.Writer
}

var _ livingEngine = (*livingGriffin)(nil)

func (e *livingGriffin) name() string { return "griffin" }

func (e *livingGriffin) open(ctx context.Context, dir string) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if e.ix, err = griffin.Create(dir+"/griffin", griffin.Settings{Analyzer: "english"}, griffin.Options{}); err != nil {
		return err
	}
	if e.w, err = e.ix.Writer(ctx, griffin.WriterOptions{}); err != nil {
		return errors.Join(err, e.ix.Close())
	}
	return nil
}

func (e *livingGriffin) write(ctx context.Context, passages []passage) error {
	writes := make([]griffin.Write, len(passages))
	for i := range passages {
		writes[i].Document = griffin.Document{ID: passages[i].ID, Title: passages[i].Title, Text: passages[i].Text}
	}
	results, err := e.w.Apply(ctx, writes...)
	for i := range results {
		err = errors.Join(err, results[i].Err)
	}
	return err
}

func (e *livingGriffin) search(ctx context.Context, text string) (hits int, err error) {
	found, err := e.ix.Search(ctx, griffin.Query{Text: text, Mode: griffin.ModeOr, K: 10, Load: griffin.LoadIDs})
	if err != nil {
		return 0, err
	}
	return len(found.Hits), nil
}

func (e *livingGriffin) numDocs() (int, error) {
	if err := e.w.Refresh(context.Background()); err != nil {
		return 0, err
	}
	stats, err := e.ix.Stats()
	return stats.NumDocs, err
}

func (e *livingGriffin) close(ctx context.Context) error {
	return errors.Join(e.w.Close(ctx), e.ix.Close())
}
