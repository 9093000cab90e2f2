package saat

import (
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
)

// Term is a list with the weight of its impacts.
type Term struct {
	List   impact.List
	Weight uint32 // at least 1
}

// Query asks for the highest sums of weight times impact.
type Query struct {
	Index *impact.Index
	Terms []Term
	// K >= 0 is the number of hits.
	K int
	Budget
}

// NewQuery weights words by occurrences and skips those without a list. The error wraps
// base.ErrCorrupt.
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

// Budget bounds the work of a query (Lin and Trotman, "Anytime ranking for impact-ordered
// indexes", ICTIR 2015); zero is unlimited. Segments are then processed by score, for any
// Variant.
type Budget struct {
	// Postings (rho) is the maximum to process; 0: all. The first segment that would exceed it
	// ends the query.
	Postings int64
	// Time bounds the processing of segments; 0: unlimited. It is checked between segments,
	// every few thousand postings.
	Time time.Duration
}

func (b *Budget) limited() bool { return b.Postings > 0 || b.Time > 0 }

// Result is the answer to a query.
type Result struct {
	// Hits are the best K, best first, with sums of weight*impact.
	Hits []base.Hit
	// Complete means that all segments were processed. Otherwise any document's true score
	// exceeds its sum by at most Missed.
	Complete bool
	Missed   base.Score
	Stats
}

// Stats is a query's work.
type Stats struct {
	Postings        int64 // added
	PostingsLeft    int64 // not added because of the budget
	Segments        int   // with added postings
	Blocks          int64 // decoded
	Bytes           int64 // read from segments
	Width           int   // of an accumulator, in bits
	NumAccumulators int   // number of documents of the index, rounded up
}

// Traffic is the query's minimum data transfer in bytes: segments read, accumulators read and
// written once.
func (s *Stats) Traffic() int64 { return s.Bytes + 2*int64(s.NumAccumulators)*int64(s.Width)/8 }
