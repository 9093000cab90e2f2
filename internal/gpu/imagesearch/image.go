package imagesearch

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/score"
)

// Image is a posting list in device memory, in the kernels' layout, valid while the memory is.
// The zero Image is no list.
type Image struct {
	shape Shape
	kind  kind
	data  cuda.Ptr[byte]
	unit  score.Bound // of shape
	term  termParams  // without the fields of the query
}

// NewImage returns the image at the start of data, as written by Build or Encode and aligned
// to 128 bytes. The error wraps base.ErrBadInput.
func NewImage(data cuda.Buffer[byte], shape Shape) (Image, error) {
	if err := shape.check(); err != nil {
		return Image{}, err
	}
	if int64(data.Len()) < shape.SizeBytes() || data.Ptr()%layoutUnit != 0 {
		return Image{}, fmt.Errorf("image: %d bytes at %#x for one of %d, aligned to %d: %w", data.Len(), data.Ptr(), shape.SizeBytes(), layoutUnit, base.ErrBadInput)
	}
	m := Image{shape: shape, kind: shape.kind(), data: data.Ptr(), unit: shape.unit()}
	m.term = m.params()
	return m, nil
}

// Shape returns the image's shape.
func (m *Image) Shape() Shape { return m.shape }

func (m *Image) params() termParams {
	parts := m.shape.layout()
	t := termParams{
		image: m.data, docFreq: uint32(m.shape.DocFreq), bucketShift: uint32(m.shape.bucketShift()),
		kind: uint32(m.kind), superMax: parts.superMax, rangeMax: parts.rangeMax, base: parts.base, bitmap: parts.bitmap, rank: parts.rank,
		starts: parts.starts, docIDs: parts.docIDs, sat: parts.sat, freq: parts.freq, escapes: parts.escapes,
		freqBytes: uint32(m.shape.freqBytes()),
	}
	t.satAt = m.data + cuda.Ptr[byte](parts.sat)*layoutUnit
	if m.kind == packed { // a byte of each posting
		t.satAt, t.satShift = m.data+cuda.Ptr[byte](parts.docIDs)*layoutUnit+1, 1
	}
	t.maxAt = m.data + cuda.Ptr[byte](parts.rangeMax)*layoutUnit
	if n := m.shape.escapes(); n > 0 {
		t.escapeMask = uint32(n - 1)
	}
	return t
}
