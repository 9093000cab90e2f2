package codec

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/griffin-search/griffin/internal/simd/bitpack"
)

// PForDeltaRec is PForDelta for whole lists, with one b for all gaps, so that any slot can be
// located directly. The exceptions' upper bits and offsets are in two arrays, compressed
// recursively (see pfordelta_array.go). Sums restart at each block of 512 postings, which
// stores the DocID before it. A list is
//
//	 1   1       1           1       4            8 for each block but the first
//	+---+-------+-----------+-------+------------+-------------------------+----
//	| b | depth | block/128 | sizes | exceptions | DocID before, starts    | ...
//	+---+-------+-----------+-------+------------+-------------------------+----
//
//	----+--------------------+----------+---------+
//	... | slots: gaps less 1 | offsets  | uppers  |
//	----+--------------------+----------+---------+
//
// in little-endian numbers, otherwise as in pfordelta_array.go: starts is the number of
// exceptions before the block, and sizes is 0 unless depth is 0. Blocks of postings (short lists, and frequencies minus one) are arrays of
// one block whose first byte is the width byte. FreqAt reads a slot and walks over the offsets
// of the exceptions before it (§8.2).
//
// Worked bytes: frequencies 2, 1, 6, 2 with exceptions=0.25 and depth=0 have b=1 and the
// exception 5 = 2<<1 | 1 at 2: 1 exception, sizes 0, slots 0x0d, offset 2 and upper 2-1: 01 00
// 0d 02 01 (tested).
//
// Ding, He, Yan and Suel, "Using graphics processors for high performance IR query processing",
// WWW 2009, §6.2. We differ: offsets restart in each block, and the number of earlier
// exceptions is stored, so that a block or a DocID is decoded alone; the paper always decodes
// "the complete arrays for the exceptions" (§8.1). The innermost arrays have 1, 2 or 4 bytes
// per number; the paper does not specify this.
type PForDeltaRec struct {
	// Exceptions is the maximum share in each array. The default is the paper's 0.1 (§2). For
	// lists, SmallestSize means the default.
	Exceptions Share
	// Depth is the number of recursive compressions, up to 4. The default is the paper's 1;
	// NoRecursion means 0.
	Depth int
	// Block is the number of postings with their own sums, a multiple of BlockLen up to 4096.
	// The default is the paper's 512. Decoding BlockLen postings also decodes those before them
	// in their Block.
	Block int
}

// NoRecursion is a PForDeltaRec.Depth of 0.
const NoRecursion = -1

var _ ListCodec = PForDeltaRec{}

const (
	recName     = "pfordelta-rec"
	recDepth    = 1
	recBlock    = 512
	recMaxBlock = 4096
	recHeader   = 8
	recEntry    = 8 // of a block: the DocID and the number of exceptions before it
)

const recParams = "block=512 (postings with sums of their own, a multiple of 128 to 4096), " +
	"depth=1 (how often exceptions are compressed again, 0 to 4), exceptions=0.1 (share of values that may not fit, 0 to 1)"

func newPForDeltaRec(p *params) Codec {
	c := PForDeltaRec{Depth: p.int("depth", recDepth, 0, maxDepth), Block: p.int("block", recBlock, BlockLen, recMaxBlock)}
	if c.Block%BlockLen != 0 {
		p.errs = append(p.errs, fmt.Errorf("parameter block=%d: want a multiple of %d: %w", c.Block, BlockLen, ErrUnknown))
	}
	if c.Block == recBlock {
		c.Block = 0
	}
	switch c.Depth {
	case 0:
		c.Depth = NoRecursion
	case recDepth:
		c.Depth = 0
	}
	if c.Exceptions = p.share(paperShare, 1); c.Exceptions == SmallestSize {
		p.errs = append(p.errs, fmt.Errorf("parameter %s=%s: want a number in 0..1: %w", shareKey, bestShare, ErrUnknown))
	}
	return c
}

// Name returns "pfordelta-rec", with all non-default parameters.
func (c PForDeltaRec) Name() string {
	return spec(recName, given("block", c.options().block, recBlock), given("depth", c.depth(), recDepth), c.options().share.pair(paperShare, 1))
}

func (c PForDeltaRec) depth() int {
	if c.Depth == 0 {
		return recDepth
	}
	return min(max(c.Depth, 0), maxDepth)
}

func (c PForDeltaRec) options() recOptions {
	o := recOptions{share: c.Exceptions.or(paperShare, 1), block: cmp.Or(c.Block, recBlock)}
	if o.share == SmallestSize {
		o.share = paperShare
	}
	o.block = min(max(o.block/BlockLen*BlockLen, BlockLen), recMaxBlock)
	return o
}

// AppendDocIDs implements Codec.
func (c PForDeltaRec) AppendDocIDs(dst []byte, base uint32, docIDs []uint32) ([]byte, uint8) {
	var gaps [BlockLen]uint32
	gapsLessOne(gaps[:], base, docIDs)
	return c.options().append(dst, gaps[:len(docIDs)], c.depth())
}

// AppendFreqs implements Codec.
func (c PForDeltaRec) AppendFreqs(dst []byte, freqs []uint32) ([]byte, uint8) {
	var less [BlockLen]uint32
	lessOne(less[:], freqs)
	return c.options().append(dst, less[:len(freqs)], c.depth())
}

func (c PForDeltaRec) parseBlock(a *recArray, src []byte, n int, width uint8) (int, error) {
	if uint(n-1) >= BlockLen {
		return 0, checkBlock(recName, len(src), 0, n, 0, 0)
	}
	return a.parse(src, n, width, c.depth(), recMaxBlock, false)
}

// DecodeDocIDs implements Codec.
func (c PForDeltaRec) DecodeDocIDs(dst *[BlockLen]uint32, src []byte, base uint32, n int, width uint8) (int, error) {
	var a recArray
	size, err := c.parseBlock(&a, src, n, width)
	if err != nil {
		return 0, err
	}
	var w walks
	r := recExceptions{number: 1}
	if err := r.seek(&a, 0); err != nil {
		return 0, err
	}
	_, err = a.docIDs(dst, &r, &w, 0, n, base)
	return size, err
}

// DecodeFreqs implements Codec.
func (c PForDeltaRec) DecodeFreqs(dst *[BlockLen]uint32, src []byte, n int, width uint8) error {
	var a recArray
	if _, err := c.parseBlock(&a, src, n, width); err != nil {
		return err
	}
	var w walks
	if err := a.chunk(dst, 0, 1, &w, 1); err != nil {
		return err
	}
	if a.exceptions == 0 && a.b < maxWidth {
		return nil
	}
	for i, f := range dst[:n] { // 2^32-1 represents a frequency of 2^32
		if f == 0 {
			return freqTooLarge(recName, i)
		}
	}
	return nil
}

// FreqAt implements Codec.
func (c PForDeltaRec) FreqAt(src []byte, i, n int, width uint8) (uint32, error) {
	var a recArray
	if _, err := c.parseBlock(&a, src, n, width); err != nil {
		return 0, err
	}
	if uint(i) >= uint(n) {
		return 0, noSuchFreq(recName, i, n)
	}
	var w walks
	r := recExceptions{number: 1}
	if err := r.seek(&a, 0); err != nil {
		return 0, err
	}
	over, err := r.at(i, &w)
	if err != nil {
		return 0, err
	}
	f := bitpack.At(a.slots, i, a.b) + over + 1
	if f == 0 {
		return 0, freqTooLarge(recName, i)
	}
	return f, nil
}

// AppendList implements ListCodec.
func (c PForDeltaRec) AppendList(dst []byte, docIDs []uint32) []byte {
	gaps := make([]uint32, len(docIDs))
	gapsLessOne(gaps, NoBase, docIDs)
	o, depth := c.options(), c.depth()
	s := o.split(gaps, nil, nil)
	sizes := uint8(0)
	if depth == 0 && len(s.offsets) > 0 {
		sizes = s.sizes()
	}
	dst = append(dst, s.b, uint8(depth), uint8(o.block/BlockLen), sizes)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s.offsets)))
	for i, start := range s.starts {
		dst = binary.LittleEndian.AppendUint32(dst, docIDs[(i+1)*o.block-1])
		dst = binary.LittleEndian.AppendUint32(dst, start)
	}
	dst = bitpack.Append(dst, gaps, s.b)
	if len(s.offsets) == 0 {
		return dst
	}
	return o.appendExceptions(dst, &s, depth)
}

type recList struct {
	recArray
	entries []byte // of all blocks but the first
}

func (l *recList) parse(list []byte, n int) (int, error) {
	if n < 1 || uint64(n) > uint64(NoBase) || len(list) < recHeader {
		return 0, errArray("list of %d DocIDs in %d bytes", n, len(list))
	}
	l.recArray = recArray{
		n: n, b: list[0], depth: int(list[1]), block: int(list[2]) * BlockLen, sizes: list[3],
		exceptions: int(binary.LittleEndian.Uint32(list[4:])), stride: recEntry,
	}
	if l.b > maxWidth || l.depth > maxDepth || l.block < BlockLen || l.block > recMaxBlock ||
		l.exceptions > n || l.sizes != 0 && (l.depth > 0 || l.exceptions == 0) {
		return 0, errArray("list header % x", list[:recHeader])
	}
	entries := (l.blocks() - 1) * recEntry
	if len(list)-recHeader < entries {
		return 0, errArray("%d blocks in %d bytes", l.blocks(), len(list))
	}
	l.entries = list[recHeader : recHeader+entries]
	if entries > 0 {
		l.starts = l.entries[recEntry/2:]
	}
	size, err := l.parseBody(list[recHeader+entries:])
	return recHeader + entries + size, err
}

// base returns the DocID before a block.
func (l *recList) base(block int) uint32 {
	if block == 0 {
		return NoBase
	}
	return binary.LittleEndian.Uint32(l.entries[(block-1)*recEntry:])
}

// docIDs decodes gaps from c*BlockLen on, at most BlockLen and at most most, to DocIDs
// after base, and returns their number. r is positioned in their block; ws holds its
// walks.
func (a *recArray) docIDs(dst *[BlockLen]uint32, r *recExceptions, ws *walks, c, most int, base uint32) (int, error) {
	n := a.unpack(dst, c, most, 0)
	sum, err := r.apply(dst, c*BlockLen%a.block, n, ws)
	if err != nil {
		return 0, err
	}
	bitpack.PrefixSum(dst, base)
	return n, checkSums(recName, dst[:n], base, uint64(n)<<a.b+sum+uint64(n) < 1<<32)
}

// ListSize implements ListCodec.
func (PForDeltaRec) ListSize(list []byte, n int) (int, error) {
	var l recList
	return l.parse(list, n)
}

// decodeTo decodes DocIDs of block i, at most as its last argument allows, and returns their number.
func (l *recList) decodeTo(dst *[BlockLen]uint32, i, most int) (n int, err error) {
	block := i * BlockLen / l.block
	base := l.base(block)
	var w walks
	r := recExceptions{number: 1}
	if err := r.seek(&l.recArray, block); err != nil {
		return 0, err
	}
	for c := block * l.block / BlockLen; c < i; c++ {
		if _, err := l.docIDs(dst, &r, &w, c, BlockLen, base); err != nil {
			return 0, err
		}
		base = dst[BlockLen-1]
	}
	return l.docIDs(dst, &r, &w, i, most, base)
}

// DecodeBlock implements ListCodec. It reads only the Block postings around block i, up to
// its end.
func (PForDeltaRec) DecodeBlock(dst *[BlockLen]uint32, list []byte, n, i int) (int, error) {
	var l recList
	if _, err := l.parse(list, n); err != nil {
		return 0, err
	}
	if i < 0 || i > (n-1)/BlockLen {
		return 0, errArray("block %d of a list of %d", i, n)
	}
	return l.decodeTo(dst, i, BlockLen)
}

// DecodeList implements ListCodec.
func (PForDeltaRec) DecodeList(dst []uint32, list []byte) error {
	var l recList
	if _, err := l.parse(list, len(dst)); err != nil {
		return err
	}
	var w walks
	r := recExceptions{number: 1}
	var part [BlockLen]uint32
	base := NoBase
	for i := 0; i < len(dst); i += BlockLen {
		if i%l.block == 0 {
			block := i / l.block
			if l.base(block) != base {
				return errArray("DocID %d before block %d, which is %d", l.base(block), block, base)
			}
			if err := r.seek(&l.recArray, block); err != nil {
				return err
			}
		}
		out := &part
		if len(dst)-i >= BlockLen {
			out = (*[BlockLen]uint32)(dst[i:])
		}
		n, err := l.docIDs(out, &r, &w, i/BlockLen, BlockLen, base)
		if err != nil {
			return err
		}
		if n < BlockLen {
			copy(dst[i:], part[:n])
		}
		base = out[n-1]
	}
	return nil
}

// DocIDAt implements ListCodec.
func (PForDeltaRec) DocIDAt(list []byte, n, i int) (uint32, error) {
	var l recList
	if _, err := l.parse(list, n); err != nil {
		return 0, err
	}
	if i < 0 || i >= n {
		return 0, errArray("DocID %d of a list of %d", i, n)
	}
	var dst [BlockLen]uint32
	_, err := l.decodeTo(&dst, i/BlockLen, i%BlockLen+1)
	return dst[i%BlockLen], err
}
