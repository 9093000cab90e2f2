package column

import (
	"slices"

	kernels "github.com/griffin-search/griffin/internal/simd/column"
)

// Range ORs the documents with a value in [lo, hi] into words.
func (c *Column) Range(lo, hi int64, words []uint64) error {
	if err := c.checkWords(words); err != nil {
		return c.fail(err)
	}
	if lo > hi || hi < c.lo || lo > c.hi {
		return nil
	}
	if lo <= c.lo && hi >= c.hi {
		return c.fail(c.presence.exists(words))
	}
	return c.fail(c.match(words, func(set []uint64) error { return c.values.inRange(lo, hi, set) }))
}

// inRange adds the positions of the values in [lo, hi].
func (s *sequence) inRange(lo, hi int64, set []uint64) error {
	g := group{index: -1}
	var buf packedBuf
	for i := range s.numGroups() {
		e, err := s.entry(i)
		if err != nil {
			return err
		}
		if e.lo > hi || e.hi < lo {
			continue
		}
		if e.lo >= lo && e.hi <= hi {
			first := uint64(i) * groupLen
			setBits(set, first, min(first+groupLen, s.n))
			continue
		}
		if err := s.load(&g, i, &e); err != nil {
			return err
		}
		for j := range g.blocks {
			g.inRange(j, lo, hi, set, &buf)
		}
	}
	return nil
}

func (g *group) inRange(j int, lo, hi int64, set []uint64, buf *packedBuf) {
	least := g.Mins[j]
	most := int64(uint64(least) + uint64(g.Spans[j]))
	if least > hi || most < lo {
		return
	}
	at, n := g.index*groupBlocks+j, g.size(j)
	var bits [2]uint64
	if least >= lo && most <= hi {
		bits = [2]uint64{^uint64(0), ^uint64(0)}
	} else {
		from := uint64(max(lo, least)) - uint64(least)
		to := uint64(min(hi, most)) - uint64(least)
		kernels.Range(&bits, g.packed(j, buf), g.width(j), from, to)
	}
	orBlock(set, at, &bits, n)
}

// Set ORs the documents with one of the values, strictly rising, into words.
func (c *Column) Set(values []int64, words []uint64) error {
	if err := c.checkWords(words); err != nil {
		return c.fail(err)
	}
	values = between(values, c.lo, c.hi)
	if len(values) == 0 {
		return nil
	}
	if consecutive(values) {
		return c.Range(values[0], values[len(values)-1], words)
	}
	return c.fail(c.match(words, func(set []uint64) error { return c.values.isOneOf(values, set) }))
}

// The part of sorted values in [lo, hi].
func between(values []int64, lo, hi int64) []int64 {
	from, _ := slices.BinarySearch(values, lo)
	to, found := slices.BinarySearch(values, hi)
	if found {
		to++
	}
	return values[from:max(from, to)]
}

func consecutive(values []int64) bool {
	return uint64(values[len(values)-1])-uint64(values[0]) == uint64(len(values)-1)
}

const (
	// With more ranges, decoding a block is faster.
	maxRanges = 12
	// Values in a smaller interval are tested in a bitmap of it.
	maxMembers = 1 << 24
)

// valueSet is values, and a bitmap of them, nil if it would be too large.
type valueSet struct {
	values  []int64
	members []uint64
}

func newValueSet(values []int64) *valueSet {
	s := &valueSet{values: values}
	first := uint64(values[0])
	if span := uint64(values[len(values)-1]) - first; span < maxMembers && len(values) > maxRanges {
		s.members = make([]uint64, span/64+1)
		for _, v := range values {
			at := uint64(v) - first
			s.members[at/64] |= 1 << (at % 64)
		}
	}
	return s
}

func (s *valueSet) has(v int64) bool {
	if s.members != nil {
		at := uint64(v) - uint64(s.values[0])
		return at/64 < uint64(len(s.members)) && s.members[at/64]>>(at%64)&1 != 0
	}
	_, found := slices.BinarySearch(s.values, v)
	return found
}

// isOneOf adds the positions of the values that are in all.
func (s *sequence) isOneOf(all []int64, set []uint64) error {
	wanted := newValueSet(all)
	g := group{index: -1}
	var buf packedBuf
	var decoded [blockLen]int64
	for i := range s.numGroups() {
		e, err := s.entry(i)
		if err != nil {
			return err
		}
		here := between(all, e.lo, e.hi)
		if len(here) == 0 {
			continue
		}
		if err := s.load(&g, i, &e); err != nil {
			return err
		}
		for j := range g.blocks {
			least := g.Mins[j]
			values := between(here, least, int64(uint64(least)+uint64(g.Spans[j])))
			switch {
			case len(values) == 0:
			case len(values) <= maxRanges:
				g.inRanges(j, values, set, &buf)
			default:
				n, err := g.block(j, &decoded)
				if err != nil {
					return err
				}
				var bits [2]uint64
				for i, v := range decoded[:n] {
					if wanted.has(v) {
						bits[i/64] |= 1 << (i % 64)
					}
				}
				orBlock(set, i*groupBlocks+j, &bits, n)
			}
		}
	}
	return nil
}

// inRanges adds the positions in block j of the values, by runs of consecutive ones.
func (g *group) inRanges(j int, values []int64, set []uint64, buf *packedBuf) {
	for first := 0; first < len(values); {
		last := first
		for last+1 < len(values) && values[last+1] == values[last]+1 {
			last++
		}
		g.inRange(j, values[first], values[last], set, buf)
		first = last + 1
	}
}
