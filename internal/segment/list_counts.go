package segment

import (
	"cmp"
	"encoding/binary"
	"iter"
	"math"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
)

// listCount is the number of deleted documents in a list. Keys are spread evenly over the 64-bit
// numbers, so that a search finds one in a few steps.
type listCount struct {
	key   uint64
	count uint32
}

// listCounts are listCounts by key, in 9 bytes each. They do not change.
type listCounts struct {
	keys   []uint64
	counts []uint8     // largeCount: in large
	large  []listCount // by key
}

const largeCount = math.MaxUint8

func (c *listCounts) grow(n int) {
	c.keys, c.counts = make([]uint64, 0, n), make([]uint8, 0, n)
}

// add adds a count with a higher key than the former ones have.
func (c *listCounts) add(key uint64, count uint32) {
	c.keys = append(c.keys, key)
	if count >= largeCount {
		c.large = append(c.large, listCount{key, count})
		count = largeCount
	}
	c.counts = append(c.counts, uint8(count))
}

func (c *listCounts) len() int { return len(c.keys) }

func (c *listCounts) at(i int) uint32 {
	if n := c.counts[i]; n < largeCount {
		return uint32(n)
	}
	at, _ := slices.BinarySearchFunc(c.large, c.keys[i], func(l listCount, key uint64) int { return cmp.Compare(l.key, key) })
	return c.large[at].count
}

func (c *listCounts) all() iter.Seq[listCount] {
	return func(yield func(listCount) bool) {
		large := c.large
		for i, key := range c.keys {
			l := listCount{key, uint32(c.counts[i])}
			if l.count == largeCount {
				l, large = large[0], large[1:]
			}
			if !yield(l) {
				return
			}
		}
	}
}

// find is an interpolation search, in at most 64 steps, which then halve the range. It returns 0 if the key is not there.
func (c *listCounts) find(key uint64) uint32 {
	low, high := 0, len(c.keys) // the range that can have the key
	least, most := uint64(0), uint64(math.MaxUint64)
	for step := 0; low < high; step++ {
		at := low + (high-low)/2
		if span := most - least; step < 8 && span > 0 {
			at = low + min(int(float64(key-least)/float64(span)*float64(high-low)), high-low-1)
		}
		switch k := c.keys[at]; {
		case k == key:
			return c.at(at)
		case k < key:
			low, least = at+1, k+1
		default:
			high, most = at, k-1
		}
	}
	return 0
}

// with adds counts, which are by key, and leaves c unchanged.
func (c *listCounts) with(added []listCount) (sum listCounts) {
	n, at := len(c.keys)+len(added), 0
	for i := range added {
		for at < len(c.keys) && c.keys[at] < added[i].key {
			at++
		}
		if at < len(c.keys) && c.keys[at] == added[i].key {
			n--
		}
	}
	sum.grow(n)
	large := 0
	for i := 0; i < len(c.keys) || len(added) > 0; {
		var l listCount
		if i < len(c.keys) && (len(added) == 0 || c.keys[i] <= added[0].key) {
			if l = (listCount{c.keys[i], uint32(c.counts[i])}); l.count == largeCount {
				l = c.large[large]
				large++
			}
			i++
		} else {
			l.key = added[0].key
		}
		if len(added) > 0 && added[0].key == l.key {
			l.count += added[0].count
			added = added[1:]
		}
		sum.add(l.key, l.count)
	}
	return sum
}

const listCountBytes = 12

func (c *listCounts) append(dst []byte) []byte {
	dst = slices.Grow(dst, 8+listCountBytes*c.len())
	dst = binary.LittleEndian.AppendUint64(dst, uint64(c.len()))
	for l := range c.all() {
		dst = binary.LittleEndian.AppendUint64(dst, l.key)
		dst = binary.LittleEndian.AppendUint32(dst, l.count)
	}
	return dst
}

// decodeListCounts decodes all that follows the number of lists.
func decodeListCounts(src []byte, n uint64) (c listCounts, ok bool) {
	if uint64(len(src))%listCountBytes != 0 || uint64(len(src))/listCountBytes != n {
		return c, false
	}
	c.grow(int(n))
	for len(src) > 0 {
		l := listCount{binary.LittleEndian.Uint64(src), binary.LittleEndian.Uint32(src[8:])}
		if n := c.len(); n > 0 && l.key <= c.keys[n-1] || l.count == 0 {
			return c, false
		}
		c.add(l.key, l.count)
		src = src[listCountBytes:]
	}
	return c, true
}

// The finaliser of MurmurHash3, a permutation of the 64-bit numbers.
func listKey(id base.ListID) uint64 {
	x := uint64(id)
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
