package topk

import (
	"cmp"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
)

// Ties gives documents of equal score another order than their DocIDs, in ranges of
// DocIDs: segments whose documents were reordered rank by the order in which they were written.
// The zero value is for none.
type Ties []TieRange

// TieRange is a range of DocIDs from Base. Its slices are permutations of [0, n).
type TieRange struct {
	Base base.DocID
	// Ranks has the rank of each document, Docs the document of each rank.
	Ranks, Docs []uint32
}

func (t Ties) find(doc base.DocID) *TieRange {
	for i := range t {
		if r := &t[i]; doc >= r.Base && int(doc-r.Base) < len(r.Ranks) {
			return r
		}
	}
	return nil
}

// ranked returns a hit with the rank of its document in place of its DocID.
func (t Ties) ranked(h base.Hit) base.Hit {
	if r := t.find(h.DocID); r != nil {
		h.DocID = r.Base + base.DocID(r.Ranks[h.DocID-r.Base])
	}
	return h
}

// documents turns ranks back to DocIDs.
func (t Ties) documents(hits []base.Hit) {
	if len(t) == 0 {
		return
	}
	for i := range hits {
		if r := t.find(hits[i].DocID); r != nil {
			hits[i].DocID = r.Base + base.DocID(r.Docs[hits[i].DocID-r.Base])
		}
	}
}

// TieSlack is the number of hits beyond k that a search which breaks ties by DocID returns, for
// Settle.
const TieSlack = 16

// Settle turns the best n hits by score and DocID into the best k by score and rank, k <= n. It
// reports false, and changes only the order of hits, if hits of equal score may be missing.
func (t Ties) Settle(hits []base.Hit, k, n int) ([]base.Hit, bool) {
	if len(hits) == n && n > 0 && (k == 0 || hits[k-1].Score == hits[n-1].Score) && k < n {
		return hits, false
	}
	for i := range hits {
		hits[i] = t.ranked(hits[i])
	}
	slices.SortFunc(hits, func(a, b base.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.DocID, b.DocID))
	})
	hits = hits[:min(k, len(hits))]
	t.documents(hits)
	return hits, true
}
