package decode

import (
	"encoding/binary"
	"fmt"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// RecArray is an array inside a list of codec pfordelta-rec: mirror of RecArray
// in decode_rec.cu.
type RecArray struct {
	payload, offsets, uppers, out                                                      cuda.Ptr[uint32]
	slots, starts, wholeOffsets, wholeUppers                                           uint64
	n, exceptions, width, blockTiles, startStride, wholeSizes, firstTile, payloadWords uint32
}

// RecArrayWords is the length of a list's Source.Side in words.
const RecArrayWords = 24

// Words returns the content of Source.Side.
func (a *RecArray) Words() []uint32 {
	words := make([]uint32, 0, RecArrayWords)
	for _, x := range []uint64{
		uint64(a.payload), uint64(a.offsets), uint64(a.uppers), uint64(a.out),
		a.slots, a.starts, a.wholeOffsets, a.wholeUppers,
	} {
		words = append(words, uint32(x), uint32(x>>32))
	}
	return append(words, a.n, a.exceptions, a.width, a.blockTiles, a.startStride, a.wholeSizes, a.firstTile, a.payloadWords)
}

// recParams mirrors DecodeRecParams.
type recParams struct {
	arrays              cuda.Ptr[RecArray]
	numArrays, numTiles uint32
}

// See codec.PForDeltaRec.
const (
	recHeader     = 8
	recEntry      = 8
	recStart      = 4
	recWidthBits  = 63
	recExceptions = 64
)

// RecArrays is the structure of a list of several blocks of codec
// pfordelta-rec.
//
// List is the array of the list's gaps, the content of Source.Side. The offsets
// and the upper bits of its exceptions are arrays too, which may have
// exceptions again: Levels. Decode Levels[0] with DecodeArrays, then the other
// levels in order, into the scratch of NewRecArrays, then the list (ding09,
// §6.2: "we recursively decompress the two arrays").
type RecArrays struct {
	List   RecArray
	Levels [][]RecArray
}

// RecScratch returns the scratch words for the arrays of a list.
func RecScratch(list []byte, n int) (int, error) {
	r, err := parseRec(list, n)
	return r.scratch, err
}

// NewRecArrays parses a list, at least the whole encoding of its DocIDs,
// already verified; on the device, s.Payload begins with the same bytes.
// scratch has RecScratch words, 16-byte aligned.
func NewRecArrays(list []byte, s Source, scratch cuda.Buffer[uint32]) (RecArrays, error) {
	r, err := parseRec(list, s.NumPostings)
	if err != nil {
		return RecArrays{}, err
	}
	if scratch.Len() < r.scratch || scratch.Ptr()%16 != 0 || uint64(s.Payload.Len()) > 1<<32-1 {
		return RecArrays{}, fmt.Errorf("arrays of %d words in %d at %#x: %w", r.scratch, scratch.Len(), scratch.Ptr(), ErrShape)
	}
	place := func(a *RecArray) {
		a.payload, a.payloadWords = s.Payload.Ptr(), uint32(s.Payload.Len())
		for _, p := range []*cuda.Ptr[uint32]{&a.offsets, &a.uppers, &a.out} {
			if *p != 0 { // an offset in scratch, plus 1
				*p = scratch.Ptr() + 4*(*p-1)
			}
		}
	}
	place(&r.List)
	for _, level := range r.Levels {
		for i := range level {
			place(&level[i])
		}
	}
	return r.RecArrays, nil
}

type recParser struct {
	RecArrays
	list    []byte
	at      int
	block   int // values per block
	scratch int // words
}

func parseRec(list []byte, n int) (r recParser, err error) {
	if len(list) < recHeader || n <= codec.BlockLen {
		return r, fmt.Errorf("list of %d postings in %d bytes: %w", n, len(list), ErrShape)
	}
	r = recParser{list: list, at: recHeader, block: int(list[2]) * codec.BlockLen}
	depth := int(list[1])
	if r.block == 0 || depth > 4 {
		return r, fmt.Errorf("list header % x: %w", list[:recHeader], ErrShape)
	}
	r.Levels = make([][]RecArray, depth)
	r.List = RecArray{n: uint32(n), exceptions: binary.LittleEndian.Uint32(list[4:]), width: uint32(list[0]), blockTiles: uint32(list[2])}
	r.List.startStride, r.List.starts = recEntry, uint64(r.at+recEntry/2)
	r.at += (r.blocks(n) - 1) * recEntry
	return r, r.body(&r.List, depth, list[3])
}

func (r *recParser) blocks(n int) int { return (n + r.block - 1) / r.block }

// body parses the slots of a and its exceptions.
func (r *recParser) body(a *RecArray, depth int, sizes byte) error {
	if a.width > 32 || a.width == 32 && a.exceptions > 0 {
		return fmt.Errorf("%d slots of %d bits at byte %d: %w", a.n, a.width, r.at, ErrShape)
	}
	a.slots = uint64(r.at)
	r.at += (int(a.n)*int(a.width) + 7) / 8
	if a.exceptions == 0 {
		return nil
	}
	if depth > 0 {
		for _, decoded := range []*cuda.Ptr[uint32]{&a.offsets, &a.uppers} {
			place, err := r.array(int(a.exceptions), depth-1)
			if err != nil {
				return err
			}
			*decoded = place
		}
		return nil
	}
	offset, upper := 1<<(sizes>>2), 1<<(sizes&3)
	a.wholeSizes = uint32(offset | upper<<8)
	a.wholeOffsets = uint64(r.at)
	a.wholeUppers = uint64(r.at + offset*int(a.exceptions))
	r.at += (offset + upper) * int(a.exceptions)
	return nil
}

// array parses an array of exceptions and returns its offset in scratch, plus
// 1.
func (r *recParser) array(n, depth int) (cuda.Ptr[uint32], error) {
	if r.at >= len(r.list) {
		return 0, fmt.Errorf("array at %d of %d bytes: %w", r.at, len(r.list), ErrShape)
	}
	first := r.list[r.at]
	r.at++
	a := RecArray{n: uint32(n), width: uint32(first & recWidthBits), blockTiles: uint32(r.block / codec.BlockLen), out: cuda.Ptr[uint32](r.scratch + 1)}
	r.scratch += (n + 3) / 4 * 4
	sizes := byte(0)
	if first&recExceptions != 0 {
		x, size := binary.Uvarint(r.list[r.at:])
		if size <= 0 || x < 1 || x > uint64(n) {
			return 0, fmt.Errorf("number of exceptions at byte %d: %w", r.at, ErrShape)
		}
		a.exceptions = uint32(x)
		r.at += size
		if depth == 0 {
			if r.at >= len(r.list) {
				return 0, fmt.Errorf("array at %d of %d bytes: %w", r.at, len(r.list), ErrShape)
			}
			sizes = r.list[r.at]
			r.at++
		}
		a.startStride, a.starts = recStart, uint64(r.at)
		r.at += (r.blocks(n) - 1) * recStart
	}
	if err := r.body(&a, depth, sizes); err != nil {
		return 0, err
	}
	r.Levels[depth] = append(r.Levels[depth], a)
	return a.out, nil
}

// PlanArrays divides the arrays of one level, of any number of lists, into
// tiles and sets the first tile of each. Copy them to the device afterwards.
func PlanArrays(arrays []RecArray) Batch {
	b := Batch{numLists: uint32(len(arrays)), tileBlocks: 1}
	for i := range arrays {
		arrays[i].firstTile = b.numTiles
		b.numTiles += (arrays[i].n + codec.BlockLen - 1) / codec.BlockLen
	}
	return b
}

// DecodeArrays enqueues decoding the arrays of one level, the device copy of
// those that PlanArrays completed.
func (k *Kernels) DecodeArrays(s *cuda.Stream, arrays cuda.Buffer[RecArray], b Batch) error {
	if arrays.Len() < int(b.numLists) {
		return fmt.Errorf("batch of %d arrays in a buffer of %d: %w", b.numLists, arrays.Len(), ErrShape)
	}
	kernel := k.recArrays.Load()
	if kernel == nil {
		loaded, err := load[recParams](k, "decode_rec", "decode_rec_arrays")
		if err != nil {
			return err
		}
		k.recArrays.Store(loaded)
		kernel = loaded
	}
	if b.numTiles == 0 {
		return nil
	}
	return cuda.Launch(s, kernel, cuda.D1(int((b.numTiles+warps-1)/warps)), cuda.D1(threads), 0,
		&recParams{arrays: arrays.Ptr(), numArrays: b.numLists, numTiles: b.numTiles})
}
