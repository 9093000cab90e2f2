package pipeline

import (
	"time"

	"github.com/griffin-search/griffin/internal/base"
)

// Query is a flat query over all segments of a View. Several runs may share it.
type Query struct {
	// Conjunctive selects documents with all terms; else with any.
	Conjunctive bool
	// K is the number of hits, 1 to MaxK.
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
	return len(q.Filters) > 0 && q.Filters[s].IsNone() || q.Conjunctive && lacksOne(q.Legs[s*q.NumTerms:(s+1)*q.NumTerms])
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
}

// KernelTrace counts the launches of a kernel.
type KernelTrace struct {
	Name     string `json:"name"`
	Launches int    `json:"launches"`
}
