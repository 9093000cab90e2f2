package saat

import (
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
)

// Term is a list of a query and the weight of its impacts.
type Term struct {
	List   impact.List
	Weight uint32 // at least 1
}

// Query is what an Engine answers: the documents with the highest sums, over the
// terms, of weight times impact.
type Query struct {
	// Index holds the lists of the terms.
	Index *impact.Index
	Terms []Term
	// K is how many hits are wanted, >= 0.
	K int
	Budget
}

// NewQuery returns the query for some words, each with the weight of how often it is
// among them; those without a list are left out. The error wraps base.ErrCorrupt.
func NewQuery(x *impact.Index, words []string, k int) (Query, error) {
	q := Query{Index: x, K: k}
	for i, word := range words {
		if slices.Contains(words[:i], word) {
			continue
		}
		t := Term{}
		found, err := x.Find([]byte(word), &t.List)
		if err != nil {
			return Query{}, fmt.Errorf("word %q: %w", word, err)
		}
		if !found {
			continue
		}
		for _, w := range words[i:] {
			if w == word {
				t.Weight++
			}
		}
		q.Terms = append(q.Terms, t)
	}
	return q, nil
}

// Budget bounds the work of a query: Lin and Trotman, "Anytime ranking for
// impact-ordered indexes", ICTIR 2015. The zero value does not. With one, segments
// are processed in score-at-a-time order, whatever the Variant.
type Budget struct {
	// Postings (rho) are the most to be processed; 0: all. The first segment that
	// would pass it ends the query.
	Postings int64
	// Time is how long segments are processed; 0: to the end. It is looked at
	// between segments, every few thousand postings; what is begun is finished.
	Time time.Duration
}

// limited says whether there is a budget.
func (b *Budget) limited() bool { return b.Postings > 0 || b.Time > 0 }

// Result is the answer to a query.
type Result struct {
	// Hits are the best K, best first. Their scores are sums of weight*impact.
	Hits []base.Hit
	// Complete says that all segments were processed; if not, Missed is the most by
	// which the true score of any document, among the hits or not, is higher than
	// what was added up for it.
	Complete bool
	Missed   base.Score
	Stats
}

// Stats count what was done for a query.
type Stats struct {
	Postings        int64 // added
	PostingsLeft    int64 // not, for want of budget
	Segments        int   // of which postings were added
	Blocks          int64 // decoded
	Bytes           int64 // of segments read
	Width           int   // of an accumulator, in bits
	NumAccumulators int   // as many as the index has documents, rounded up
}

// Traffic is the least that the query moved between the processor and its memory or
// caches, in bytes: segments read, and accumulators read and written once.
func (s *Stats) Traffic() int64 { return s.Bytes + 2*int64(s.NumAccumulators)*int64(s.Width)/8 }
