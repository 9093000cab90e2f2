package codec

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"sort"
)

type pefList struct {
	n          int // number of DocIDs
	partitions int
	heads      []byte
	tables     []byte
	data       []byte // and the bytes after the list
}

func openPEF(list []byte, n int) (l pefList, err error) {
	partitions, a := binary.Uvarint(list)
	size, b := binary.Uvarint(list[max(a, 0):])
	at := a + b
	if a <= 0 || b <= 0 || n < 1 || uint64(n) > uint64(NoBase) || partitions < 1 || partitions > uint64(n) {
		return l, fmt.Errorf("pef: %d partitions of %d DocIDs: %w", partitions, n, ErrCorrupt)
	}
	heads := (partitions - 1) / BlockLen * headSize
	if left := uint64(len(list) - at); heads > left || size > left-heads {
		return l, fmt.Errorf("pef: tables of %d and %d bytes of %d: %w", heads, size, left, ErrCorrupt)
	}
	list = list[at:]
	l = pefList{n: n, partitions: int(partitions), heads: list[:heads], tables: list[heads : heads+size], data: list[heads+size:]}
	return l, nil
}

func (l *pefList) groups() int { return 1 + len(l.heads)/headSize }

type pefGroup struct {
	groupStart
	size                   int // number of partitions
	widths                 [3]uint8
	positions, lasts, bits []byte
}

// group opens group g, which must exist.
func (l *pefList) group(g int) (t pefGroup, err error) {
	t.last = NoBase
	table := l.tables
	if g > 0 {
		head := l.heads[headSize*(g-1):]
		t.pos, t.last = binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint32(head[4:])
		t.groupStart.bits = binary.LittleEndian.Uint64(head[8:])
		table = table[min(int(binary.LittleEndian.Uint32(head[16:])), len(table)):]
	}
	t.size = min(BlockLen, l.partitions-g*BlockLen)
	if len(table) >= len(t.widths) {
		copy(t.widths[:], table)
		table = table[len(t.widths):]
		first, a := binary.Uvarint(table)
		second, b := binary.Uvarint(table[max(a, 0):])
		if a > 0 && b > 0 {
			table = table[a+b:]
			if left := uint64(len(table)); first <= left && second <= left-first {
				t.positions, t.lasts, t.bits = table[:first], table[first:first+second], table[first+second:]
				return t, nil
			}
		}
	}
	return t, fmt.Errorf("pef: table of group %d is cut off: %w", g, ErrCorrupt)
}

// end returns the state after partition k, which precedes the next one.
func (t *pefGroup) end(k int) (s groupStart, err error) {
	if s.pos, err = (EF{}).DocIDAt(t.positions, t.pos, k, t.size, t.widths[0]); err != nil {
		return s, err
	}
	if s.last, err = (EF{}).DocIDAt(t.lasts, t.last, k, t.size, t.widths[1]); err != nil {
		return s, err
	}
	data, err := EF{}.DocIDAt(t.bits, NoBase, k, t.size, t.widths[2])
	s.bits = t.groupStart.bits + uint64(data) - uint64(k)
	return s, err
}

// finish returns the last partition's data bits, and checks that it ends the list.
func (l *pefList) finish() (uint64, error) {
	t, err := l.group(l.groups() - 1)
	if err != nil {
		return 0, err
	}
	end, err := t.end(t.size - 1)
	if err != nil {
		return 0, err
	}
	if int(end.pos) != l.n || end.bits > 8*uint64(len(l.data)) {
		return 0, fmt.Errorf("pef: partitions have %d DocIDs in %d bits, want %d in %d bytes: %w", end.pos, end.bits, l.n, len(l.data), ErrCorrupt)
	}
	return end.bits, nil
}

type partition struct {
	table      pefGroup
	group, k   int
	start, end int    // number of DocIDs before it, and including it
	base, last uint32 // the DocID before, or NoBase; the last of the partition
	from, to   uint64 // bits of data
}

// find returns the partition with DocID number pos, below n.
func (l *pefList) find(pos int) (p partition, err error) {
	p.group = sort.Search(len(l.heads)/headSize, func(g int) bool {
		return uint64(binary.LittleEndian.Uint32(l.heads[headSize*g:])) > uint64(pos)
	})
	if p.table, err = l.group(p.group); err != nil {
		return p, err
	}
	low, err := p.table.search(pos)
	if err != nil {
		return p, err
	}
	before := p.table.groupStart
	if low > 0 {
		if before, err = p.table.end(low - 1); err != nil {
			return p, err
		}
	}
	p.k = low
	if err = p.set(l, before); err == nil && (p.start > pos || p.end <= pos) {
		err = fmt.Errorf("pef: no partition contains DocID %d of %d: %w", pos, l.n, ErrCorrupt)
	}
	return p, err
}

// search returns the first partition that ends after pos, or the number of partitions.
func (t *pefGroup) search(pos int) (int, error) {
	if t.size == BlockLen { // decoding all is faster than seven selects
		var ends [BlockLen]uint32
		_, err := EF{}.DecodeDocIDs(&ends, t.positions, t.pos, t.size, t.widths[0])
		return sort.Search(BlockLen, func(k int) bool { return uint64(ends[k]) > uint64(pos) }), err
	}
	low, high := 0, t.size
	for low < high {
		k := (low + high) / 2
		end, err := EF{}.DocIDAt(t.positions, t.pos, k, t.size, t.widths[0])
		if err != nil {
			return 0, err
		}
		if uint64(end) > uint64(pos) {
			high = k
		} else {
			low = k + 1
		}
	}
	return low, nil
}

func (p *partition) next(l *pefList) (err error) {
	before := groupStart{pos: uint32(p.end), last: p.last, bits: p.to}
	if p.k++; p.k == p.table.size {
		if p.group++; p.group == l.groups() {
			return fmt.Errorf("pef: partitions of %d DocIDs of %d: %w", p.end, l.n, ErrCorrupt)
		}
		if p.table, err = l.group(p.group); err != nil {
			return err
		}
		if p.table.groupStart != before {
			return fmt.Errorf("pef: group %d does not begin at the end of the previous group: %w", p.group, ErrCorrupt)
		}
		p.k = 0
	}
	return p.set(l, before)
}

// set makes p partition k of its table, which follows the state before.
func (p *partition) set(l *pefList, before groupStart) error {
	if p.k >= p.table.size {
		return fmt.Errorf("pef: no partition %d in a group of %d: %w", p.k, p.table.size, ErrCorrupt)
	}
	end, err := p.table.end(p.k)
	if err != nil {
		return err
	}
	p.start, p.base, p.from = int(before.pos), before.last, before.bits
	p.end, p.last, p.to = int(end.pos), end.last, end.bits
	n := p.end - p.start
	switch {
	case n < 1 || n > mostPartition || p.end > l.n:
		return fmt.Errorf("pef: partition of DocIDs %d to %d of %d: %w", p.start, p.end, l.n, ErrCorrupt)
	case uint64(p.base+1)+uint64(n) > uint64(p.last)+1:
		return fmt.Errorf("pef: %d DocIDs from %d to %d: %w", n, p.base+1, p.last, ErrCorrupt)
	case p.from > p.to || p.to > 8*uint64(len(l.data)):
		return fmt.Errorf("pef: partition in bits %d to %d of %d bytes: %w", p.from, p.to, len(l.data), ErrCorrupt)
	}
	return nil
}

// decode writes DocIDs from, from+1, … to dst, which has at least one element and at
// most the number that is left.
func (p *partition) decode(dst []uint32, data []byte, from int) error {
	n := p.end - p.start - 1
	first := p.base + 1
	if from+len(dst) > n {
		dst[len(dst)-1] = p.last
		dst = dst[:len(dst)-1]
	}
	most := p.last - first - uint32(n)
	if most == 0 || len(dst) == 0 {
		for i := range dst {
			dst[i] = first + uint32(from+i)
		}
		return nil
	}
	width := lowWidth(uint64(most)+1, n)
	low := int(p.from)
	u := unary{src: data, bit: low + n*int(width)}
	u.most = min(int(p.to)-u.bit, 3*n-1)
	bit := -1
	if u.most > 0 {
		bit = u.end(from)
	}
	if bit < 0 || !u.from(dst, bit, from) {
		return fmt.Errorf("pef: %d DocIDs do not end in their bits: %w", n, ErrCorrupt)
	}
	if low += from * int(width); (low+len(dst)*int(width))/8+8 <= len(data) {
		// As below, without checks for the end of data.
		mask, before, fits := uint64(1)<<width-1, uint64(0), true
		for i, high := range dst {
			left := uint64(high)<<width | binary.LittleEndian.Uint64(data[low/8:])>>(low%8)&mask
			fits = fits && before <= left
			before = left
			low += int(width)
			dst[i] = first + uint32(from+i) + uint32(left)
		}
		if !fits || before > uint64(most) {
			return fmt.Errorf("pef: DocIDs of a partition do not increase: %w", ErrCorrupt)
		}
		return nil
	}
	before := uint64(0)
	for i, high := range dst {
		left := uint64(high)<<width | bitsAt(data, low+i*int(width), width)
		if left < before || left > uint64(most) {
			return fmt.Errorf("pef: DocID %d of a partition does not increase: %w", from+i, ErrCorrupt)
		}
		before = left
		dst[i] = first + uint32(from+i) + uint32(left)
	}
	return nil
}

// from writes the high parts of values i, i+1, … to dst. bit is the index of one bit i.
func (u *unary) from(dst []uint32, bit, i int) bool {
	at, from := (u.bit+bit)/8, bit-(u.bit+bit)%8
	word := u.word(at) >> (bit - from) << (bit - from)
	for j := 0; ; word = u.word(at) {
		for ; word != 0; word &= word - 1 {
			if bit = from + bits.TrailingZeros64(word); bit >= u.most {
				return false
			}
			dst[j] = uint32(bit - i - j)
			if j++; j == len(dst) {
				return true
			}
		}
		at, from = at+8, from+64
		if from >= u.most {
			return false
		}
	}
}

// bitsAt returns width bits, at most 32, from a bit of src, which must contain them.
func bitsAt(src []byte, bit int, width uint8) uint64 {
	at := bit / 8
	var word uint64
	if at+8 <= len(src) {
		word = binary.LittleEndian.Uint64(src[at:])
	} else {
		for j, b := range src[min(at, len(src)):] {
			word |= uint64(b) << (8 * j)
		}
	}
	return word >> (bit % 8) & (1<<width - 1)
}
