package pfor

import (
	"encoding/binary"

	"github.com/griffin-search/griffin/internal/simd/bitpack"
)

// Len is the number of values of a full block.
const Len = 128

// Block is an encoded block with exceptions. An exception's slot holds the distance to the
// next, minus one; the last is ignored.
type Block struct {
	Slots  []byte // packed; may be longer
	Width  uint8  // bits of a slot, below 32
	N      int    // number of values, 1 to Len
	First  int    // position of the first exception
	Count  int    // number of exceptions, at least 1
	Values []byte // of the exceptions, one after another
	Size   int    // bytes of a value: 1, 2 or 4, little endian
}

// Decode writes the values, each plus 1 modulo 2^32, to dst[:N]; the rest is undefined. It
// returns false, with dst undefined, if exceptions leave the block.
func Decode(dst *[Len]uint32, b *Block) bool { return decode(dst, b.check()) }

// DecodeGaps is Decode for gaps minus one: dst[i] becomes base plus the sum of values 0 to i,
// each plus 1, modulo 2^32.
func DecodeGaps(dst *[Len]uint32, b *Block, base uint32) bool {
	return decodeGaps(dst, b.check(), base)
}

// The assembly does not check: panic on sizes against the contract.
func (b *Block) check() *Block {
	switch {
	case b.Size != 1 && b.Size != 2 && b.Size != 4:
		panic("pfor: values of other than 1, 2 or 4 bytes")
	case b.Count < 1 || b.Count > Len || b.Count*b.Size > len(b.Values):
		panic("pfor: no exceptions, or fewer values than exceptions")
	case b.N < 1 || b.N > Len || b.Width >= bitpack.MaxWidth:
		panic("pfor: block of no values, or of too many, or slots that need no exceptions")
	}
	return b
}

func (b *Block) unpack(dst *[Len]uint32, add uint32) {
	if b.N == Len && len(b.Slots) >= Len/8*int(b.Width)+bitpack.Slack {
		bitpack.Unpack(dst, b.Slots, b.Width, add)
	} else {
		bitpack.UnpackN(dst, b.Slots, b.Width, add, b.N)
	}
}

func decodeGeneric(dst *[Len]uint32, b *Block) bool {
	b.unpack(dst, 1)
	return b.patch(dst, 1)
}

func decodeGapsGeneric(dst *[Len]uint32, b *Block, base uint32) bool {
	b.unpack(dst, 0)
	if !b.patch(dst, 0) {
		return false
	}
	bitpack.PrefixSum(dst, base)
	return true
}

// Slots were unpacked with the same add.
func (b *Block) patch(dst *[Len]uint32, add uint32) bool {
	at := uint64(b.First)
	for k := range b.Count {
		if at >= uint64(b.N) {
			return false
		}
		slot := &dst[at&(Len-1)]
		at += uint64(*slot-add) + 1
		*slot = b.value(k) + add
	}
	return true
}

func (b *Block) value(i int) uint32 {
	switch b.Size {
	case 1:
		return uint32(b.Values[i])
	case 2:
		return uint32(binary.LittleEndian.Uint16(b.Values[2*i:]))
	}
	return binary.LittleEndian.Uint32(b.Values[4*i:])
}
