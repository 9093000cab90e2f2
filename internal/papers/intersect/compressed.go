package intersect

import (
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// CompressedView is a list of a Regression codec for kernels: RegressionList of
// device/regression.cuh.
type CompressedView struct {
	words       cuda.Ptr[uint32]
	numPostings uint32
	numWords    uint32
	scheme      codec.Scheme // only for the host
}

// Len returns the number of DocIDs.
func (v CompressedView) Len() int { return int(v.numPostings) }

// Suits reports whether a is the search for the list's codec.
func (v CompressedView) Suits(a Search) bool { return v.numPostings == 0 || a == SearchOf(v.scheme) }

// Words returns the view as in device memory.
func (v CompressedView) Words() [2]uint64 {
	return [2]uint64{uint64(v.words), uint64(v.numPostings) | uint64(v.numWords)<<32}
}

// Compressed is a list in device memory: the bytes of
// codec.Regression.AppendList. The creator frees it.
type Compressed struct {
	Scheme codec.Scheme
	Words  cuda.Buffer[uint32] // padded to whole words
	view   CompressedView
}

// NewCompressed copies the encoding of n DocIDs to the device and waits.
// Kernels trust the bytes, so it first decodes the list on the host; for
// invalid bytes the error wraps codec.ErrCorrupt.
func NewCompressed(s *cuda.Stream, d *cuda.Device, c codec.Regression, list []byte, n int) (*Compressed, error) {
	if n < 0 || n > MaxElements {
		return nil, fmt.Errorf("intersect.NewCompressed: list of %d: %w", n, base.ErrBadInput)
	}
	l := &Compressed{Scheme: c.Scheme, view: CompressedView{numPostings: uint32(n), scheme: c.Scheme}}
	if n == 0 {
		return l, nil
	}
	size, err := c.ListSize(list, n)
	if err == nil {
		err = c.DecodeList(make([]uint32, n), list[:size])
	}
	if err != nil {
		return nil, fmt.Errorf("intersect.NewCompressed: %w", err)
	}
	words := make([]uint32, (size+3)/4)
	for i, b := range list[:size] {
		words[i/4] |= uint32(b) << (i % 4 * 8)
	}
	l.Words, err = uploaded(s, d, words)
	if err = errors.Join(err, s.Synchronize()); err != nil {
		return nil, errors.Join(fmt.Errorf("intersect.NewCompressed: %w", err), l.Free())
	}
	l.view.words, l.view.numWords = l.Words.Ptr(), uint32(len(words))
	return l, nil
}

// View returns the list for a kernel, valid until Free.
func (l *Compressed) View() CompressedView { return l.view }

// Len returns the number of DocIDs.
func (l *Compressed) Len() int { return l.view.Len() }

// SizeBytes returns the device memory of the list.
func (l *Compressed) SizeBytes() int64 { return l.Words.SizeBytes() }

// Free frees the memory, which must not be in use.
func (l *Compressed) Free() error {
	err := l.Words.Free()
	*l = Compressed{}
	return err
}
