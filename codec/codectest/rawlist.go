package codectest

import (
	"encoding/binary"
	"fmt"

	"github.com/griffin-search/griffin/codec"
)

// RawList is the simplest codec.ListCodec, 4 bytes per DocID, for tests. It is not in the
// registry.
type RawList struct{ codec.Raw }

var _ codec.ListCodec = RawList{}

// Name returns "raw-list".
func (RawList) Name() string { return "raw-list" }

// AppendList implements codec.ListCodec.
func (RawList) AppendList(dst []byte, docIDs []uint32) []byte {
	for _, d := range docIDs {
		dst = binary.LittleEndian.AppendUint32(dst, d)
	}
	return dst
}

// ListSize implements codec.ListCodec.
func (RawList) ListSize(list []byte, n int) (int, error) {
	if n < 1 || n > len(list)/4 {
		return 0, fmt.Errorf("raw-list: %d DocIDs in %d bytes: %w", n, len(list), codec.ErrCorrupt)
	}
	return 4 * n, nil
}

// DecodeBlock implements codec.ListCodec.
func (c RawList) DecodeBlock(dst *[codec.BlockLen]uint32, list []byte, n, i int) (int, error) {
	if _, err := c.ListSize(list, n); err != nil {
		return 0, err
	}
	if i < 0 || i > (n-1)/codec.BlockLen {
		return 0, fmt.Errorf("raw-list: block %d of %d DocIDs: %w", i, n, codec.ErrCorrupt)
	}
	from := i * codec.BlockLen
	size := min(codec.BlockLen, n-from)
	return size, decodeRising(dst[:size], list[4*from:])
}

// DecodeList implements codec.ListCodec.
func (c RawList) DecodeList(dst []uint32, list []byte) error {
	if _, err := c.ListSize(list, len(dst)); err != nil {
		return err
	}
	return decodeRising(dst, list)
}

func decodeRising(dst []uint32, src []byte) error {
	for i := range dst {
		dst[i] = binary.LittleEndian.Uint32(src[4*i:])
		if dst[i] == codec.NoBase || i > 0 && dst[i] <= dst[i-1] {
			return fmt.Errorf("raw-list: DocID %d is %d: %w", i, dst[i], codec.ErrCorrupt)
		}
	}
	return nil
}

// DocIDAt implements codec.ListCodec.
func (c RawList) DocIDAt(list []byte, n, i int) (uint32, error) {
	if _, err := c.ListSize(list, n); err != nil {
		return 0, err
	}
	if i < 0 || i >= n {
		return 0, fmt.Errorf("raw-list: DocID %d of %d: %w", i, n, codec.ErrCorrupt)
	}
	return binary.LittleEndian.Uint32(list[4*i:]), nil
}
