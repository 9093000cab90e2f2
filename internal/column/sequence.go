package column

import (
	"encoding/binary"
	"math/bits"

	kernels "github.com/griffin-search/griffin/internal/simd/column"
)

const (
	blockLen = kernels.Len
	// groupBlocks is the number of blocks that share a directory.
	groupBlocks = blockLen
	groupLen    = groupBlocks * blockLen
	entryLen    = 32
)

// sequence is packed integers, in blocks of 128, in groups of 128 blocks (docs/formats/columns.md).
type sequence struct {
	data  Data
	table uint64 // offset of the groups' entries
	n     uint64
	// All values are in [lo, hi]. strict means that readers rely on it for any bytes.
	lo, hi int64
	strict bool
}

func (s *sequence) numGroups() int { return int((s.n + groupLen - 1) / groupLen) }
func (s *sequence) numBlocks() int { return int((s.n + blockLen - 1) / blockLen) }

// groupEntry describes a group.
type groupEntry struct {
	offset              uint64
	lo, hi              int64
	minWidth, spanWidth uint8
}

func (e *groupEntry) appendTo(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, e.offset)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(e.lo))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(e.hi))
	return append(dst, e.minWidth, e.spanWidth, 0, 0, 0, 0, 0, 0)
}

func (s *sequence) entry(i int) (e groupEntry, err error) {
	b, err := read(s.data, s.table+entryLen*uint64(i), entryLen)
	if err != nil {
		return e, err
	}
	e.offset = binary.LittleEndian.Uint64(b)
	e.lo = int64(binary.LittleEndian.Uint64(b[8:]))
	e.hi = int64(binary.LittleEndian.Uint64(b[16:]))
	e.minWidth, e.spanWidth = b[24], b[25]
	if e.lo < s.lo || e.hi > s.hi || e.lo > e.hi || e.minWidth > kernels.MaxWidth || e.spanWidth > kernels.MaxWidth {
		return e, corrupt("group %d: values from %d to %d, widths %d and %d", i, e.lo, e.hi, e.minWidth, e.spanWidth)
	}
	return e, nil
}

// group is a decoded directory.
type group struct {
	index  int // in the sequence; -1: none
	strict bool
	blocks int
	last   int // values of the last block
	kernels.Directory
	src  []byte // the blocks, and Slack
	even bool   // all blocks have the width of the first
}

// load decodes group i, whose entry is e.
func (s *sequence) load(g *group, i int, e *groupEntry) error {
	g.index, g.strict = -1, s.strict
	n := int(min(s.n-uint64(i)*groupLen, groupLen))
	g.blocks = (n + blockLen - 1) / blockLen
	g.last = n - (g.blocks-1)*blockLen
	minBytes, spanBytes := kernels.PackedSize(g.blocks, e.minWidth), kernels.PackedSize(g.blocks, e.spanWidth)
	b, err := read(s.data, e.offset, uint64(minBytes+spanBytes))
	if err != nil {
		return err
	}
	unpack(&g.Mins, b, e.minWidth, e.lo, g.blocks)
	unpack(&g.Spans, b[minBytes:], e.spanWidth, 0, g.blocks)
	size, width, uneven := 0, int(g.width(0)), 0
	lo, most := uint64(e.lo), uint64(e.hi)-uint64(e.lo)
	bad := uint64(0) // a borrow of a block
	for j := range g.blocks {
		above, span := uint64(g.Mins[j])-lo, uint64(g.Spans[j])
		left, outside := bits.Sub64(most, above, 0)
		_, wide := bits.Sub64(left, span, 0)
		bad |= outside | wide
		w := bits.Len64(span)
		g.Offsets[j] = uint32(size)
		size += blockLen / 8 * w
		uneven |= w ^ width
	}
	g.even = uneven == 0
	if bad != 0 {
		return g.outside(i, e)
	}
	size -= kernels.PackedSize(blockLen, g.width(g.blocks-1)) - kernels.PackedSize(g.last, g.width(g.blocks-1))
	if b, err = read(s.data, e.offset+uint64(minBytes+spanBytes), uint64(size)); err != nil {
		return err
	}
	g.src, g.index = b[:size+kernels.Slack], i
	return nil
}

// outside names the first block of group i that exceeds the group's bounds.
func (g *group) outside(i int, e *groupEntry) error {
	for j := range g.blocks {
		least, span := g.Mins[j], uint64(g.Spans[j])
		if uint64(least)-uint64(e.lo) > uint64(e.hi)-uint64(e.lo) || span > uint64(e.hi)-uint64(least) {
			return corrupt("group %d, block %d: from %d, span %d, in a group from %d to %d", i, j, least, span, e.lo, e.hi)
		}
	}
	return corrupt("group %d: other bounds than from %d to %d", i, e.lo, e.hi)
}

// loadAt is load without the entry.
func (s *sequence) loadAt(g *group, i int) error {
	if g.index == i {
		return nil
	}
	e, err := s.entry(i)
	if err != nil {
		g.index = -1
		return err
	}
	return s.load(g, i, &e)
}

func (g *group) size(j int) int {
	if j == g.blocks-1 {
		return g.last
	}
	return blockLen
}

func (g *group) width(j int) uint8 { return uint8(bits.Len64(uint64(g.Spans[j]))) }

// packed returns the bytes of block j, for kernels that read a whole block and Slack.
func (g *group) packed(j int, buf *packedBuf) []byte {
	src, n, width := g.src[g.Offsets[j]:], g.size(j), g.width(j)
	if n == blockLen {
		return src
	}
	return buf.fill(src[:kernels.PackedSize(n, width)])
}

// block decodes block j and returns the number of its values.
func (g *group) block(j int, dst *[blockLen]int64) (int, error) {
	n, least, span := g.size(j), g.Mins[j], uint64(g.Spans[j])
	if span == 0 {
		for i := range dst {
			dst[i] = least
		}
		return n, nil
	}
	width := g.width(j)
	unpack(dst, g.src[g.Offsets[j]:], width, least, n)
	if g.strict && span != 1<<width-1 {
		for _, v := range dst[:n] {
			if uint64(v)-uint64(least) > span {
				return 0, corrupt("group %d, block %d: value %d, the span from %d is %d", g.index, j, v, least, span)
			}
		}
	}
	return n, nil
}

// at decodes one value.
func (g *group) at(j, i int) (int64, error) {
	least, span := g.Mins[j], uint64(g.Spans[j])
	if span == 0 {
		return least, nil
	}
	v := kernels.At(g.src[g.Offsets[j]:], i, g.width(j))
	if g.strict && v > span {
		return 0, corrupt("group %d, block %d: value %d from %d, the span is %d", g.index, j, v, least, span)
	}
	return least + int64(v), nil
}

// packedBuf completes a partial block with zeros.
type packedBuf [blockLen/8*kernels.MaxWidth + kernels.Slack]byte

func (buf *packedBuf) fill(src []byte) []byte {
	clear(buf[copy(buf[:], src):])
	return buf[:]
}

// unpack decodes n values; those after are undefined. src has Slack bytes after the values.
func unpack(dst *[blockLen]int64, src []byte, width uint8, add int64, n int) {
	if width == 0 {
		for i := range dst[:n] {
			dst[i] = add
		}
		return
	}
	if n < blockLen {
		var buf packedBuf
		src = buf.fill(src[:kernels.PackedSize(n, width)])
	}
	kernels.Unpack(dst, src, width, add)
}

// reader gives random access to a sequence, for one goroutine.
type reader struct {
	s       *sequence
	g       group
	block   int // in values; -1: none
	touched int // a block of which one value was read
	n       int
	values  [blockLen]int64
}

func newReader(s *sequence) *reader {
	return &reader{s: s, g: group{index: -1}, block: -1, touched: -1}
}

// at returns value i. The second value of a block decodes it.
func (r *reader) at(i uint64) (int64, error) {
	block := int(i / blockLen)
	if block != r.block {
		if err := r.s.loadAt(&r.g, block/groupBlocks); err != nil {
			return 0, err
		}
		if block != r.touched {
			r.touched = block
			return r.g.at(block%groupBlocks, int(i%blockLen))
		}
		if _, err := r.load(block); err != nil {
			return 0, err
		}
	}
	return r.values[i%blockLen], nil
}

// load returns the values of a block, valid until the next call.
func (r *reader) load(block int) ([]int64, error) {
	if block != r.block {
		r.block = -1
		err := r.s.loadAt(&r.g, block/groupBlocks)
		if err == nil {
			r.n, err = r.g.block(block%groupBlocks, &r.values)
		}
		if err != nil {
			return nil, err
		}
		r.block = block
	}
	return r.values[:r.n], nil
}
