package codec

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/griffin-search/griffin/internal/simd/bitpack"
)

// The recursive array of pfordelta-rec: low b bits in slots, and two arrays for the exceptions'
// offsets and upper bits, which are such arrays again, down to a given depth:
//
//	+---------+-------------+--------+---------+---------+----------+---------+
//	| b, 64   | exceptions  | sizes  | starts  | slots   | offsets  | uppers  |
//	+---------+-------------+--------+---------+---------+----------+---------+
//	          | only with   | only at                    |  only with         |
//	          | exceptions  | depth 0                    |  exceptions        |
//
// The first byte is b, plus 64 if there are exceptions; their number is a varint. Values are
// cut into blocks, which can be read alone. starts holds for each block but the first the
// number of exceptions before it, 4 bytes, little endian. An offset is the distance from the
// previous exception of the block, minus one; the first counts from -1. Upper bits are stored
// minus one. At depth 0, offsets and upper bits are integers of 1, 2 or 4 bytes; sizes is
// log(offsets) << 2 | log(upper bits).
//
// Ding et al., WWW 2009, §6.2; see PForDeltaRec.

// As in Ding et al. (Figure 3).
const maxDepth = 4

type recOptions struct {
	share Share // maximum share of exceptions in each array
	block int   // values of a block
}

type recSplit struct {
	b                       uint8
	starts, offsets, uppers []uint32
}

// split turns values into slots, in place, and appends exceptions to offsets and uppers.
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

// append appends an array except for its first byte, which it returns. It modifies
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

// sizes returns the array's sizes byte.
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

type recArray struct {
	n, exceptions int
	b             uint8
	block         int    // values of a block
	starts        []byte // one number of 4 bytes every stride bytes
	stride        int
	slots         []byte // and all bytes after them
	tail          []byte // offsets and upper bits, and all bytes after them
	uppers        []byte // upper bits, and all bytes after them, in a measured array of depth above 0
	depth         int    // of this array; at 0, offsets and upper bits are integers
	sizes         uint8
}

func errArray(format string, args ...any) error {
	return fmt.Errorf("pfordelta-rec: %s: %w", fmt.Sprintf(format, args...), ErrCorrupt)
}

// parse makes a the array of n values whose first byte is width and whose others start src, and
// returns the bytes read, possibly too few if an outer array has been measured.
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
	if measured && depth == 0 { // deeper arrays need the position of the upper bits
		a.slots, a.tail = src[at:], src[at+bitpack.PackedSize(a.n, a.b):]
		return 0, nil
	}
	size, err := a.parseBody(src[at:])
	return at + size, err
}

// parseBody locates the slots at the start of src and the data after them, and returns
// the total size.
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

func (a *recArray) wholeSizes() (offset, upper int) { return 1 << (a.sizes >> 2), 1 << (a.sizes & 3) }

// child makes c the array of offsets or upper bits and returns its size, unless
// measured. The depth of a is not 0.
func (a *recArray) child(c *recArray, src []byte, measured bool) (int, error) {
	if len(src) == 0 {
		return 0, errArray("no exceptions")
	}
	size, err := c.parse(src[1:], a.exceptions, src[0], a.depth-1, a.block, measured)
	return 1 + size, err
}

func (a *recArray) blocks() int { return (a.n + a.block - 1) / a.block }

// start returns the number of exceptions before a block.
func (a *recArray) start(block int) int {
	switch {
	case block == 0:
		return 0
	case block >= a.blocks():
		return a.exceptions
	}
	return int(binary.LittleEndian.Uint32(a.starts[(block-1)*a.stride:]))
}

// unpack writes slots from c*BlockLen on, at most BlockLen and at most most, each plus
// add, and returns their number.
func (a *recArray) unpack(dst *[BlockLen]uint32, c, most int, add uint32) (n int) {
	n = min(BlockLen, a.n-c*BlockLen, most)
	unpackSlots(dst, a.slots[c*BlockLen/8*int(a.b):], n, a.b, add)
	return n
}

// walk is a walk over exceptions, saved at the start of the last chunk: next is the next
// exception; earlier ones of the block are at positions up to last.
type walk struct {
	block uint32 // number plus 1; 0: none
	next  uint32
	last  int32
}

// Array k of an array and its nested ones has its offsets at 2k and its upper bits at 2k+1.
// Consecutive chunks are patched in one walk, because restarting in each would take 16 times
// longer per level of depth if most values are exceptions.
type walks [2 << maxDepth]walk

// resume moves s from a block's start to the state of w, unless w is in another block or has
// reached from.
func (s *span) resume(w *walk, block, from int) {
	if w.block == uint32(block)+1 && int(w.last) < from {
		s.next, s.last = int(w.next), int(w.last)
	}
}

func (w *walk) keep(s *span, block int) {
	*w = walk{block: uint32(block) + 1, next: uint32(s.next), last: int32(s.last)}
}

// chunk decodes values from c*BlockLen, each plus add modulo 2^32. The array is number k of ws,
// where chunk saves the start of its walk.
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
		if _, err := r.apply(dst, from, 0); err != nil { // skip to from
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

type span struct {
	b         uint8
	next, end int // next exception, and the end of the block's exceptions
	last      int // position in the block of the previous exception
}

func (a *recArray) span(block int) (span, error) {
	s := span{b: a.b, next: a.start(block), end: a.start(block + 1), last: -1}
	if s.next > s.end || s.end > a.exceptions {
		return span{}, errArray("exceptions %d to %d of %d", s.next, s.end, a.exceptions)
	}
	return s, nil
}

// over is the amount that a stored upper part adds. checkOver rejects amounts, alone or ORed,
// above 32 bits.
func (s *span) over(upper uint32) uint64 { return (uint64(upper) + 1) << (s.b & 31) }

func checkOver(over uint64) error {
	if over > 1<<32-1 {
		return errArray("exception of more than 32 bits")
	}
	return nil
}

type wholeExceptions struct {
	span
	offsets, uppers       []byte
	offsetSize, upperSize int
}

func (r *wholeExceptions) seek(a *recArray, block int) (err error) {
	r.offsetSize, r.upperSize = a.wholeSizes()
	r.offsets, r.uppers = a.tail, a.tail[a.exceptions*r.offsetSize:]
	r.span, err = a.span(block)
	return err
}

// apply adds the exceptions at positions from to from+n-1 to their slots and skips those
// before. from must not decrease. sum is the total added.
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

// at returns the amount above the slot of the value at place, or 0 if it is not an
// exception.
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

// Any depth; nested arrays are decoded one chunk at a time.
type recExceptions struct {
	wholeExceptions
	recursive bool
	number    int // of the array in walks

	offsets, uppers     recArray
	ready               bool
	offset, upper       [BlockLen]uint32
	offsetsOf, uppersOf int // number of the chunk they hold, plus 1; 0: none
}

// seek moves to the start of a block of a. r is new or was used only for a.
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
