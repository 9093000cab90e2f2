package griffin

import (
	"context"
	"sort"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/exec"
	"github.com/griffin-search/griffin/internal/snippet"
)

// fetch reads what the caller gets to see of hits.
func (s *search) fetch(ctx context.Context, plan *exec.Plan, hits []base.Hit) ([]Hit, error) {
	out := make([]Hit, len(hits))
	if s.reading != nil && len(hits) > 0 && !s.config.idsOnly {
		select {
		case s.reading <- struct{}{}:
			defer func() { <-s.reading }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	var maker *snippet.Maker
	if s.config.snippetLength > 0 && len(hits) > 0 {
		maker = s.snippetMaker(plan)
	}
	for i, h := range hits {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		view := &s.snapshot.Segments[s.viewOf(h.DocID)]
		local := h.DocID - view.Base
		id, err := view.ID(local)
		if err != nil {
			return nil, err
		}
		out[i] = Hit{ID: string(id), DocID: uint32(h.DocID), Score: h.Score.Float64()}
		if s.config.idsOnly || !view.HasStored() {
			continue
		}
		stored := &s.sc.stored
		if err := view.Stored(local, stored); err != nil {
			return nil, err
		}
		out[i].Title = string(stored.Title)
		if !s.config.withoutFields {
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

func (s *search) snippetMaker(plan *exec.Plan) *snippet.Maker {
	sought := plan.Sought()
	q := snippet.Query{Phrases: sought.Phrases}
	for _, t := range sought.Terms {
		q.Terms = append(q.Terms, snippet.Term{Text: t.Text, Weight: t.IDF})
	}
	return snippet.New(s.sc.exec.Analyzer(), q, snippet.Options{MaxChars: s.config.snippetLength})
}

// ellipsis stands where text is left out.
const ellipsis = "…"

// joinFragments makes one text of the passages that a snippet is made of.
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
