package griffin

import (
	"context"
	"sort"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/snippet"
)

// fetchParts reads parts of the documents of hits, always from the index.
func (s *search) fetchParts(ctx context.Context, plan *dispatch.Query, hits []base.Hit, load Load, highlight *Highlight) ([]Hit, error) {
	out := s.sc.newHits(len(hits))
	if reading := s.index.runtime.reading; reading != nil && len(hits) > 0 && load < LoadIDs {
		select {
		case reading <- struct{}{}:
			defer func() { <-reading }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	var maker *snippet.Maker
	if s.query.SnippetLength > 0 && len(hits) > 0 {
		var err error
		if maker, err = s.snippetMaker(plan); err != nil {
			return nil, err
		}
	}
	for i, h := range hits {
		out[i].DocID, out[i].Score = DocID(h.DocID), h.Score.Float64()
	}
	if load == LoadNone {
		return out, nil
	}
	for start := 0; start < len(hits); start += sharedIDs {
		end := min(start+sharedIDs, len(hits))
		if err := s.fetchIDs(ctx, hits[start:end], out[start:end]); err != nil {
			return nil, err
		}
	}
	if load == LoadIDs {
		return out, nil
	}
	stored := &s.sc.stored
	highlighter := s.newHighlighter(plan, highlight)
	for i, h := range hits {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		view := s.viewOf(h.DocID)
		if !view.HasStored() {
			continue
		}
		if err := view.Stored(h.DocID-view.Base, stored); err != nil {
			return nil, err
		}
		out[i].Title = string(stored.Title)
		if load == LoadFields {
			out[i].Fields = fieldsOf(stored)
		}
		if maker != nil {
			out[i].Snippet = joinFragments(maker.Make(string(stored.Text)))
		}
		if highlighter != nil {
			out[i].Highlights = highlighter.highlights(out[i].Title, string(stored.Text), fieldsOf(stored))
		}
	}
	return out, nil
}

// sharedIDs is the number of hits whose ids share an allocation: a program that keeps one id
// keeps the memory of all.
const sharedIDs = 32

// fetchIDs also reads the versions, if the query wants them.
func (s *search) fetchIDs(ctx context.Context, hits []base.Hit, out []Hit) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var ends [sharedIDs]int
	text := s.sc.ids[:0]
	for i, h := range hits {
		view := s.viewOf(h.DocID)
		id, err := view.ID(h.DocID - view.Base)
		if err != nil {
			return err
		}
		if s.query.LoadVersions {
			version, err := view.Version(h.DocID - view.Base)
			if err != nil {
				return err
			}
			out[i].SeqNo, out[i].Version = version.Seq, version.Count()
		}
		text = append(text, id...)
		ends[i] = len(text)
	}
	s.sc.ids = text
	all, start := string(text), 0
	for i := range hits {
		out[i].ID = all[start:ends[i]]
		start = ends[i]
	}
	return nil
}

func (s *search) viewOf(doc base.DocID) *index.View {
	views := s.snapshot.Segments
	return &views[sort.Search(len(views), func(i int) bool { return views[i].Base > doc })-1]
}

func (s *search) snippetMaker(plan *dispatch.Query) (*snippet.Maker, error) {
	sought := plan.Sought(false /* filters */)
	q := snippet.Query{Phrases: sought.Phrases}
	for _, t := range sought.Terms {
		q.Terms = append(q.Terms, snippet.Term{Text: t.Text, Weight: t.IDF})
	}
	for _, p := range sought.Patterns {
		q.Patterns = append(q.Patterns, p.Match)
	}
	analyzer, err := s.sc.search.Analyzer("")
	if err != nil {
		return nil, err
	}
	return snippet.New(analyzer, q, snippet.Options{MaxChars: s.query.SnippetLength}), nil
}

const ellipsis = "…"

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
