package residency

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/vfs"
)

// ColumnRange is the documents of a segment with a value from Lo to Hi in a column, or with one of Values.
type ColumnRange struct {
	Column *column.Column
	Name   string
	Number int // of the column in its segment
	Lo, Hi int64
	// Values, if not nil, rise from Lo to Hi, in at most MaxRuns runs of consecutive ones.
	Values []int64
}

// MaxRuns is the maximum number of runs in ColumnRange.Values.
const MaxRuns = 16

// On a device a column has one number for each document of the shard: 0 without a value, else the value
// less the least one, plus 1, in 16, 32 or 64 bits.

// flatBytes returns the size of a number, 0 if the column has none of this form: a document has several
// values, or these differ by 2^64 - 1.
func flatBytes(c *column.Column) int64 {
	lo, hi := c.Bounds()
	switch span := uint64(hi) - uint64(lo); {
	case c.MultiValued() || span == math.MaxUint64:
		return 0
	case span < math.MaxUint16:
		return 2
	case span < math.MaxUint32:
		return 4
	}
	return 8
}

// IsFlat reports whether a device can hold the column of a range.
func (r *ColumnRange) IsFlat() bool { return flatBytes(r.Column) > 0 }

// runs sets the numbers of the range, and returns how many runs they are.
func (r *ColumnRange) runs(to *[MaxRuns]run) (n int, err error) {
	if r.Values == nil {
		return r.appendRun(to, 0, r.Lo, r.Hi), nil
	}
	for from := 0; from < len(r.Values); {
		last := from
		for last+1 < len(r.Values) && r.Values[last+1] == r.Values[last]+1 {
			last++
		}
		if n == MaxRuns {
			return 0, fmt.Errorf("more than %d runs of values: %w", MaxRuns, base.ErrBadInput)
		}
		n = r.appendRun(to, n, r.Values[from], r.Values[last])
		from = last + 1
	}
	return n, nil
}

// appendRun adds the values from lo to hi that the column may have.
func (r *ColumnRange) appendRun(to *[MaxRuns]run, n int, lo, hi int64) int {
	least, most := r.Column.Bounds()
	if lo > most || hi < least || lo > hi {
		return n
	}
	to[n] = run{uint64(max(lo, least)) - uint64(least) + 1, uint64(min(hi, most)) - uint64(least) + 1}
	return n + 1
}

// run mirrors ResidencyRun.
type run struct{ lo, hi uint64 }

// rangeParams mirrors ResidencyRangeParams.
type rangeParams struct {
	values         cuda.Ptr[uint32]
	bits           cuda.Ptr[uint32]
	total          cuda.Ptr[uint32]
	count, n, keep uint32
	numRuns        uint32
	runs           [MaxRuns]run
}

const rangeThreads = 256

// ranger computes bitmaps of ranges on a device.
type ranger struct {
	module  *cuda.Module
	kernels map[int64]*cuda.Kernel // by the bytes of a number
}

func newRanger(d *cuda.Device) (*ranger, error) {
	m, err := d.LoadImage("residency", image)
	if err != nil {
		return nil, err
	}
	r := &ranger{m, map[int64]*cuda.Kernel{}}
	for bytes, name := range map[int64]string{2: "residency_range16", 4: "residency_range32", 8: "residency_range64"} {
		if r.kernels[bytes], err = cuda.LoadKernel[rangeParams](m, name); err != nil {
			return nil, errors.Join(err, m.Unload())
		}
	}
	return r, nil
}

func (r *ranger) close() error { return r.module.Unload() }

// mark sets bits to the documents of a range, or with keep clears the bits of the others. It adds their number to total,
// unless this is zero.
func (r *ranger) mark(s *cuda.Stream, of *ColumnRange, e *Entry, count uint32, bits, total cuda.Buffer[uint32], keep bool) error {
	p := rangeParams{values: e.packed.bits.Ptr(), bits: bits.Ptr(), total: total.Ptr(), count: count, n: uint32(bits.Len())}
	runs, err := of.runs(&p.runs)
	if err != nil {
		return err
	}
	p.numRuns = uint32(runs)
	if keep {
		p.keep = 1
	}
	blocks := (bits.Len() + rangeThreads - 1) / rangeThreads
	return cuda.Launch(s, r.kernels[flatBytes(of.Column)], cuda.D1(blocks), cuda.D1(rangeThreads), 0, &p)
}

// columnGain is the time in which the CPU computes a range.
func columnGain(numDocs uint32) float64 { return 2000 + float64(numDocs)/2 }

// column returns the pinned column of a range in a shard, uploaded if there is room, as how says; nil if not.
func (u *Uploader) column(p *Shard, of *ColumnRange, c *Counts, how admission) (_ *Entry, err error) {
	if !of.IsFlat() {
		return nil, nil
	}
	return u.columnWords(p, of.Name, of.Number, flatWords(of.Column, p)*4, c, how, func() ([]uint32, error) { return flatColumn(of.Column, p.from, p.to) })
}

// columnWords returns the pinned column of a number, uploaded if it is worth its memory; nil if not.
func (u *Uploader) columnWords(p *Shard, name string, number int, size int64, c *Counts, how admission, read func() ([]uint32, error)) (_ *Entry, err error) {
	k := listKey{shard: p.id, kind: kindColumn, list: base.ListID(number)}
	if e := u.d.cache.find(k); e != nil {
		return e, nil
	}
	if e := u.d.cache.claim(k); e != nil {
		return e, nil
	}
	defer u.d.cache.unclaim(k)
	defer u.abandonOnError(&err)
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	began, before := time.Now(), u.bytes
	if size > u.d.limit[0].Load() {
		return nil, nil
	}
	e := u.d.cache.acquire(k, term{}, size, 1, columnGain(p.to-p.from), how)
	if e == nil {
		return nil, nil
	}
	u.making = e
	e.packed.bits = u.d.memory(e.extent).Slice(0, int(size/4))
	words, err := read()
	if err != nil {
		return nil, err
	}
	if err := u.copyWords(e.packed.bits, words); err != nil {
		return nil, err
	}
	if err := u.finish(e); err != nil {
		return nil, err
	}
	p.nameColumn(number, name)
	c.ListBytes += u.bytes - before
	c.Uploading += time.Since(began)
	return e, nil
}

// flatWords is the length of a flat column: whole groups of eight documents, which kernels read.
func flatWords(c *column.Column, p *Shard) int64 {
	return (int64(p.to-p.from) + 7) / 8 * 8 * flatBytes(c) / 4
}

// flatColumn returns the numbers of the documents [from, to).
func flatColumn(c *column.Column, from, to uint32) ([]uint32, error) {
	size := int(flatBytes(c))
	least, _ := c.Bounds()
	flat := make([]byte, (int(to-from)+7)/8*8*size)
	err := c.Scan(nil, func(docs []base.DocID, values []int64) error {
		for i, d := range docs {
			if uint32(d) < from || uint32(d) >= to {
				continue
			}
			number, at := uint64(values[i])-uint64(least)+1, int(uint32(d)-from)*size
			switch size {
			case 2:
				binary.LittleEndian.PutUint16(flat[at:], uint16(number))
			case 4:
				binary.LittleEndian.PutUint32(flat[at:], uint32(number))
			default:
				binary.LittleEndian.PutUint64(flat[at:], number)
			}
		}
		return nil
	})
	words := make([]uint32, len(flat)/4)
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(flat[4*i:])
	}
	return words, err
}

// columns returns the pinned columns of ranges, in their order, or none if one is not on the device.
func (u *Uploader) columns(p *Shard, ranges []ColumnRange, c *Counts) (pinned []*Entry, err error) {
	for i := range ranges {
		e, err := u.column(p, &ranges[i], c, ifBetter)
		if e == nil || err != nil {
			unpinAll(pinned)
			return nil, err
		}
		pinned = append(pinned, e)
	}
	return pinned, nil
}

func unpinAll(entries []*Entry) {
	for _, e := range entries {
		e.Unpin()
	}
}

// markRanges computes the bitmap of the documents in all ranges, and their number, in stream order.
func (u *Uploader) markRanges(p *Shard, ranges []ColumnRange, columns []*Entry, bits, total cuda.Buffer[uint32]) error {
	if err := cuda.Fill(u.stream, total, 0); err != nil {
		return err
	}
	for i, e := range columns {
		if !e.loaded.Load() && e.lane != u.number {
			if err := u.stream.Wait(u.d.uploaders[e.lane].events[e.event]); err != nil {
				return err
			}
		}
		var counted cuda.Buffer[uint32]
		if i == len(columns)-1 {
			counted = total
		}
		if err := u.d.own.ranger.mark(u.stream, &ranges[i], e, p.to-p.from, bits, counted, i > 0); err != nil {
			return err
		}
	}
	return nil
}
