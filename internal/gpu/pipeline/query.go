package pipeline

import (
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
)

// Leg is one term of a query in one segment of a View. It must not be copied
// after its first use.
type Leg struct {
	// List of the term, or Impacts in a View of impact-ordered lists; DocFreq is
	// that of either, and 0 if the segment has no such list.
	List    *postings.List
	Impacts *impact.List
	DocFreq uint32
	// ID is the list's own in its segment: no other list of it has the same.
	ID    uint64
	Field base.FieldID
	// Term scores the postings; of impact-ordered lists it is linear.
	Term score.Term
	// Scale turns the list's Bounds into scores of Term.
	Scale score.Scale

	// record was the list's, to be found without the map.
	record atomic.Pointer[record]
}

// key returns the key of the leg's list in a part.
func (l *Leg) key(part uint32) listKey {
	return listKey{part: part, impacts: l.Impacts != nil, list: l.ID}
}

// Query is a flat query over all segments of a View. Any number of runs may use
// one at the same time.
type Query struct {
	// Conjunctive says that documents must have all terms; else any.
	Conjunctive bool
	// K is how many hits are wanted, 1 to MaxK.
	K int
	// Count asks for the number of documents that match, too.
	Count bool
	// Legs holds, by segment, then term, what is to be searched:
	// [numSegments][NumTerms].
	Legs     []Leg
	NumTerms int
	// Path says how the query is to be answered. It does not change the answer.
	Path Path
}

// Result is what became of a Query.
type Result struct {
	// Hits are the best K in the total order, appended to Hits[:0] as it was given.
	Hits []base.Hit
	// Matches is the exact number of documents that match, if Query.Count.
	Matches int64
	// Err is nil if the query was answered; else it says why it must go to the CPU,
	// which can answer it, and Hits means nothing.
	Err error
}

// refused reports whether the query is not to be answered here.
func (r *Result) refused() bool { return r.Err != nil }

// Trace tells what a run did on each device.
type Trace struct {
	Devices []DeviceTrace
}

// DeviceTrace is what one device did in a run.
type DeviceTrace struct {
	Device string `json:"device"` // "gpu0"
	// Kernels that answered the queries, in the order of their first launch.
	Kernels []KernelTrace `json:"kernels"`
	// ListsHit were there, ListsMissed were brought, or read over the bus. ListBytes were
	// sent to the device, compressed or plain, and BytesLocked copied from the index's
	// file to page-locked memory, in the time Bringing, as the CPU saw it.
	ListsHit    int           `json:"lists_hit"`
	ListsMissed int           `json:"lists_missed"`
	ListBytes   int64         `json:"list_bytes"`
	BytesLocked int64         `json:"bytes_locked"`
	Bringing    time.Duration `json:"bringing_ns"`
	// Forms counts the lists by their form before.
	Forms FormStats `json:"forms"`
	// BytesInPlace is what kernels have read of page-locked lists over the bus.
	BytesInPlace int64 `json:"bytes_in_place"`
	// BytesTo and BytesFrom went over the bus for queries and results.
	BytesTo   int64 `json:"bytes_to"`
	BytesFrom int64 `json:"bytes_from"`
	// Took is the device's own time for the kernels, by its events.
	Took time.Duration `json:"took_ns"`
}

// KernelTrace counts the launches of a kernel.
type KernelTrace struct {
	Name     string `json:"name"`
	Launches int    `json:"launches"`
}
