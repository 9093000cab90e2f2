package spelling

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/suggest"
)

// Words are looked up in this many documents of a term, in this many bytes of each value.
const (
	sampledDocs  = 8
	sampledBytes = 1 << 18
)

// Written returns a word that analysis turns into term, in lower case: of the words in the first documents
// of the term, the one closest to typed, then the most frequent one. It is the term itself if the index
// stores no text. The error is the context's, or wraps base.ErrCorrupt.
func (d *Dictionary) Written(ctx context.Context, term, typed string) (string, error) {
	if d.analyzer == nil {
		return term, nil
	}
	counts := map[string]int{}
	left := sampledDocs
	for i := range d.snapshot.Segments {
		view := &d.snapshot.Segments[i]
		if left == 0 || !view.HasStored() {
			break
		}
		docs, err := d.firstDocs(view, term, left)
		if err != nil {
			return "", err
		}
		left -= len(docs)
		for _, doc := range docs {
			if err := ctx.Err(); err != nil {
				return "", err
			}
			if err := view.Stored(doc, &d.stored); err != nil {
				return "", err
			}
			d.stored.EachValue(d.names, func(text []byte) { d.count(counts, text, term) })
		}
	}
	return closest(counts, strings.ToLower(typed), term), nil
}

// closest returns the word with the least distance to typed, of these the most frequent one, of these the first.
func closest(counts map[string]int, typed, otherwise string) string {
	best, least := otherwise, math.MaxInt
	for word, n := range counts {
		d := suggest.Distance(typed, word)
		if d < least || d == least && (n > counts[best] || n == counts[best] && word < best) {
			best, least = word, d
		}
	}
	return best
}

// firstDocs returns the first n live documents of a term, in the order of writing.
func (d *Dictionary) firstDocs(view *index.View, term string, n int) ([]base.DocID, error) {
	found, err := view.Find(d.field, []byte(term), &d.list)
	if err != nil || !found {
		return nil, err
	}
	ranks, _, err := view.Written()
	if err != nil {
		return nil, err
	}
	var docs []base.DocID
	var c postings.Cursor
	c.Reset(&d.list, nil)
	for doc := c.NextGEQ(0); doc != base.NoDocID; doc = c.NextGEQ(doc + 1) {
		if view.Live != nil && !view.Live.Has(int(doc)) {
			continue
		}
		docs = append(docs, doc)
		if ranks == nil && len(docs) == n {
			break
		}
	}
	if ranks != nil {
		slices.SortFunc(docs, func(a, b base.DocID) int { return cmp.Compare(ranks[a], ranks[b]) })
	}
	return docs[:min(n, len(docs))], c.Err()
}

func (d *Dictionary) count(counts map[string]int, text []byte, term string) {
	if len(text) > sampledBytes {
		text = text[:max(bytes.LastIndexByte(text[:sampledBytes], ' '), 0)]
	}
	d.tokens = d.analyzer.Tokens(d.tokens[:0], text)
	for _, t := range d.tokens {
		if string(t.Term) == term && t.Start < t.End {
			counts[strings.ToLower(string(text[t.Start:t.End]))]++
		}
	}
}
