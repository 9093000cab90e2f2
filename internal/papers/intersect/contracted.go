package intersect

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/contraction"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// View is an uncompressed list for kernels: ListView of device/list_search.cuh.
type View struct {
	docIDs      cuda.Ptr[uint32]
	table       cuda.Ptr[uint32]
	intercept   int64
	numPostings uint32
	left, right int32
	shift       uint32
	numBuckets  uint32
	isBitmap    uint32
	inverse     float32
	_           [3]uint32
}

// Len returns the number of DocIDs.
func (v View) Len() int { return int(v.numPostings) }

// Words returns the View as in device memory.
func (v View) Words() [8]uint64 {
	return [8]uint64{
		uint64(v.docIDs), uint64(v.table), uint64(v.intercept),
		uint64(v.numPostings) | uint64(uint32(v.left))<<32,
		uint64(uint32(v.right)) | uint64(v.shift)<<32,
		uint64(v.numBuckets) | uint64(v.isBitmap)<<32,
		uint64(math.Float32bits(v.inverse)),
	}
}

// Contraction selects the data stored with a list to narrow searches.
type Contraction struct {
	// Line stores a line and the safe search range around it, for
	// LinearRegression.
	Line bool
	// Maximum mean number of DocIDs per hash bucket, for HashSegmentation: 16 and
	// 32 in Ao et al. (HS16, HS32). 0: no buckets.
	BucketSize int
	// Minimum share of the universe for which a list gets a bitmap with ranks
	// instead of buckets: 8 bytes per 32 DocIDs, their bits and the number of
	// earlier DocIDs, so one access finds a DocID and its index. 0: no bitmaps.
	// (Ours: hash segmentation whose buckets are bit sets.)
	BitmapShare float64
	// Greater than the last DocID; required for buckets and bitmaps.
	Universe int
}

// DefaultContraction is the fastest search of Ao et al. §6.3, HS16, with
// bitmaps for lists with at least every 64th of numDocs documents: at most 4
// times the bytes of the DocIDs.
func DefaultContraction(numDocs int) Contraction {
	return Contraction{BucketSize: 16, BitmapShare: 1.0 / 64, Universe: numDocs}
}

// Contracted is an uncompressed list in device memory with its contraction. The
// creator frees it.
type Contracted struct {
	DocIDs cuda.Buffer[uint32] // [n], strictly ascending
	table  cuda.Buffer[uint32]
	view   View
}

// NewContracted copies a list to the device, with the data requested by c, and
// waits. docIDs are strictly ascending and below base.NoDocID and c.Universe.
func NewContracted(s *cuda.Stream, d *cuda.Device, docIDs []uint32, c Contraction) (*Contracted, error) {
	l := &Contracted{view: View{numPostings: uint32(len(docIDs))}}
	if len(docIDs) == 0 {
		return l, nil
	}
	if (c.BucketSize > 0 || c.BitmapShare > 0) && uint64(docIDs[len(docIDs)-1]) >= uint64(c.Universe) {
		return nil, fmt.Errorf("intersect.NewContracted: DocID %d of %d documents: %w", docIDs[len(docIDs)-1], c.Universe, base.ErrBadInput)
	}
	if c.Line {
		l.setLine(docIDs)
	}
	var err error
	if l.DocIDs, err = uploaded(s, d, docIDs); err == nil {
		l.view.docIDs = l.DocIDs.Ptr()
		if table := l.tableOf(docIDs, c); table != nil {
			if l.table, err = uploaded(s, d, table); err == nil {
				l.view.table = l.table.Ptr()
			}
		}
	}
	if err = errors.Join(err, s.Synchronize()); err != nil {
		return nil, errors.Join(fmt.Errorf("intersect.NewContracted: list of %d: %w", len(docIDs), err), l.Free())
	}
	return l, nil
}

// noRange as a deviation means that the safe range is the whole list.
const noRange = 1<<31 - 1

// setLine sets the list's safe search range.
func (l *Contracted) setLine(docIDs []uint32) {
	safe := contraction.NewSafeRange(docIDs)
	if max(safe.Left, safe.Right, -safe.Left, -safe.Right) >= noRange {
		safe.Left, safe.Right = noRange, noRange
	}
	l.view.intercept = safe.Intercept
	l.view.inverse = 0x1p32 / float32(safe.Slope)
	l.view.left, l.view.right = int32(safe.Left), int32(safe.Right)
}

// tableOf returns the buckets or the bitmap, and sets their fields of the view.
func (l *Contracted) tableOf(docIDs []uint32, c Contraction) []uint32 {
	v := &l.view
	if c.BitmapShare > 0 && float64(len(docIDs)) >= c.BitmapShare*float64(c.Universe) {
		v.shift, v.isBitmap = bitmapShift, 1
		bitmap := bitmapOf(docIDs)
		v.numBuckets = uint32(len(bitmap) / 2)
		return bitmap
	}
	if c.BucketSize <= 0 {
		return nil
	}
	b := contraction.NewBuckets(docIDs, uint64(c.Universe), c.BucketSize)
	v.shift, v.numBuckets = uint32(b.Shift), uint32(len(b.Starts)-1)
	return b.Starts
}

const bitmapShift = 5

// bitmapOf returns, for each 32 DocIDs, their bits and the number of DocIDs
// before them.
func bitmapOf(docIDs []uint32) []uint32 {
	words := make([]uint32, 2*(docIDs[len(docIDs)-1]>>bitmapShift+1))
	for _, d := range docIDs {
		words[2*(d>>bitmapShift)] |= 1 << (d & 31)
	}
	before := uint32(0)
	for i := 1; i < len(words); i += 2 {
		words[i] = before
		before += uint32(bits.OnesCount32(words[i-1]))
	}
	return words
}

// uploaded returns a copy of data in device memory; the copy is only enqueued on s.
func uploaded(s *cuda.Stream, d *cuda.Device, data []uint32) (cuda.Buffer[uint32], error) {
	b, err := cuda.Alloc[uint32](d, len(data))
	if err == nil {
		err = cuda.CopyToDevice(s, b, data)
	}
	return b, err
}

// View returns the list for a kernel, valid until Free.
func (l *Contracted) View() View { return l.view }

// Len returns the number of DocIDs.
func (l *Contracted) Len() int { return l.view.Len() }

// SizeBytes includes the contraction.
func (l *Contracted) SizeBytes() int64 { return l.DocIDs.SizeBytes() + l.table.SizeBytes() }

// Free frees the memory, which must not be in use.
func (l *Contracted) Free() error {
	err := errors.Join(l.DocIDs.Free(), l.table.Free())
	*l = Contracted{}
	return err
}
