package inverter

import "encoding/binary"

// chains holds many growing byte strings in one slab, each a chain of slices that about double
// in length (like Lucene's byte block pool): short ones waste little, long ones have few links.
//
//	slice:  | data ... | offset of the next slice, 4 bytes, little endian |
//
// Offsets have 32 bits.
type chains struct {
	slab []byte
}

// A string; zero is empty.
type chain struct {
	head uint32 // offset of the first slice
	tail uint32 // offset of the next byte
	end  uint32 // end of the last slice's data, where its link begins
	size uint32 // length of the last slice, link included
}

const (
	minSliceBytes = 16
	maxSliceBytes = 2048
	linkBytes     = 4
	// A larger slab takes no further document. One more document can double the chains, because
	// a new slice is at most the length of its chain, and adds its own bytes. The sum stays below 2^32.
	maxSlabBytes = 3 << 29
	// The longest 32-bit number.
	maxVarintBytes = 5
)

func nextSliceBytes(size uint32) uint32 {
	return min(max(2*size, minSliceBytes), maxSliceBytes)
}

func (s *chains) reset() { s.slab = s.slab[:0] }

func (s *chains) grow(c *chain) {
	size := nextSliceBytes(c.size)
	start := uint32(len(s.slab))
	need := len(s.slab) + int(size)
	if need > cap(s.slab) {
		grown := make([]byte, need, max(2*cap(s.slab), 1<<16))
		copy(grown, s.slab)
		s.slab = grown
	}
	s.slab = s.slab[:need]
	if c.size == 0 {
		c.head = start
	} else {
		binary.LittleEndian.PutUint32(s.slab[c.end:], start)
	}
	c.tail, c.end, c.size = start, start+size-linkBytes, size
}

// 7-bit groups, the lowest first, the high bit set on all but the last.
func (s *chains) putVarint(c *chain, v uint32) {
	for v >= 0x80 {
		s.putByte(c, byte(v)|0x80)
		v >>= 7
	}
	s.putByte(c, byte(v))
}

func (s *chains) putByte(c *chain, b byte) {
	if c.tail == c.end {
		s.grow(c)
	}
	s.slab[c.tail] = b
	c.tail++
}

func (s *chains) appendTo(dst []byte, c *chain) []byte {
	if c.size == 0 {
		return dst
	}
	at, size := c.head, uint32(minSliceBytes)
	for {
		end := at + size - linkBytes
		if end == c.end && size == c.size {
			return append(dst, s.slab[at:c.tail]...)
		}
		dst = append(dst, s.slab[at:end]...)
		at, size = binary.LittleEndian.Uint32(s.slab[end:]), nextSliceBytes(size)
	}
}

func (s *chains) size(c *chain) int {
	if c.size == 0 {
		return 0
	}
	n, at, size := 0, c.head, uint32(minSliceBytes)
	for {
		end := at + size - linkBytes
		if end == c.end && size == c.size {
			return n + int(c.tail-at)
		}
		n += int(end - at)
		at, size = binary.LittleEndian.Uint32(s.slab[end:]), nextSliceBytes(size)
	}
}
