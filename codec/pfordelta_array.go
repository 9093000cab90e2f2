package codec

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/griffin-search/griffin/internal/simd/bitpack"
)

// This file is the array that pfordelta-rec is made of: values with their lower b
// bits in slots, one b for all of them, and for what does not fit two more arrays,
// of the offsets and of the upper bits of the exceptions, which are such arrays
// again, down to a depth:
//
//	+---------+-------------+--------+---------+---------+----------+---------+
//	| b, 64   | exceptions  | sizes  | starts  | slots   | offsets  | uppers  |
//	+---------+-------------+--------+---------+---------+----------+---------+
//	          | only with   | only at                    |  only with         |
//	          | exceptions  | depth 0                    |  exceptions        |
//
// The first byte is b, and 64 more with exceptions. Their number is a varint. Values
// are cut into blocks: starts holds for each block but the first how many exceptions
// are in those before, in 4 bytes, little endian; an offset is the distance of an
// exception to the one before in its block, less one, the first counting from -1. So
// what any block needs is found without decoding the rest. Upper bits are never 0
// and kept less one. At depth 0, offsets and uppers are whole numbers of 1, 2 or 4
// bytes, and sizes is a byte with the logarithms of both sizes: that of the offsets
// times 4.
//
// Ding, He, Yan and Suel, "Using graphics processors for high performance IR query
// processing", WWW 2009, §6.2. We differ: see PForDeltaRec.

// maxDepth is the greatest depth; Ding et al. (Figure 3) measure up to 4.
const maxDepth = 4

// recOptions are what an array is encoded with.
type recOptions struct {
	share Share // of the values of each array that may be exceptions
	block int   // values of a block
}

// recSplit is an array taken apart.
type recSplit struct {
	b                       uint8
	starts, offsets, uppers []uint32
}

// split takes an array apart, in place: values become slots. offsets and uppers are
// memory to append to.
func (o recOptions) split(values, offsets, uppers []uint32) (s recSplit) {
	counts := countWidths(values)
	s = recSplit{b: counts.widthFor(o.share.limit(len(values))), offsets: offsets, uppers: uppers}
	last := -1
	for i, v := range values {
		if i%o.block == 0 {
			last = i - 1
			if i > 0 {
				s.starts = append(s.starts, uint32(len(s.offsets)))
			}
		}
		if over := v >> s.b; over > 0 {
			s.offsets, s.uppers = append(s.offsets, uint32(i-last-1)), append(s.uppers, over-1)
			values[i] &= 1<<s.b - 1
			last = i
		}
	}
	return s
}

// append appends an array but for its first byte, which it returns. It changes
// values.
func (o recOptions) append(dst []byte, values []uint32, depth int) ([]byte, uint8) {
	var offsets, uppers [BlockLen]uint32
	s := o.split(values, offsets[:0], uppers[:0])
	if len(s.offsets) == 0 {
		return bitpack.Append(dst, values, s.b), s.b
	}
	dst = binary.AppendUvarint(dst, uint64(len(s.offsets)))
	if depth == 0 {
		dst = append(dst, s.sizes())
	}
	for _, start := range s.starts {
		dst = binary.LittleEndian.AppendUint32(dst, start)
	}
	dst = bitpack.Append(dst, values, s.b)
	return o.appendExceptions(dst, &s, depth), s.b | exceptionBit
}

// appendExceptions appends the arrays of offsets and uppers.
func (o recOptions) appendExceptions(dst []byte, s *recSplit, depth int) []byte {
	for _, values := range [][]uint32{s.offsets, s.uppers} {
		if depth == 0 {
			dst = appendWhole(dst, values, bytesFor(largest(values)))
			continue
		}
		at := len(dst)
		out, width := o.append(append(dst, 0), values, depth-1)
		out[at] = width
		dst = out
	}
	return dst
}

// sizes is the byte of that name.
func (s *recSplit) sizes() uint8 {
	log := func(values []uint32) uint8 { return uint8(bits.TrailingZeros(uint(bytesFor(largest(values))))) }
	return log(s.offsets)<<2 | log(s.uppers)
}

func largest(values []uint32) (l uint32) {
	for _, v := range values {
		l = max(l, v)
	}
	return l
}

// recArray is an encoded array in its parts.
type recArray struct {
	n, exceptions int
	b             uint8
	block         int    // values of a block
	starts        []byte // a number of 4 bytes each stride bytes
	stride        int
	slots         []byte // with everything behind
	tail          []byte // offsets and uppers, with everything behind
	uppers        []byte // uppers, with everything behind, in an array that was measured; not at depth 0
	depth         int    // of this array: 0 if those are whole numbers
	sizes         uint8
}

func errArray(format string, args ...any) error {
	return fmt.Errorf("pfordelta-rec: %s: %w", fmt.Sprintf(format, args...), ErrCorrupt)
}

// parse makes a of an array of n values, whose first byte is width and whose others
// are at the start of src. It returns how many those are; an array that has been
// measured as a part of another need not be measured again, and then it may return
// less.
func (a *recArray) parse(src []byte, n int, width uint8, depth, block int, measured bool) (int, error) {
	*a = recArray{n: n, b: width & bMask, block: block, depth: depth, stride: 4}
	if a.b > maxWidth || width > bMask|exceptionBit {
		return 0, errArray("width %d", width)
	}
	at := 0
	if width&exceptionBit != 0 {
		x, size := binary.Uvarint(src)
		if size <= 0 || x < 1 || x > uint64(n) {
			return 0, errArray("number of exceptions of %d values", n)
		}
		a.exceptions, at = int(x), size
		if depth == 0 {
			if at == len(src) {
				return 0, errArray("no sizes")
			}
			a.sizes = src[at]
			at++
		}
		starts := (a.blocks() - 1) * a.stride
		if len(src)-at < starts {
			return 0, errArray("%d blocks in %d bytes", a.blocks(), len(src)-at)
		}
		a.starts = src[at : at+starts]
		at += starts
	}
	if measured && depth == 0 { // deeper ones must know where the uppers are
		a.slots, a.tail = src[at:], src[at+bitpack.PackedSize(a.n, a.b):]
		return 0, nil
	}
	size, err := a.parseBody(src[at:])
	return at + size, err
}

// parseBody finds the slots at the start of src and what is behind them, and returns
// the size of all that.
func (a *recArray) parseBody(src []byte) (int, error) {
	size := bitpack.PackedSize(a.n, a.b)
	if len(src) < size {
		return 0, errArray("%d slots of %d bits in %d bytes", a.n, a.b, len(src))
	}
	a.slots, a.tail = src, src[size:]
	switch {
	case a.exceptions == 0:
		return size, nil
	case a.b == maxWidth:
		return 0, errArray("%d exceptions of slots of 32 bits", a.exceptions)
	case a.depth == 0:
		offset, upper := a.wholeSizes()
		if size += a.exceptions * (offset + upper); a.sizes > 2<<2|2 || a.sizes&3 > 2 || len(src) < size {
			return 0, errArray("%d exceptions of %d+%d bytes in %d bytes", a.exceptions, offset, upper, len(src))
		}
		return size, nil
	}
	var child recArray
	for i := range 2 {
		behind, err := a.child(&child, src[size:], false)
		if err != nil {
			return 0, err
		}
		if i == 0 {
			a.uppers = a.tail[behind:]
		}
		size += behind
	}
	return size, nil
}

// wholeSizes are the bytes of an offset and of an upper number at depth 0.
func (a *recArray) wholeSizes() (offset, upper int) { return 1 << (a.sizes >> 2), 1 << (a.sizes & 3) }

// child makes c of the array of offsets, or of uppers, at the start of src, and
// returns its size, unless it has been measured. The depth of a is not 0.
func (a *recArray) child(c *recArray, src []byte, measured bool) (int, error) {
	if len(src) == 0 {
		return 0, errArray("no exceptions")
	}
	size, err := c.parse(src[1:], a.exceptions, src[0], a.depth-1, a.block, measured)
	return 1 + size, err
}

// blocks is the number of blocks of the array.
func (a *recArray) blocks() int { return (a.n + a.block - 1) / a.block }

// start is the number of exceptions before a block.
func (a *recArray) start(block int) int {
	switch {
	case block == 0:
		return 0
	case block >= a.blocks():
		return a.exceptions
	}
	return int(binary.LittleEndian.Uint32(a.starts[(block-1)*a.stride:]))
}

// unpack writes the slots of values from c*BlockLen on, each plus add, to dst: at
// most BlockLen, and at most most.
func (a *recArray) unpack(dst *[BlockLen]uint32, c, most int, add uint32) (n int) {
	n = min(BlockLen, a.n-c*BlockLen, most)
	unpackSlots(dst, a.slots[c*BlockLen/8*int(a.b):], n, a.b, add)
	return n
}

// walk is where a walk over the exceptions of an array stood when the last chunk
// began: at exception next, with all before it in a block at places up to last.
type walk struct {
	block uint32 // number plus 1; 0: none
	next  uint32
	last  int32
}

// walks has the walks over the arrays within an array, and its own. Chunks of an
// array that follow each other are patched in one walk; beginning anew at the start
// of the block for each would take 16 times as long with each level of depth, where
// most values are exceptions. Array k has its offsets at 2k and its uppers at 2k+1.
type walks [2 << maxDepth]walk

// resume moves s, which stands at the start of a block, to where w is, unless w is in
// another block or at, or behind, place from.
func (s *span) resume(w *walk, block, from int) {
	if w.block == uint32(block)+1 && int(w.last) < from {
		s.next, s.last = int(w.next), int(w.last)
	}
}

// keep makes w where s is.
func (w *walk) keep(s *span, block int) {
	*w = walk{block: uint32(block) + 1, next: uint32(s.next), last: int32(s.last)}
}

// chunk decodes values from c*BlockLen on, each plus add modulo 2^32, to dst, at most
// BlockLen. The array is number k of ws, in which it leaves where its walk began.
func (a *recArray) chunk(dst *[BlockLen]uint32, c int, add uint32, ws *walks, k int) error {
	n := a.unpack(dst, c, BlockLen, add)
	block, from := c*BlockLen/a.block, c*BlockLen%a.block
	if a.exceptions == 0 || a.start(block) == a.start(block+1) {
		return nil
	}
	w := &ws[k]
	if a.depth == 0 {
		var r wholeExceptions
		if err := r.seek(a, block); err != nil {
			return err
		}
		r.resume(w, block, from)
		if _, err := r.apply(dst, from, 0); err != nil { // up to from
			return err
		}
		w.keep(&r.span, block)
		_, err := r.apply(dst, from, n)
		return err
	}
	r := recExceptions{number: k}
	if err := r.seek(a, block); err != nil {
		return err
	}
	r.resume(w, block, from)
	if _, err := r.apply(dst, from, 0, ws); err != nil {
		return err
	}
	w.keep(&r.span, block)
	_, err := r.apply(dst, from, n, ws)
	return err
}

// span is a walk over the exceptions of a block.
type span struct {
	b         uint8
	next, end int // next exception, and the end of the block's
	last      int // place in the block of the exception before
}

func (a *recArray) span(block int) (span, error) {
	s := span{b: a.b, next: a.start(block), end: a.start(block + 1), last: -1}
	if s.next > s.end || s.end > a.exceptions {
		return span{}, errArray("exceptions %d to %d of %d", s.next, s.end, a.exceptions)
	}
	return s, nil
}

// over is what an upper number less one adds to a slot; checkOver says whether that,
// or several of it, ORed, are numbers of 32 bits.
func (s *span) over(upper uint32) uint64 { return (uint64(upper) + 1) << (s.b & 31) }

func checkOver(over uint64) error {
	if over > 1<<32-1 {
		return errArray("exception of more than 32 bits")
	}
	return nil
}

// wholeExceptions walks over the exceptions of a block of an array of depth 0, whose
// offsets and uppers are whole numbers.
type wholeExceptions struct {
	span
	offsets, uppers       []byte
	offsetSize, upperSize int
}

// seek moves to the start of a block of a.
func (r *wholeExceptions) seek(a *recArray, block int) (err error) {
	r.offsetSize, r.upperSize = a.wholeSizes()
	r.offsets, r.uppers = a.tail, a.tail[a.exceptions*r.offsetSize:]
	r.span, err = a.span(block)
	return err
}

// apply adds the exceptions at places from to from+n-1 of the block to dst, where
// their slots are, and passes over those before. from does not fall from call to
// call. sum is what it added.
func (r *wholeExceptions) apply(dst *[BlockLen]uint32, from, n int) (sum uint64, err error) {
	all := uint64(0)
	for ; r.next < r.end; r.next++ {
		place := r.last + 1 + int(wholeAt(r.offsets, r.next, r.offsetSize))
		if place >= from+n {
			break
		}
		r.last = place
		if place < from {
			continue
		}
		over := r.over(wholeAt(r.uppers, r.next, r.upperSize))
		dst[uint(place-from)%BlockLen] += uint32(over)
		sum += over
		all |= over
	}
	return sum, checkOver(all)
}

// at returns what is above the slot of the value at a place of the block; 0 if that
// is no exception.
func (r *wholeExceptions) at(place int) (uint32, error) {
	for ; r.next < r.end; r.next++ {
		if r.last += 1 + int(wholeAt(r.offsets, r.next, r.offsetSize)); r.last == place {
			over := r.over(wholeAt(r.uppers, r.next, r.upperSize))
			return uint32(over), checkOver(over)
		}
		if r.last > place {
			break
		}
	}
	return 0, nil
}

// recExceptions walks over the exceptions of the blocks of an array of any depth.
// Offsets and uppers that are arrays themselves are decoded a chunk at a time.
type recExceptions struct {
	wholeExceptions // at depth 0
	recursive       bool
	number          int // of the array in walks

	offsets, uppers     recArray
	ready               bool // offsets and uppers are parsed
	offset, upper       [BlockLen]uint32
	offsetsOf, uppersOf int // number of the chunk, plus 1, that they hold; 0: none
}

// seek moves to the start of a block of a. r is new, or has been used for a.
func (r *recExceptions) seek(a *recArray, block int) (err error) {
	if a.depth == 0 {
		return r.wholeExceptions.seek(a, block)
	}
	r.recursive = true
	if r.span, err = a.span(block); err != nil || r.ready || r.next == r.end {
		return err
	}
	r.ready = true
	if _, err = a.child(&r.offsets, a.tail, true); err != nil {
		return err
	}
	_, err = a.child(&r.uppers, a.uppers, true)
	return err
}

// apply does what that of wholeExceptions does. ws has the walks over the arrays within.
func (r *recExceptions) apply(dst *[BlockLen]uint32, from, n int, ws *walks) (sum uint64, err error) {
	if !r.recursive {
		return r.wholeExceptions.apply(dst, from, n)
	}
	all := uint64(0)
	for ; r.next < r.end; r.next++ {
		k := uint(r.next) % BlockLen
		c := r.next/BlockLen + 1
		if c != r.offsetsOf {
			if err := r.loadOffsets(c, ws); err != nil {
				return 0, err
			}
		}
		place := r.last + 1 + int(r.offset[k])
		if place >= from+n {
			break
		}
		r.last = place
		if place < from {
			continue
		}
		if c != r.uppersOf {
			if err := r.loadUppers(c, ws); err != nil {
				return 0, err
			}
		}
		over := r.over(r.upper[k])
		dst[uint(place-from)%BlockLen] += uint32(over)
		sum += over
		all |= over
	}
	return sum, checkOver(all)
}

func (r *recExceptions) loadOffsets(c int, ws *walks) error {
	r.offsetsOf = c
	return r.offsets.chunk(&r.offset, c-1, 0, ws, 2*r.number)
}

func (r *recExceptions) loadUppers(c int, ws *walks) error {
	r.uppersOf = c
	return r.uppers.chunk(&r.upper, c-1, 0, ws, 2*r.number+1)
}

// at does what that of wholeExceptions does.
func (r *recExceptions) at(place int, ws *walks) (uint32, error) {
	if !r.recursive {
		return r.wholeExceptions.at(place)
	}
	for ; r.next < r.end; r.next++ {
		c := r.next/BlockLen + 1
		if c != r.offsetsOf {
			if err := r.loadOffsets(c, ws); err != nil {
				return 0, err
			}
		}
		if r.last += 1 + int(r.offset[uint(r.next)%BlockLen]); r.last > place {
			break
		}
		if r.last == place {
			if err := r.loadUppers(c, ws); err != nil {
				return 0, err
			}
			over := r.over(r.upper[uint(r.next)%BlockLen])
			return uint32(over), checkOver(over)
		}
	}
	return 0, nil
}
