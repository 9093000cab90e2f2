package fastpath

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Image is a posting list in device memory, as the kernels read it. It is a plain
// value, valid while the memory is; the zero Image is no list.
type Image struct {
	shape Shape
	parts layout
	kind  kind
	data  cuda.Ptr[byte]
}

// NewImage returns the image of the given shape that Build or Encode makes and that
// lies at the start of data, aligned to 128 bytes. An error wraps base.ErrBadInput.
func NewImage(data cuda.Buffer[byte], shape Shape) (Image, error) {
	if err := shape.check(); err != nil {
		return Image{}, err
	}
	if int64(data.Len()) < shape.SizeBytes() || data.Ptr()%layoutUnit != 0 {
		return Image{}, fmt.Errorf("image: %d bytes at %#x for one of %d, aligned to %d: %w", data.Len(), data.Ptr(), shape.SizeBytes(), layoutUnit, base.ErrBadInput)
	}
	return Image{shape, shape.layout(), shape.kind(), data.Ptr()}, nil
}

// Shape returns the shape of the image.
func (m *Image) Shape() Shape { return m.shape }
