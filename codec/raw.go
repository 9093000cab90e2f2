package codec

import (
	"encoding/binary"
	"fmt"
)

// Raw stores each value in 4 bytes, little endian, with width 0. It is the oracle for the other
// codecs.
type Raw struct{}

var _ Codec = Raw{}

// Name returns "raw".
func (Raw) Name() string { return "raw" }

// AppendDocIDs implements Codec.
func (Raw) AppendDocIDs(dst []byte, _ uint32, docIDs []uint32) ([]byte, uint8) {
	return appendRaw(dst, docIDs), 0
}

// DecodeDocIDs implements Codec.
func (Raw) DecodeDocIDs(dst *[BlockLen]uint32, src []byte, base uint32, n int, width uint8) (int, error) {
	if err := decodeRaw(dst, src, n, width); err != nil {
		return 0, err
	}
	least := uint64(base + 1)
	for i, d := range dst[:n] {
		if uint64(d) < least || d == NoBase {
			return 0, fmt.Errorf("raw: DocID %d: %d is not above the previous one, or not a DocID: %w", i, d, ErrCorrupt)
		}
		least = uint64(d) + 1
	}
	return 4 * n, nil
}

// AppendFreqs implements Codec.
func (Raw) AppendFreqs(dst []byte, freqs []uint32) ([]byte, uint8) {
	return appendRaw(dst, freqs), 0
}

// DecodeFreqs implements Codec.
func (Raw) DecodeFreqs(dst *[BlockLen]uint32, src []byte, n int, width uint8) error {
	if err := decodeRaw(dst, src, n, width); err != nil {
		return err
	}
	for i, f := range dst[:n] {
		if f == 0 {
			return fmt.Errorf("raw: frequency %d is 0: %w", i, ErrCorrupt)
		}
	}
	return nil
}

// FreqAt implements Codec.
func (Raw) FreqAt(src []byte, i, n int, width uint8) (uint32, error) {
	if err := checkBlock("raw", len(src), 4*n, n, width, 0); err != nil {
		return 0, err
	}
	if i < 0 || i >= n {
		return 0, fmt.Errorf("raw: frequency %d of %d: %w", i, n, ErrCorrupt)
	}
	f := binary.LittleEndian.Uint32(src[4*i:])
	if f == 0 {
		return 0, fmt.Errorf("raw: frequency %d is 0: %w", i, ErrCorrupt)
	}
	return f, nil
}

func appendRaw(dst []byte, values []uint32) []byte {
	for _, v := range values {
		dst = binary.LittleEndian.AppendUint32(dst, v)
	}
	return dst
}

func decodeRaw(dst *[BlockLen]uint32, src []byte, n int, width uint8) error {
	if err := checkBlock("raw", len(src), 4*n, n, width, 0); err != nil {
		return err
	}
	for i := range n {
		dst[i] = binary.LittleEndian.Uint32(src[4*i:])
	}
	return nil
}

// checkBlock returns an error if n values of width bits, need bytes, cannot be read from
// have bytes, or width exceeds maxWidth.
func checkBlock(name string, have, need, n int, width, maxWidth uint8) error {
	switch {
	case width > maxWidth:
		return fmt.Errorf("%s: width %d, at most %d: %w", name, width, maxWidth, ErrCorrupt)
	case n < 1 || n > BlockLen:
		return fmt.Errorf("%s: block of %d values: %w", name, n, ErrCorrupt)
	case have < need:
		return fmt.Errorf("%s: %d values of width %d need %d bytes, there are %d: %w", name, n, width, need, have, ErrCorrupt)
	}
	return nil
}
