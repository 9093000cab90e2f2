package ao11

import (
	"context"
	"fmt"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/contraction"
)

// operand finds elements in a list, for one goroutine.
type operand struct {
	hostList
	form *form

	whole codec.RegressionList // of a Regression codec

	// Of codes with d-gaps, and of skip.
	block     [codec.BlockLen]uint32
	blockLen  int
	blockFrom int // the position of block[0]; the end of the list if no block is loaded
	at        int // of the skip list: the position of the previous search
}

// reset makes o an operand of l.
func (o *operand) reset(f *form, l hostList) error {
	o.form, o.hostList = f, l
	o.blockLen, o.blockFrom, o.at = 0, l.NumPostings, 0
	if f.code >= lrc {
		return o.whole.Reset(f.codec.(codec.Regression), l.Bytes(), l.NumPostings)
	}
	return nil
}

// stride is the number of elements after which a loop looks at the context: at most some milliseconds.
const stride = 1 << 11

// place moves the ascending docIDs that the list has to the front, writes their
// positions in the list to at, of the same length, and returns their number. The docIDs of another call without a
// reset between are greater. The error is the context's, or wraps base.ErrCorrupt.
func (o *operand) place(ctx context.Context, docIDs, at []uint32) (n int, err error) {
	for j, d := range docIDs {
		if j%stride == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		i, found, err := o.find(d)
		if err != nil {
			return 0, fmt.Errorf("DocID %d: %w", d, err)
		}
		if found {
			docIDs[n], at[n] = d, uint32(i)
			n++
		}
	}
	return n, nil
}

// find returns the position of x. Calls since reset have ascending x.
func (o *operand) find(x uint32) (at int, found bool, err error) {
	switch {
	case o.form.code == uncompressed:
		docIDs := o.docIDs()
		at = o.position(docIDs, x)
		return at, at < len(docIDs) && docIDs[at] == x, nil
	case o.form.code < lrc:
		return o.findInBlock(x)
	case o.form.noH:
		return o.findElement(x)
	}
	at, docID, err := o.whole.Search(x)
	return at, docID == x && err == nil, err
}

// position returns the position of x, or where it would be, in an uncompressed list.
func (o *operand) position(docIDs []uint32, x uint32) int {
	lo, hi := 0, len(docIDs)
	switch o.form.search {
	case interpolation:
		return contraction.Interpolate(docIDs, x)
	case skip:
		o.at = skipTo(docIDs, o.at, x)
		return o.at
	case hs:
		lo, hi = o.ranges.buckets.Range(x)
	case lr:
		if o.ranges.local != nil {
			lo, hi = o.ranges.local.Range(x)
		} else {
			lo, hi = o.ranges.safe.Range(x)
		}
	}
	return contraction.Binary(docIDs, lo, hi, x)
}

// findInBlock decodes the block that can contain x, unless it is the latest one.
func (o *operand) findInBlock(x uint32) (at int, found bool, err error) {
	if block := o.block[:o.blockLen]; len(block) == 0 || x < block[0] || x > block[len(block)-1] {
		i := o.FindBlock(0, x)
		if i == o.NumBlocks() || o.First(i) > x {
			return 0, false, nil
		}
		o.blockFrom = i * codec.BlockLen
		if o.blockLen, err = o.DecodeBlock(i, &o.block); err != nil {
			o.blockLen = 0
			return 0, false, err
		}
	}
	block := o.block[:o.blockLen]
	i := contraction.Binary(block, 0, len(block), x)
	return o.blockFrom + i, i < len(block) && block[i] == x, nil
}

// findElement is Algorithm 1 without the list H: a binary search over the elements in the safe
// search range (§5.3).
func (o *operand) findElement(x uint32) (at int, found bool, err error) {
	lo, hi := o.ranges.safe.Range(x)
	for lo < hi {
		mid := (lo + hi) / 2
		d, err := o.whole.DocIDAt(mid)
		switch {
		case err != nil:
			return 0, false, err
		case d == x:
			return mid, true, nil
		case d < x:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return lo, false, nil
}
