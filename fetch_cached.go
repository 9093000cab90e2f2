package griffin

import (
	"context"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/resultcache"
)

// fetchOptions are what hits depend on beside the documents of an answer.
type fetchOptions struct {
	query         string // of the words of snippets; answers may be equal where these are not
	load          Load
	offset        int
	snippetLength int
	versions      bool
}

// fetch reads the documents of hits. If the answer came from the result cache, fetch also caches its documents there.
func (s *search) fetch(ctx context.Context, q *dispatch.Query, hits []base.Hit) ([]Hit, error) {
	entry := dispatch.CacheEntry(q)
	if entry == nil || s.query.Load > LoadTitles || s.query.Highlight != nil || len(hits) == 0 {
		return s.fetchParts(ctx, q, hits, s.query.Load, s.query.Highlight)
	}
	of := fetchOptions{
		query: q.Query().String(), load: s.query.Load, offset: s.query.Offset,
		snippetLength: s.query.SnippetLength, versions: s.query.LoadVersions,
	}
	if kept := entry.Documents(of); kept != nil {
		out := s.sc.newHits(len(hits))
		copyHits(out, kept.Value.([]Hit))
		return out, nil
	}
	out, err := s.fetchParts(ctx, q, hits, s.query.Load, s.query.Highlight)
	if err != nil {
		return nil, err
	}
	kept := make([]Hit, len(out))
	copyHits(kept, out)
	s.index.results.KeepDocuments(entry, &resultcache.Documents{Of: of, Value: kept, Bytes: sizeOfHits(kept) + int64(len(of.query))})
	return out, nil
}

// copyHits copies hits of fetch, and the slices that their owner may change.
func copyHits(dst, src []Hit) {
	copy(dst, src)
	numFields, numSpans := 0, 0
	for i := range src {
		numFields += len(src[i].Fields)
		numSpans += len(src[i].Snippet.Highlights)
	}
	fields, spans := make([]Field, 0, numFields), make([]Span, 0, numSpans)
	for i := range dst {
		h := &dst[i]
		if n := len(fields); len(h.Fields) > 0 {
			fields = append(fields, h.Fields...)
			h.Fields = slices.Clip(fields[n:])
		}
		if n := len(spans); len(h.Snippet.Highlights) > 0 {
			spans = append(spans, h.Snippet.Highlights...)
			h.Snippet.Highlights = slices.Clip(spans[n:])
		}
	}
}

// Sizes in bytes, as tested.
const hitSize, fieldSize, spanSize = 192, 32, 16

// sizeOfHits is the memory of hits of fetch.
func sizeOfHits(hits []Hit) int64 {
	const stringOverhead = 16 // rounding of allocations
	size := len(hits) * hitSize
	for i := range hits {
		h := &hits[i]
		size += len(h.ID) + len(h.Title) + len(h.Snippet.Text) + 2*stringOverhead + len(h.Snippet.Highlights)*spanSize
		for _, f := range h.Fields {
			size += len(f.Name) + len(f.Value) + 2*stringOverhead + fieldSize
		}
	}
	return int64(size)
}
