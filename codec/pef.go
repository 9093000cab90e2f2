package codec

import (
	"encoding/binary"
	"fmt"
)

// PEF is the partitioned Elias-Fano code of lists, with partitions of unequal lengths, chosen
// to make the list nearly as small as possible. Blocks and frequencies are coded as in EF.
//
//	+---+------+--------------------+-------------------+----------------------+
//	| P | size | G-1 heads of 20    | G tables, size    | data of partitions   |
//	+---+------+--------------------+-------------------+----------------------+
//	 uvarint: partitions, bytes of the tables
//
// A group's table, up to 128 partitions, has their ends (DocIDs up to there), last DocIDs, and
// ends of data: three increasing sequences, encoded as EF blocks.
//
//	+----+----+----+--------+--------+---------------+-------------+-------------+
//	| widths of EF | uvarint: sizes  | ends          | last DocIDs | ends of data|
//	|              | of the first two|               |             | plus number |
//	+----+----+----+--------+--------+---------------+-------------+-------------+
//
// Each group but the first has a head, the state before it: number of DocIDs (4 bytes), the
// last (4), bits of data (8), start of the group's table (4).
//
// A partition of n DocIDs is the Elias-Fano code of the first n-1, as in an EF block, the last
// being the upper bound. It is empty if n is 1 or no DocID is skipped, and not aligned to
// bytes.
//
// Finding a DocID takes two searches and a select.
//
// Worked bytes: DocIDs 5, 7, 10, 18, 22, 38 are one partition, with a table of 8 bytes: 0x01,
// 0x08; the sequences 6, 38 and 19, of widths 3, 6 and 5, one byte each: 0x03, 0x06, 0x05,
// 0x01, 0x01, 0x09, 0x46, 0x23. The data are v = 5, 6, 8, 15, 18 with 2 low bits (as in EF),
// 19 bits: 0xc9, 0x5a, 0x05 (tested).
//
// Ottaviano and Venturini, "Partitioned Elias-Fano indexes", SIGIR 2014. We differ: tables are
// in groups of fixed size rather than one Elias-Fano code with samples; one form replaces the
// paper's three (see EF); partitions have at most 4,096 DocIDs and end at each 65,536th. On the
// wiki passages (docs/benchmarks/compression.md) DocIDs take 7.94 bits including tables; EF
// takes 8.05 and a directory. Decoding is many times slower.
type PEF struct{ EF }

var _ ListCodec = PEF{}

// Name returns "pef".
func (PEF) Name() string { return "pef" }

const headSize = 20

// AppendList implements ListCodec.
func (PEF) AppendList(dst []byte, docIDs []uint32) []byte {
	var ends []int
	p := newPartitioner(docIDs)
	for from := 0; from < len(docIDs); from += stretch {
		base := NoBase
		if from > 0 {
			base = docIDs[from-1]
		}
		for _, end := range p.split(docIDs[from:min(from+stretch, len(docIDs))], base) {
			ends = append(ends, from+end)
		}
	}
	var heads, tables []byte
	data := bitWriter{}
	before := groupStart{last: NoBase}
	for first := 0; first < len(ends); first += BlockLen {
		if first > 0 {
			heads = before.append(heads, len(tables))
		}
		tables = before.appendTable(tables, &data, docIDs, ends[first:min(first+BlockLen, len(ends))])
	}
	dst = binary.AppendUvarint(dst, uint64(len(ends)))
	dst = binary.AppendUvarint(dst, uint64(len(tables)))
	dst = append(append(dst, heads...), tables...)
	return append(dst, data.finish()...)
}

type groupStart struct {
	pos  uint32 // number of DocIDs
	last uint32 // the last of them, or NoBase
	bits uint64 // bits of data
}

func (s *groupStart) append(dst []byte, table int) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, s.pos)
	dst = binary.LittleEndian.AppendUint32(dst, s.last)
	dst = binary.LittleEndian.AppendUint64(dst, s.bits)
	return binary.LittleEndian.AppendUint32(dst, uint32(table))
}

// appendTable appends a group's table and partitions, and advances s past the group.
func (s *groupStart) appendTable(dst []byte, data *bitWriter, docIDs []uint32, ends []int) []byte {
	var positions, lasts, bits [BlockLen]uint32
	now := *s
	for k, end := range ends {
		partition := docIDs[now.pos:end]
		now.bits += uint64(appendPartition(data, partition, now.last))
		now.pos, now.last = uint32(end), partition[len(partition)-1]
		positions[k], lasts[k], bits[k] = now.pos, now.last, uint32(now.bits-s.bits)+uint32(k)
	}
	n := len(ends)
	var codes []byte
	var widths [3]uint8
	var sizes [3]int
	for i, of := range []struct {
		values []uint32
		base   uint32
	}{{positions[:n], s.pos}, {lasts[:n], s.last}, {bits[:n], NoBase}} {
		from := len(codes)
		codes, widths[i] = EF{}.AppendDocIDs(codes, of.base, of.values)
		sizes[i] = len(codes) - from
	}
	dst = append(dst, widths[:]...)
	dst = binary.AppendUvarint(dst, uint64(sizes[0]))
	dst = binary.AppendUvarint(dst, uint64(sizes[1]))
	*s = now
	return append(dst, codes...)
}

// appendPartition appends a partition and returns its size in bits.
func appendPartition(w *bitWriter, docIDs []uint32, base uint32) int {
	n := len(docIDs) - 1
	most := docIDs[n] - base - uint32(n+1)
	if n == 0 || most == 0 {
		return 0
	}
	width := lowWidth(uint64(most)+1, n)
	left := func(i int) uint32 { return docIDs[i] - base - 1 - uint32(i) }
	for i := range n {
		w.put(uint64(left(i))&(1<<width-1), uint(width))
	}
	before := uint32(0)
	for i := range n {
		w.zeros(uint64(left(i)>>width - before))
		before = left(i) >> width
	}
	return efBits(n, left(n-1), width)
}

// ListSize implements ListCodec.
func (PEF) ListSize(list []byte, n int) (int, error) {
	l, err := openPEF(list, n)
	if err != nil {
		return 0, err
	}
	bits, err := l.finish()
	if err != nil {
		return 0, err
	}
	return len(list) - len(l.data) + int((bits+7)/8), nil
}

// DecodeBlock implements ListCodec.
func (PEF) DecodeBlock(dst *[BlockLen]uint32, list []byte, n, i int) (int, error) {
	l, err := openPEF(list, n)
	if err != nil {
		return 0, err
	}
	if i < 0 || i > (n-1)/BlockLen {
		return 0, fmt.Errorf("pef: block %d of a list of %d: %w", i, n, ErrCorrupt)
	}
	return l.block(dst, i)
}

// block decodes block i, which must exist, and returns the number of its DocIDs.
func (l *pefList) block(dst *[BlockLen]uint32, i int) (int, error) {
	pos := i * BlockLen
	size := min(BlockLen, l.n-pos)
	p, err := l.find(pos)
	for done := 0; err == nil; {
		from := pos + done - p.start
		count := min(p.end-p.start-from, size-done)
		if err = p.decode(dst[done:done+count], l.data, from); err != nil {
			break
		}
		if done += count; done == size {
			return size, nil
		}
		err = p.next(l)
	}
	return 0, err
}

// DecodeList implements ListCodec.
func (PEF) DecodeList(dst []uint32, list []byte) error {
	l, err := openPEF(list, len(dst))
	if err != nil {
		return err
	}
	if _, err := l.finish(); err != nil {
		return err
	}
	var block [BlockLen]uint32
	least := uint64(0)
	for i := 0; i*BlockLen < len(dst); i++ {
		size, err := l.block(&block, i)
		if err != nil {
			return err
		}
		if uint64(block[0]) < least {
			return fmt.Errorf("pef: block %d begins with DocID %d, want at least %d: %w", i, block[0], least, ErrCorrupt)
		}
		least = uint64(block[size-1]) + 1
		copy(dst[i*BlockLen:], block[:size])
	}
	return nil
}

// DocIDAt implements ListCodec. It rejects the same corrupt lists as DecodeBlock.
func (PEF) DocIDAt(list []byte, n, i int) (uint32, error) {
	l, err := openPEF(list, n)
	if err != nil {
		return 0, err
	}
	if i < 0 || i >= n {
		return 0, fmt.Errorf("pef: DocID %d of %d: %w", i, n, ErrCorrupt)
	}
	p, err := l.find(i / BlockLen * BlockLen)
	for err == nil && p.end <= i {
		err = p.next(&l)
	}
	if err != nil {
		return 0, err
	}
	var one [1]uint32
	err = p.decode(one[:], l.data, i-p.start)
	return one[0], err
}
