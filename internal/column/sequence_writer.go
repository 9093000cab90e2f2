package column

import (
	"io"
	"math/bits"
	"slices"

	kernels "github.com/griffin-search/griffin/internal/simd/column"
)

// output counts the bytes written.
type output struct {
	w      io.Writer
	offset uint64
}

func (o *output) write(p []byte) error {
	n, err := o.w.Write(p)
	o.offset += uint64(n)
	return err
}

func (o *output) align(n uint64) error {
	var zeros [64]byte
	return o.write(zeros[:-o.offset&(n-1)])
}

// sequenceWriter writes a sequence. It buffers a group.
type sequenceWriter struct {
	out    *output
	values []int64
	n      uint64 // without values
	lo, hi int64
	table  []byte
	packed []byte
	parts  []uint64
}

func (w *sequenceWriter) add(v int64) error {
	w.values = append(w.values, v)
	if len(w.values) < groupLen {
		return nil
	}
	return w.flush()
}

func (w *sequenceWriter) flush() error {
	var mins, spans [groupBlocks]uint64
	blocks := 0
	e := groupEntry{lo: w.values[0], hi: w.values[0]}
	for block := range slices.Chunk(w.values, blockLen) {
		least, most := block[0], block[0]
		for _, v := range block[1:] {
			least, most = min(least, v), max(most, v)
		}
		mins[blocks], spans[blocks] = uint64(least), uint64(most)-uint64(least)
		e.lo, e.hi = min(e.lo, least), max(e.hi, most)
		blocks++
	}
	var minBits, spanBits uint64
	for j := range blocks {
		mins[j] -= uint64(e.lo)
		minBits |= mins[j]
		spanBits |= spans[j]
	}
	e.minWidth, e.spanWidth = uint8(bits.Len64(minBits)), uint8(bits.Len64(spanBits))
	w.packed = kernels.Append(w.packed[:0], mins[:blocks], e.minWidth)
	w.packed = kernels.Append(w.packed, spans[:blocks], e.spanWidth)
	j := 0
	for block := range slices.Chunk(w.values, blockLen) {
		w.parts = w.parts[:0]
		least := mins[j] + uint64(e.lo)
		for _, v := range block {
			w.parts = append(w.parts, uint64(v)-least)
		}
		w.packed = kernels.Append(w.packed, w.parts, uint8(bits.Len64(spans[j])))
		j++
	}
	if len(w.packed) > 0 {
		if err := w.out.align(16); err != nil {
			return err
		}
		e.offset = w.out.offset
		if err := w.out.write(w.packed); err != nil {
			return err
		}
	}
	if w.n == 0 {
		w.lo, w.hi = e.lo, e.hi
	}
	w.lo, w.hi = min(w.lo, e.lo), max(w.hi, e.hi)
	w.table = e.appendTo(w.table)
	w.n += uint64(len(w.values))
	w.values = w.values[:0]
	return nil
}

// finish writes the rest and the table, and returns the table's offset.
func (w *sequenceWriter) finish() (table uint64, err error) {
	if len(w.values) > 0 {
		if err := w.flush(); err != nil {
			return 0, err
		}
	}
	if err := w.out.align(16); err != nil {
		return 0, err
	}
	table = w.out.offset
	return table, w.out.write(w.table)
}
