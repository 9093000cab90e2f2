package traverse_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/traverse"
)

// Codecs that can and cannot decode single DocIDs; otherwise as BenchmarkWiki.
func BenchmarkContracted(b *testing.B) {
	w := loadWiki(b)
	names := []string{"svs-binary", "svs-gallop", "interpolation", "linear-regression", "hash-segmentation-16", "hash-segmentation-32", "hash-segmentation-256"}
	for _, spec := range []string{"simdbp", "raw", "lrc", "lrcseg", "seglrc", "hs-lrc", "hs-lrc:bucket=16"} {
		v := w.recode(b, spec)
		for _, log := range queryLogs {
			var queries []traverse.Query
			for _, terms := range readQueries(b, log) {
				queries = append(queries, v.query(terms))
			}
			for _, name := range names {
				t, err := traverse.Lookup(traverse.And, name)
				if err != nil {
					b.Fatal(err)
				}
				b.Run(fmt.Sprintf("log=%s/codec=%s/traversal=%s/k=10", log[:4], spec, name), func(b *testing.B) {
					benchmarkQueries(b, t, queries, 10)
				})
			}
		}
	}
}

func (w *wiki) recode(tb testing.TB, spec string) *wiki {
	tb.Helper()
	c, err := codec.Lookup(spec)
	if err != nil {
		tb.Fatal(err)
	}
	v := *w
	var p, f bytes.Buffer
	writer := postings.NewWriter(postings.Options{Codec: c, Saturation: w.sat}, &p, nil, &f)
	metas := make([]postings.Meta, len(w.lists))
	for i := range w.lists {
		var cursor postings.Cursor
		cursor.Reset(&w.lists[i], nil)
		writer.Begin(w.Lengths)
		for cursor.NextBlock() != base.NoDocID {
			if err := writer.AddBlock(cursor.BlockDocIDs(), cursor.BlockFreqs(), nil); err != nil {
				tb.Fatal(err)
			}
		}
		if metas[i], err = writer.Finish(); err != nil {
			tb.Fatal(err)
		}
	}
	v.Postings, v.Frontiers = p.Bytes(), f.Bytes()
	v.lists = make([]postings.List, len(metas))
	v.kept = derived.NewCache(derived.DefaultLimit).NewSegment()
	for i, m := range metas {
		if err := v.lists[i].Open(m, c, v.Postings, nil, v.Frontiers); err != nil {
			tb.Fatal(err)
		}
	}
	return &v
}
