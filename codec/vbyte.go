package codec

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// VByte codes gaps minus one, and frequencies minus one, with 7 bits per byte, low bits first;
// the top bit is 1 in all bytes of a value but its last. The width is always 0.
//
// Worked bytes: DocIDs 5, 7, 308 after NoBase are the gaps minus one 5, 1, 300: 0x05, 0x01,
// 0xac 0x02 (tested).
//
// Scholer, Williams, Yiannis and Zobel, "Compression of inverted indexes for fast query
// evaluation", SIGIR 2002, §2. We differ: gaps and frequencies are stored minus one and in
// separate arrays.
type VByte struct{}

var _ Codec = VByte{}

const vbyteTops = 0x8080808080808080

// Name returns "vbyte".
func (VByte) Name() string { return "vbyte" }

// AppendDocIDs implements Codec.
func (VByte) AppendDocIDs(dst []byte, base uint32, docIDs []uint32) ([]byte, uint8) {
	before := base
	for _, d := range docIDs {
		dst = binary.AppendUvarint(dst, uint64(d-before-1))
		before = d
	}
	return dst, 0
}

// AppendFreqs implements Codec.
func (VByte) AppendFreqs(dst []byte, freqs []uint32) ([]byte, uint8) {
	for _, f := range freqs {
		dst = binary.AppendUvarint(dst, uint64(f-1))
	}
	return dst, 0
}

// DecodeDocIDs implements Codec.
func (VByte) DecodeDocIDs(dst *[BlockLen]uint32, src []byte, base uint32, n int, width uint8) (int, error) {
	size, err := decodeVBytes(dst, src, n, width)
	if err != nil {
		return 0, err
	}
	d := uint64(base + 1)
	for i, gap := range dst[:n] {
		d += uint64(gap)
		dst[i] = uint32(d)
		d++
	}
	if d > uint64(NoBase) { // the last was d-1; sums of 64 bits do not wrap
		return 0, fmt.Errorf("vbyte: DocIDs exceed 2^32: %w", ErrCorrupt)
	}
	return size, nil
}

// DecodeFreqs implements Codec.
func (VByte) DecodeFreqs(dst *[BlockLen]uint32, src []byte, n int, width uint8) error {
	if _, err := decodeVBytes(dst, src, n, width); err != nil {
		return err
	}
	for i := range dst[:n] {
		if dst[i]++; dst[i] == 0 {
			return fmt.Errorf("vbyte: frequency %d exceeds 2^32: %w", i, ErrCorrupt)
		}
	}
	return nil
}

// FreqAt implements Codec. It counts last bytes, eight bytes at a time.
func (VByte) FreqAt(src []byte, i, n int, width uint8) (uint32, error) {
	if err := checkBlock("vbyte", len(src), n, n, width, 0); err != nil {
		return 0, err
	}
	if uint(i) >= uint(n) {
		return 0, fmt.Errorf("vbyte: frequency %d of %d: %w", i, n, ErrCorrupt)
	}
	at := 0
	for i >= 8 && at+8 <= len(src) { // eight bytes hold at most eight ends
		i -= bits.OnesCount64(^binary.LittleEndian.Uint64(src[at:]) & vbyteTops)
		at += 8
	}
	for ; i > 0 && at < len(src); at++ {
		if src[at] < 0x80 {
			i--
		}
	}
	v, next := readVByte(src, at)
	if next < 0 || v == 1<<32-1 {
		return 0, fmt.Errorf("vbyte: a frequency is truncated, or exceeds 2^32: %w", ErrCorrupt)
	}
	return v + 1, nil
}

// decodeVBytes returns the bytes of the n values.
func decodeVBytes(dst *[BlockLen]uint32, src []byte, n int, width uint8) (int, error) {
	if err := checkBlock("vbyte", len(src), n, n, width, 0); err != nil {
		return 0, err
	}
	at := 0
	for i := 0; i < n; {
		if i+8 <= n && at+8 <= len(src) {
			if word := binary.LittleEndian.Uint64(src[at:]); word&vbyteTops == 0 {
				d := (*[8]uint32)(dst[i:])
				d[0], d[1], d[2], d[3] = uint32(word&0x7f), uint32(word>>8&0x7f), uint32(word>>16&0x7f), uint32(word>>24&0x7f)
				d[4], d[5], d[6], d[7] = uint32(word>>32&0x7f), uint32(word>>40&0x7f), uint32(word>>48&0x7f), uint32(word>>56)
				i, at = i+8, at+8
				continue
			}
		}
		v, next := readVByte(src, at)
		if next < 0 {
			return 0, fmt.Errorf("vbyte: value %d of %d is truncated, or exceeds 2^32: %w", i, n, ErrCorrupt)
		}
		dst[i] = v
		i, at = i+1, next
	}
	return at, nil
}

// readVByte returns the value at a byte of src and the start of the next, or -1 if src
// ends early or the value exceeds 32 bits.
func readVByte(src []byte, at int) (value uint32, next int) {
	v := uint64(0)
	for shift := 0; shift < 35; shift += 7 {
		if uint(at) >= uint(len(src)) {
			return 0, -1
		}
		b := src[at]
		at++
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if v > 1<<32-1 {
				return 0, -1
			}
			return uint32(v), at
		}
	}
	return 0, -1
}
