package aggregate

import (
	"context"
	"encoding/json"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/mapping"
)

// Index is the input of a Run.
type Index struct {
	Segments []Segment
	// Field finds a field by its dotted name.
	Field func(name string) (*mapping.Field, bool)
	// Now is the time of "now" in dates.
	Now time.Time
	// Filter returns the live documents that match a query in the JSON of OpenSearch, one bitmap a
	// segment.
	Filter func(ctx context.Context, query json.RawMessage) ([][]uint64, error)
	// Counts returns how many matches of a segment have each ordinal of a field's column, and how many have none, if
	// that was counted before (CountedFields); else nil. A field without a column has no counts, but missing.
	// nil: nothing was counted.
	Counts func(segment int, field string) *OrdinalCounts
	// Hits ranks documents for top_hits; nil: there are none.
	Hits func(request json.RawMessage) (HitRanker, error)
}

// Segment is a part of an Index.
type Segment struct {
	NumDocs int
	// Live are the documents not deleted; nil: all.
	Live []uint64
	// Column returns the column of a field; nil: no document has a value.
	Column func(field string) (*column.Column, error)
}

// OrdinalCounts are how many documents have each ordinal, and how many have none.
type OrdinalCounts struct {
	Counts  []uint32
	Missing int64
}

// HitRanker keeps the best documents of each bucket of a top_hits.
type HitRanker interface {
	// Begin opens a segment, Add adds a document of it to a bucket.
	Begin(segment int) error
	Add(doc base.DocID, bucket uint32) error
	// Hits returns the best documents of a bucket; of one without documents, none.
	Hits(bucket uint32) (*Hits, error)
}

// Hits are the documents of a top_hits, best first.
type Hits struct {
	Total int64
	// Docs is the answer of the HitRanker, which AppendJSON hands to its caller.
	Docs any
}

// Limits bound a Run.
type Limits struct {
	// MaxBuckets bounds the buckets of the answer; 0: DefaultMaxBuckets.
	MaxBuckets int
	// MaxBytes bounds, approximately, the memory; 0: DefaultMaxBytes.
	MaxBytes int64
}

// DefaultMaxBuckets is search.max_buckets of OpenSearch.
const DefaultMaxBuckets = 65_536

// DefaultMaxBytes is the memory of a Run.
const DefaultMaxBytes = 512 << 20
