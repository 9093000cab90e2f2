package column

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
)

// Cursor reads the values of single documents, fastest in rising order. It is not safe for
// concurrent use.
type Cursor struct {
	c       *Column
	present *risingReader // nil: not a list
	ends    *risingReader // nil: one value a document
	values  *reader
	out     []int64
}

// Cursor returns a new cursor, of a few KB.
func (c *Column) Cursor() *Cursor {
	x := &Cursor{c: c, values: newReader(&c.values)}
	if c.presence.mode == presentList {
		x.present = newRisingReader(&c.presence.list)
	}
	if c.multi {
		x.ends = newRisingReader(&c.ends)
	}
	return x
}

// span returns the positions [from, to) of a document's values; empty without.
func (x *Cursor) span(doc base.DocID) (from, to uint64, err error) {
	if int64(doc) >= int64(x.c.numDocs) {
		return 0, 0, fmt.Errorf("document %d of %d: %w", doc, x.c.numDocs, base.ErrBadInput)
	}
	rank, found, err := x.c.presence.rank(doc, x.present)
	if err != nil || !found {
		return 0, 0, err
	}
	if x.ends == nil {
		return rank, rank + 1, nil
	}
	return x.ends.span(rank)
}

// Values returns a document's values, rising, valid until the next call.
func (x *Cursor) Values(doc base.DocID) ([]int64, error) {
	x.out = x.out[:0]
	from, to, err := x.span(doc)
	for i := from; i < to && err == nil; i++ {
		var v int64
		if v, err = x.values.at(i); err == nil {
			x.out = append(x.out, v)
		}
	}
	if err != nil {
		return nil, x.c.fail(err)
	}
	return x.out, nil
}

// Value returns a document's least value, and whether it has one.
func (x *Cursor) Value(doc base.DocID) (v int64, ok bool, err error) {
	from, to, err := x.span(doc)
	if err == nil && from < to {
		v, err = x.values.at(from)
	}
	if err != nil {
		return 0, false, x.c.fail(err)
	}
	return v, from < to, nil
}
