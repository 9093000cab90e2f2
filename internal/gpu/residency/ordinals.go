package residency

import (
	"math"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
)

// Ordinals is a column of which the values of documents are counted.
type Ordinals struct {
	Column *column.Column // nil: no document of the segment has a value
	Name   string
	Number int // of the column in its segment
}

// A device has a column in which documents have several values as lists: the number of the first value of
// each document of the shard, and the number of values, in 32 bits; then from a multiple of four words on the
// values, as in a flat column.

// HasOrdinals reports whether a device has a column.
func (d *Device) HasOrdinals(p *Shard, of *Ordinals) bool {
	return of.Column == nil || d.hasColumn(p, of.Number)
}

func (d *Device) hasColumn(p *Shard, number int) bool {
	k := listKey{shard: p.id, kind: kindColumn, list: base.ListID(number)}
	return d.records.find(k.name()).there(kindColumn)
}

// Counts reports whether a device can count the values: they are ordinals, and not too many.
func (of *Ordinals) Counts() bool {
	return of.Column == nil || of.Column.Kind() == column.Ordinals && of.NumSlots() <= imagesearch.MaxTallySlots && of.Column.NumValues() <= math.MaxInt32
}

// NumSlots is imagesearch.Values.NumSlots.
func (of *Ordinals) NumSlots() int {
	lo, hi := of.Column.Bounds()
	return int(hi-lo) + 2
}

// Least is the value of the first count but one: imagesearch.Values.
func (of *Ordinals) Least() int64 { lo, _ := of.Column.Bounds(); return lo }

// Ordinals returns the pinned column in a shard, uploaded if it is worth its memory; nil if not.
func (u *Uploader) Ordinals(p *Shard, of *Ordinals, c *Counts) (*Entry, error) {
	return u.ordinals(p, of, c, ifBetter)
}

func (u *Uploader) ordinals(p *Shard, of *Ordinals, c *Counts, how admission) (*Entry, error) {
	if !of.Column.MultiValued() {
		return u.column(p, &ColumnRange{Column: of.Column, Name: of.Name, Number: of.Number}, c, how)
	}
	size := int64(listStarts(p)+of.listWords()) * 4 // a shard may have fewer values
	return u.columnWords(p, of.Name, of.Number, size, c, how, func() ([]uint32, error) { return of.lists(p) })
}

func listStarts(p *Shard) int { return (int(p.to-p.from) + 1 + 3) / 4 * 4 }

// wide reports whether values have 32 bits.
func (of *Ordinals) wide() bool { return of.NumSlots() > math.MaxUint16 }

func (of *Ordinals) listWords() int {
	n := (of.Column.NumValues() + 7) / 8 * 8
	if of.wide() {
		return n
	}
	return n / 2
}

// lists returns the words of a column in which documents have several values.
func (of *Ordinals) lists(p *Shard) ([]uint32, error) {
	first := listStarts(p)
	words := make([]uint32, first+of.listWords())
	starts, values, wide, least := words[:p.to-p.from+1], words[first:], of.wide(), of.Least()
	n, next := uint32(0), 0
	err := of.Column.Scan(nil, func(docs []base.DocID, scanned []int64) error {
		for i, d := range docs {
			if uint32(d) < p.from || uint32(d) >= p.to {
				continue
			}
			for ; next <= int(uint32(d)-p.from); next++ {
				starts[next] = n
			}
			number := uint32(scanned[i]-least) + 1
			if wide {
				values[n] = number
			} else {
				values[n/2] |= number << (n % 2 * 16)
			}
			n++
		}
		return nil
	})
	for ; next < len(starts); next++ {
		starts[next] = n
	}
	return words, err
}

// Values returns the column of an entry of Uploader.Ordinals.
func (e *Entry) Values(p *Shard, of *Ordinals) imagesearch.Values {
	v := imagesearch.Values{Words: e.packed.bits, NumSlots: of.NumSlots()}
	if !of.Column.MultiValued() {
		v.Wide = flatBytes(of.Column) == 4
		return v
	}
	v.Wide = of.wide()
	v.Words, v.Starts = e.packed.bits.Slice(listStarts(p), e.packed.bits.Len()), e.packed.bits.Slice(0, int(p.to-p.from)+1)
	return v
}

// Orders reports whether a device can order documents by the column.
func (of *Ordinals) Orders() bool { return of.Column != nil && flatBytes(of.Column) > 0 }

// ByValue returns the order of an entry of Uploader.Ordinals.
func (e *Entry) ByValue(of *Ordinals) imagesearch.ByValue {
	lo, hi := of.Column.Bounds()
	return imagesearch.ByValue{Words: e.packed.bits, Bytes: int(flatBytes(of.Column)), Most: uint64(hi) - uint64(lo) + 1}
}

// From returns the first document of the shard in its segment.
func (p *Shard) From() base.DocID { return base.DocID(p.from) }
