package collect

import (
	"context"
	"math/bits"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/mapping"
)

// Adder takes the documents of buckets.
type Adder interface {
	// Begin opens a segment. Segments rise.
	Begin(segment int) error
	// Add adds a document of the segment to a bucket. Documents rise.
	Add(doc base.DocID, bucket uint32) error
}

// AddGroups adds the documents of bitmaps, one a segment, that have one of the values of a field to the bucket of
// that value, and returns the number of documents of each. A document has at most one value: Run with this field
// as Options.Collapse has checked it. The error is the context's, of an Adder, or wraps base.ErrCorrupt.
func AddGroups(ctx context.Context, segments []Segment, matches [][]uint64, field *mapping.Field, groups []Value, to []Adder) ([]int64, error) {
	totals := make([]int64, len(groups))
	for i := range segments {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, a := range to {
			if err := a.Begin(i); err != nil {
				return nil, err
			}
		}
		b, err := openBuckets(&segments[i], field, groups)
		if err != nil {
			return nil, err
		}
		for j, w := range matches[i] {
			for ; w != 0; w &= w - 1 {
				doc := base.DocID(j*64 + bits.TrailingZeros64(w))
				bucket, ok, err := b.of(doc)
				if err != nil {
					return nil, err
				}
				if !ok {
					continue
				}
				totals[bucket]++
				for _, a := range to {
					if err := a.Add(doc, bucket); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	return totals, nil
}

// buckets are the groups by the value of a segment's column.
type buckets struct {
	cursor  *column.Cursor // nil: no document has a value
	byValue map[int64]uint32
	without uint32 // of documents without a value
	any     bool   // there is a group of these
}

func openBuckets(s *Segment, field *mapping.Field, groups []Value) (*buckets, error) {
	b := &buckets{byValue: map[int64]uint32{}}
	c, err := s.Column(field.Name)
	if err != nil {
		return nil, err
	}
	if c != nil {
		b.cursor = c.Cursor()
	}
	for i, g := range groups {
		switch {
		case g.None:
			b.without, b.any = uint32(i), true
		case c == nil:
		case field.HasOrdinals():
			ord, found, err := c.Lookup([]byte(g.Term))
			if err != nil {
				return nil, err
			}
			if found {
				b.byValue[ord] = uint32(i)
			}
		default:
			b.byValue[g.Number] = uint32(i)
		}
	}
	return b, nil
}

// of returns the bucket of a document; false: it has none.
func (b *buckets) of(doc base.DocID) (uint32, bool, error) {
	if b.cursor != nil {
		v, ok, err := b.cursor.Value(doc)
		if err != nil {
			return 0, false, err
		}
		if ok {
			bucket, wanted := b.byValue[v]
			return bucket, wanted, nil
		}
	}
	return b.without, b.any, nil
}
