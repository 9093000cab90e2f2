package griffin

import (
	"context"
	"sort"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/snippet"
)

// fetch reads the documents of hits.
func (s *search) fetch(ctx context.Context, plan *dispatch.Query, hits []base.Hit) ([]Hit, error) {
	out := s.sc.newHits(len(hits))
	if reading := s.index.runtime.reading; reading != nil && len(hits) > 0 && s.query.Load < LoadIDs {
		select {
		case reading <- struct{}{}:
			defer func() { <-reading }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	var maker *snippet.Maker
	if s.query.SnippetLength > 0 && len(hits) > 0 {
		maker = s.snippetMaker(plan)
	}
	for i, h := range hits {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = Hit{DocID: DocID(h.DocID), Score: h.Score.Float64()}
		if s.query.Load == LoadNone {
			continue
		}
		view := &s.snapshot.Segments[s.viewOf(h.DocID)]
		local := h.DocID - view.Base
		id, err := view.ID(local)
		if err != nil {
			return nil, err
		}
		out[i].ID = string(id)
		if s.query.Load == LoadIDs || !view.HasStored() {
			continue
		}
		stored := &s.sc.stored
		if err := view.Stored(local, stored); err != nil {
			return nil, err
		}
		out[i].Title = string(stored.Title)
		if s.query.Load == LoadFields {
			out[i].Fields = fieldsOf(stored)
		}
		if maker != nil {
			out[i].Snippet = joinFragments(maker.Make(string(stored.Text)))
		}
	}
	return out, nil
}

// viewOf returns the number of the segment that has a document.
func (s *search) viewOf(doc base.DocID) int {
	views := s.snapshot.Segments
	return sort.Search(len(views), func(i int) bool { return views[i].Base > doc }) - 1
}

func (s *search) snippetMaker(plan *dispatch.Query) *snippet.Maker {
	sought := plan.Sought()
	q := snippet.Query{Phrases: sought.Phrases}
	for _, t := range sought.Terms {
		q.Terms = append(q.Terms, snippet.Term{Text: t.Text, Weight: t.IDF})
	}
	return snippet.New(s.sc.search.Analyzer(), q, snippet.Options{MaxChars: s.query.SnippetLength})
}

// ellipsis marks omitted text.
const ellipsis = "…"

// joinFragments joins the passages of a snippet.
func joinFragments(fragments []snippet.Fragment) Snippet {
	var text strings.Builder
	var s Snippet
	for i, f := range fragments {
		switch {
		case i > 0:
			text.WriteString(" " + ellipsis + " ")
		case f.CutBefore:
			text.WriteString(ellipsis)
		}
		for _, h := range f.Highlights {
			s.Highlights = append(s.Highlights, Span{Start: text.Len() + h.Start, End: text.Len() + h.End})
		}
		text.WriteString(f.Text)
		if i == len(fragments)-1 && f.CutAfter {
			text.WriteString(ellipsis)
		}
	}
	s.Text = text.String()
	return s
}
