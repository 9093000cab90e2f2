package codec

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/simd/bitpack"
	"github.com/griffin-search/griffin/internal/simd/eliasfano"
)

// EF is the Elias-Fano code with partitions of equal length, the blocks. DocID i of a block is
// encoded as the number of DocIDs skipped between base and it, v[i] = DocID - base - 1 - i,
// which never decreases. For n such values below U, the low b = floor(log2(U/n)) bits are
// stored. The rest is unary: its increase as zero bits, then a one bit.
//
//	bit 0         b         2b             n*b
//	 +------------+----------+---    ---+---+--------------------------+---------+
//	 | v[0] mod b | v[1]     |    ...   |   | 0…01 0…01 1 …  n ones    | 0 to 7  |
//	 +------------+----------+---    ---+---+--------------------------+---------+
//	                                                                    zero bits
//
// The width byte is b + 1, or 0 if no DocID is skipped; the block then has no bytes.
//
// Plain is the code of the paper itself, v[i] = DocID - base - 1: about one bit more per DocID in
// dense blocks. The width byte is then 0 only for one DocID after base.
//
// Worked bytes (Figure 4 of the paper): DocIDs 5, 7, 10, 18, 22, 38 after NoBase are v = 5, 6,
// 8, 15, 18, 33, so U = 34, b = 2: low bits 01 10 00 11 10 01, high parts 1, 1, 2, 3, 4, 8 as
// 01 1 01 01 01 00001: 0xc9, 0x66, 0x15, 0x02 (tested).
//
// Liu, Wang and Swanson, "Griffin: Uniting CPU and GPU in Information Retrieval Systems for
// Intra-Query Parallelism", PPoPP 2018, §3.1.1; Vigna, "Quasi-succinct indices", WSDM 2013;
// Ottaviano and Venturini, SIGIR 2014 (see PEF). We differ: DocIDs increase strictly, so i is
// subtracted unless Plain, which saves up to one bit per DocID in dense blocks: with b = 0 the code
// is the block's bitmap. U is the block's bound, not the list's.
type EF struct {
	// Plain does not subtract the index of a DocID in its block, as in the paper.
	Plain bool
}

var _ Codec = EF{}

func newEF(p *params) Codec { return EF{Plain: p.int("plain", 0, 0, 1) == 1} }

// Name returns "ef" or "ef:plain=1".
func (c EF) Name() string {
	if c.Plain {
		return spec("ef", "plain=1")
	}
	return "ef"
}

// AppendDocIDs implements Codec.
func (c EF) AppendDocIDs(dst []byte, base uint32, docIDs []uint32) ([]byte, uint8) {
	var left [BlockLen]uint32
	for i, d := range docIDs {
		left[i] = d - base - 1 - c.skipped(i)
	}
	n := len(docIDs)
	last := left[n-1]
	if last == 0 {
		return dst, 0
	}
	width := lowWidth(uint64(last)+1, n)
	return appendEF(dst, left[:n], width), width + 1
}

// skipped is the part of DocID i that is not stored.
func (c EF) skipped(i int) uint32 {
	if c.Plain {
		return 0
	}
	return uint32(i)
}

// efBits returns the bits of n values that never decrease, of which last is the last,
// with width low bits each.
func efBits(n int, last uint32, width uint8) int { return n*int(width) + n + int(last>>width) }

// appendEF encodes values, which must not decrease.
func appendEF(dst []byte, values []uint32, width uint8) []byte {
	w := bitWriter{dst: dst}
	for _, v := range values {
		w.put(uint64(v)&(1<<width-1), uint(width))
	}
	before := uint32(0)
	for _, v := range values {
		w.zeros(uint64(v>>width - before))
		before = v >> width
	}
	return w.finish()
}

// maxEFWidth returns the greatest valid width byte of a block of n DocIDs.
func maxEFWidth(n int) uint8 {
	if uint(n-1) >= BlockLen {
		return 0 // checkBlock rejects n
	}
	return lowWidth(1<<32-1, n) + 1
}

// DecodeDocIDs implements Codec.
func (c EF) DecodeDocIDs(dst *[BlockLen]uint32, src []byte, base uint32, n int, width uint8) (int, error) {
	if c.Plain || n != BlockLen || width-1 > eliasfano.MaxWidth {
		return c.decodeAny(dst, src, base, n, width)
	}
	low := width - 1
	var end int
	if len(src) >= eliasfano.Space(low) {
		end = eliasfano.DocIDs(dst, src, base, low)
	} else {
		end = lastEFDocIDs(dst, src, base, low)
	}
	size, err := sizeOf("ef", src, BlockLen, low, end)
	if err == nil && dst[BlockLen-1] == NoBase {
		return 0, fmt.Errorf("ef: DocIDs exceed 2^32: %w", ErrCorrupt)
	}
	return size, err
}

// lastEFDocIDs decodes a full block near the end of src, where the kernel may not read
// ahead.
func lastEFDocIDs(dst *[BlockLen]uint32, src []byte, base uint32, low uint8) int {
	var p padded
	copy(p[:], src)
	return eliasfano.DocIDs(dst, p[:], base, low)
}

// decodeAny decodes any block, and rejects invalid widths.
func (c EF) decodeAny(dst *[BlockLen]uint32, src []byte, base uint32, n int, width uint8) (int, error) {
	if width == 0 && uint(n-1) < BlockLen && (n == 1 || !c.Plain) {
		if uint64(base+1)+uint64(n) > uint64(NoBase) {
			return 0, fmt.Errorf("ef: DocIDs exceed 2^32: %w", ErrCorrupt)
		}
		for i := range dst {
			dst[i] = base + 1 + uint32(i)
		}
		return 0, nil
	}
	low := width - 1
	if err := checkSlots("ef", src, n, low, maxEFWidth(n)-1); err != nil {
		return 0, err
	}
	u := unaryOf(src, n*int(low), n, 0)
	size, err := sizeOf("ef", src, n, low, u.find(dst, n))
	if err != nil {
		return 0, err
	}
	least := uint64(base + 1)
	for i, high := range dst[:n] {
		d := uint64(base+1) + uint64(c.skipped(i)) + (uint64(high)<<low | uint64(bitpack.At(src, i, low)))
		if d < least || d >= uint64(NoBase) {
			return 0, fmt.Errorf("ef: DocID %d does not increase, or exceeds 2^32: %w", i, ErrCorrupt)
		}
		dst[i] = uint32(d)
		least = d + 1
	}
	return size, nil
}

// DocIDAt returns DocID i of a block without decoding the others; their order is not checked.
// Other arguments are as for DecodeDocIDs.
func (c EF) DocIDAt(src []byte, base uint32, i, n int, width uint8) (uint32, error) {
	if uint(n-1) >= BlockLen || uint(i) >= uint(n) {
		return 0, fmt.Errorf("ef: DocID %d of %d: %w", i, n, ErrCorrupt)
	}
	var left uint64
	if width > 0 || c.Plain && n > 1 {
		low := width - 1
		if err := checkSlots("ef", src, n, low, maxEFWidth(n)-1); err != nil {
			return 0, err
		}
		u := unaryOf(src, n*int(low), n, 0)
		bit := u.end(i)
		if bit < 0 {
			return 0, fmt.Errorf("ef: DocID %d of %d lies outside its block: %w", i, n, ErrCorrupt)
		}
		left = uint64(bit-i)<<low | uint64(bitpack.At(src, i, low))
	}
	d := uint64(base+1) + uint64(c.skipped(i)) + left
	if d >= uint64(NoBase) {
		return 0, fmt.Errorf("ef: DocID %d exceeds 2^32: %w", i, ErrCorrupt)
	}
	return uint32(d), nil
}
