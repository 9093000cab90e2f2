package pipeline

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
)

// Query is a flat query over all segments of a View. Several runs may share it.
type Query struct {
	// Conjunctive selects documents with all terms; else with any.
	Conjunctive bool
	// Parts are of the terms, [NumTerms]; nil: all are Optional, or required if Conjunctive.
	Parts []Part
	// K is the number of hits, up to MaxK; 0: only matches are counted.
	K int
	// Count requests the number of matching documents.
	Count bool
	// Legs are the lists by segment, then term: [numSegments][NumTerms].
	Legs     []Leg
	NumTerms int
	// Filters are the documents that may match, by segment; none: all may.
	Filters []Filter
	// Wide queries, whose scores may exceed 2^32 (up to MaxScore), always use images.
	Wide bool
	// Path selects the method, not the answer.
	Path Path
	// Beside, if not nil, may be called in a Run of this query alone, by one goroutine, while it waits for the device,
	// until it returns false.
	Beside func() (more bool)
}

// Part is the part of a term in a Query: Optional, Excluded, or the number, from 1 to MaxClauses, of a clause. A
// document must have a term of each clause, and no excluded term. A Conjunctive query has no clauses.
type Part uint8

// Parts without a clause.
const (
	Optional Part = 0
	Excluded Part = math.MaxUint8
)

// Limits of a query with clauses.
const (
	MaxClauses     = imagesearch.MaxClauses
	MaxClauseTerms = imagesearch.MaxPartTerms // with optional ones, without excluded ones
)

// part returns the part of a term.
func (q *Query) part(term int) Part {
	if q.Parts == nil {
		return Optional
	}
	return q.Parts[term]
}

// imagesOnly reports whether only images serve the query.
func (q *Query) imagesOnly() bool { return q.Wide || q.Parts != nil || q.K == 0 }

// check returns an error if the query is not one of a view's segments.
func (q *Query) check(numSegments int) error {
	switch {
	case q.K < 0 || q.K > MaxK || q.K == 0 && !q.Count || q.NumTerms < 1 || len(q.Legs) != q.NumTerms*numSegments || len(q.Filters) > 0 && len(q.Filters) != numSegments:
		return fmt.Errorf("k %d, %d legs of %d terms and %d filters over %d segments: %w", q.K, len(q.Legs), q.NumTerms, len(q.Filters), numSegments, base.ErrBadInput)
	case q.Parts != nil && len(q.Parts) != q.NumTerms:
		return fmt.Errorf("%d parts of %d terms: %w", len(q.Parts), q.NumTerms, base.ErrBadInput)
	}
	for _, p := range q.Parts {
		if p != Optional && p != Excluded && (p > MaxClauses || q.Conjunctive) {
			return fmt.Errorf("clause %d, conjunctive %t: %w", p, q.Conjunctive, base.ErrBadInput)
		}
	}
	return nil
}

// Result is the answer to a Query.
type Result struct {
	// Hits are the best K in the total order, in the memory of the caller's Hits[:0].
	Hits []base.Hit
	// Matches is the exact number of matching documents if Query.Count.
	Matches int64
	// Err is not nil if the CPU must answer the query; then Hits is undefined.
	Err error
}

// lacks reports whether the query has no match in a segment.
func (q *Query) lacks(s int) bool {
	return len(q.Filters) > 0 && q.Filters[s].IsNone() || q.lacksTerms(s)
}

// lacksTerms reports whether a segment lacks terms that a match needs.
func (q *Query) lacksTerms(s int) bool {
	legs := q.Legs[s*q.NumTerms : (s+1)*q.NumTerms]
	if q.Parts == nil {
		return q.Conjunctive && lacksOne(legs)
	}
	var asked, found uint32 // clauses
	positive := false
	for i := range legs {
		has := legs[i].DocFreq() > 0
		switch p := q.Parts[i]; {
		case p == Excluded:
		case has:
			positive = true
			found |= 1 << p
			asked |= 1 << p
		case q.Conjunctive:
			return true
		default:
			asked |= 1 << p
		}
	}
	return !positive || (asked&^found)>>1 != 0
}

// filter returns the filter of a segment, nil without one.
func filter(filters []Filter, s int) *Filter {
	if len(filters) == 0 || filters[s].IsAll() {
		return nil
	}
	return &filters[s]
}

func (r *Result) refused() bool { return r.Err != nil }

// Trace describes a run, by device.
type Trace struct {
	Devices []DeviceTrace
}

// DeviceTrace reports the work of one device for a run; griffin.TraceDevice documents the
// fields.
type DeviceTrace struct {
	Device       string        `json:"device"` // "gpu0"
	Kernels      []KernelTrace `json:"kernels"`
	ListsHit     int           `json:"lists_hit"`
	ListsMissed  int           `json:"lists_missed"`
	ListBytes    int64         `json:"list_bytes"`
	BytesLocked  int64         `json:"bytes_locked"`
	Bringing     time.Duration `json:"bringing_ns"`
	Forms        FormStats     `json:"forms"`
	BytesInPlace int64         `json:"bytes_in_place"`
	BytesTo      int64         `json:"bytes_to"`
	BytesFrom    int64         `json:"bytes_from"`
	Took         time.Duration `json:"took_ns"`
	HostTimes
}

// HostTimes are the times of launches of several queries on the host; griffin.TraceHostTimes documents them.
type HostTimes struct {
	Preparing time.Duration `json:"preparing_ns,omitempty"`
	Launching time.Duration `json:"launching_ns,omitempty"`
	Waiting   time.Duration `json:"waiting_ns,omitempty"`
	Taking    time.Duration `json:"taking_ns,omitempty"`
}

func (t *HostTimes) add(o *HostTimes) {
	t.Preparing += o.Preparing
	t.Launching += o.Launching
	t.Waiting += o.Waiting
	t.Taking += o.Taking
}

// KernelTrace counts the launches of a kernel.
type KernelTrace struct {
	Name     string `json:"name"`
	Launches int    `json:"launches"`
}

func (l *lane) merge(r *Result, k int) {
	r.Hits = mergeHits(r.Hits, l.merged, k)
}

// mergeHits returns the best k of hits and more, in the memory of hits, all in the total order.
func mergeHits(hits, more []base.Hit, k int) []base.Hit {
	if len(hits) == 0 {
		return append(hits, more[:min(k, len(more))]...)
	}
	if len(hits) == k && len(more) > 0 && !more[0].Before(hits[k-1]) || len(more) == 0 {
		return hits
	}
	hits = append(hits, more...)
	slices.SortFunc(hits, func(a, b base.Hit) int {
		if a.Before(b) {
			return -1
		}
		return 1
	})
	return hits[:min(k, len(hits))]
}
