package postings

import (
	"encoding/binary"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/simd/scoring"
)

// PostingRef names a posting of a list.
type PostingRef struct {
	block, docSize uint32
	at             uint8
}

// Ref names posting i of the current block.
func (c *Cursor) Ref(i uint8) PostingRef {
	return PostingRef{block: uint32(c.block), docSize: uint32(c.docSize), at: i}
}

// PositionReader reads positions of postings that a Cursor found, without their DocIDs. It contains the frequencies of a
// block (512 bytes), does not allocate, and is not safe for concurrent use.
type PositionReader struct {
	list  *List
	block int    // whose frequencies and positions are read; -1: none
	src   []byte // of the block
	// of is the posting whose positions begin at src[at:].
	of, at  int
	fetched uint32 // block of the last Prefetch plus 1; 0: none
	freqs   [codec.BlockLen]uint32
}

// Reset lets it read a list with positions, which must not change meanwhile.
func (r *PositionReader) Reset(l *List) {
	r.list, r.block, r.src, r.fetched = l, -1, nil, 0
}

// Prefetch begins to load positions of a posting's block, once, for a later Append.
func (r *PositionReader) Prefetch(p PostingRef) {
	if r.fetched == p.block+1 || r.block == int(p.block) {
		return
	}
	r.fetched = p.block + 1
	if src, err := r.list.PositionBytes(int(p.block)); err == nil { // else Append reports it
		scoring.Prefetch(src[:min(len(src)*(int(p.at)+1)/codec.BlockLen, maxPositionPrefetch)])
	}
}

// maxPositionPrefetch bounds the bytes that Prefetch loads; reading in order loads the next.
const maxPositionPrefetch = 256

// Freq returns a posting's frequency. The error wraps base.ErrCorrupt.
func (r *PositionReader) Freq(p PostingRef) (uint32, error) {
	if err := r.load(p); err != nil {
		return 0, err
	}
	return r.freqs[p.at%codec.BlockLen], nil
}

// Append appends a posting's positions, rising. Rising calls in a block skip each posting once. The error wraps
// base.ErrCorrupt.
func (r *PositionReader) Append(dst []uint32, p PostingRef) ([]uint32, error) {
	if err := r.load(p); err != nil {
		return dst, err
	}
	i := int(p.at % codec.BlockLen)
	if r.of > i {
		r.of, r.at = 0, 0
	}
	skipped := uint64(0)
	for _, f := range r.freqs[r.of:i] {
		skipped += uint64(f)
	}
	at := -1
	if skipped <= uint64(len(r.src)) {
		at = skipVbytes(r.src, r.at, int(skipped))
	}
	if at < 0 {
		return dst, errPositionsEnd(r.block)
	}
	out, next, err := DecodePositions(dst, r.src, at, r.freqs[i])
	if err != nil {
		return dst, err
	}
	r.of, r.at = i+1, next
	return out, nil
}

func (r *PositionReader) load(p PostingRef) (err error) {
	if r.block == int(p.block) {
		return nil
	}
	r.block = -1
	if err = r.list.DecodeFreqs(int(p.block), int(p.docSize), &r.freqs); err != nil {
		return err
	}
	if r.src, err = r.list.PositionBytes(int(p.block)); err != nil {
		return err
	}
	r.block, r.of, r.at = int(p.block), 0, 0
	return nil
}

// tops are the top bits of eight bytes, clear in vbytes of one byte.
const tops = 0x8080808080808080

// DecodePositions appends a posting's freq positions, rising. src is the block's PositionBytes;
// at is the posting's offset in it, 0 for the first, next the following posting's.
func DecodePositions(dst []uint32, src []byte, at int, freq uint32) (positions []uint32, next int, err error) {
	position, first := uint64(0), true
	for n := int(freq); n > 0; {
		if uint(at) <= uint(len(src)) && len(src)-at >= 8 {
			if w := binary.LittleEndian.Uint64(src[at:]); w&tops == 0 {
				m := min(n, 8)
				for range m {
					if w&0xff == 0 && !first {
						return dst, 0, errPosition(at)
					}
					position += w & 0xff
					w >>= 8
					dst, first = append(dst, uint32(position)), false
				}
				if position > 1<<32-1 {
					return dst, 0, errPosition(at)
				}
				at, n = at+m, n-m
				continue
			}
		}
		gap, next := readVbyte(src, at)
		position += uint64(gap)
		if next < 0 || !first && gap == 0 || position > 1<<32-1 {
			return dst, 0, errPosition(at)
		}
		dst, first = append(dst, uint32(position)), false
		at, n = next, n-1
	}
	return dst, at, nil
}
