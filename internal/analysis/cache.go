package analysis

import (
	"encoding/binary"
	"math/bits"

	"github.com/zeebo/xxh3"
)

// A termCache takes at most 24 B × maxCacheSlots + maxArenaBytes = 5 MiB, and twice that during
// a sweep. Twice the slots are a third faster over 16 MiB of wiki text analysed again, but take
// 3 MiB more per thread.
const (
	minCacheSlots = 1 << 10
	maxCacheSlots = 1 << 17
	maxProbes     = 16
	maxArenaBytes = 2 << 20
)

// A termCache maps words to terms, including stop-word verdicts, in bounded memory. In its
// open-addressing table, a word of up to 16 bytes is its own key, compared as two integers; a
// longer one is found by its xxh3 hash and compared byte by byte. When the table is full,
// further words are not stored until Tokens ends. The next call sweeps words that did not occur
// again since stored, of which any text has many (Zipf).
//
// Invariant: lookup's result does not depend on the table's contents, and terms do not move
// until begin.
type termCache struct {
	maker     termMaker
	foldASCII bool
	full      bool
	shift     uint // of the hash, to the index of a slot
	used      int
	slots     []cacheSlot
	arena     []byte // terms, and before the term of a long word its surface
	overflow  []byte // terms that were not stored
	word      []byte // a word, folded
	touched   uint64 // of touch
	epoch     uint64 // how often words moved to other slots
}

// A slot with lo == 0 is free.
type cacheSlot struct {
	lo, hi  uint64 // the bytes of a short word; hash and longKey|length of a long one
	offset  uint32 // of the term in the arena
	termLen uint16 // 0: the word has no term
	seen    bool   // again since it was stored, or since the last sweep
}

func (s *cacheSlot) surfaceLen() uint32 {
	if s.hi < longKey {
		return 0
	}
	return uint32(s.hi - longKey)
}

// longKey marks a long word. A short one's last byte is UTF-8, never 0xff.
const longKey = 0xff << 56

func newTermCache(foldASCII bool, maker termMaker) termCache {
	c := termCache{maker: maker, foldASCII: foldASCII}
	c.resize(minCacheSlots)
	return c
}

// begin starts a call of Tokens and may overwrite earlier terms.
func (c *termCache) begin() {
	c.overflow = c.overflow[:0]
	if c.full {
		c.sweep()
	}
}

func (c *termCache) sweep() {
	slots, arena := c.slots, c.arena
	c.slots = make([]cacheSlot, len(slots))
	c.arena = make([]byte, 0, len(arena))
	c.used, c.full = 0, false
	c.epoch++
	for _, s := range slots {
		if !s.seen || c.used >= c.capacity()/2 || len(c.arena) >= maxArenaBytes/2 {
			continue
		}
		slot, _ := c.freeSlot(s.lo, s.hi)
		if slot == nil {
			continue
		}
		*slot = s
		slot.offset = uint32(len(c.arena)) + s.surfaceLen()
		slot.seen = false
		c.arena = append(c.arena, arena[s.offset-s.surfaceLen():s.offset+uint32(s.termLen)]...)
		c.used++
	}
}

// More words grow or fill the table.
func (c *termCache) capacity() int { return len(c.slots) / 4 * 3 }

// A wordKey is a word and, unless it is long, its key and the hash of that.
type wordKey struct {
	lo, hi     uint64 // lo is 0 for a long word
	hash       uint64
	start, end int32
}

// makeKey folds A to Z, if told to.
func makeKey(text []byte, start, end int, fold bool) wordKey {
	k := wordKey{start: int32(start), end: int32(end)}
	if end-start > 16 {
		return k
	}
	k.lo, k.hi = loadWord(text, start, end-start)
	if fold {
		k.lo, k.hi = foldASCII8(k.lo), foldASCII8(k.hi)
	}
	k.hash = hashKey(k.lo, k.hi)
	return k
}

// touch reads the slots of words, so that the processor fetches them at the same time.
func (c *termCache) touch(keys []wordKey) {
	slots, mask := c.slots, uint64(len(c.slots)-1)
	touched := uint64(0)
	for i := range keys {
		touched += slots[keys[i].hash>>c.shift&mask].lo
	}
	c.touched = touched
}

// lookup returns no term for a stop word. number is the slot's, from 1; 0 if the word is in none.
func (c *termCache) lookup(text []byte, k *wordKey) (term []byte, number uint32) {
	lo, hi := k.lo, k.hi
	if lo == 0 {
		return c.lookupLong(text[k.start:k.end])
	}
	i := k.hash >> c.shift
	for range maxProbes {
		slot := &c.slots[i&uint64(len(c.slots)-1)]
		if slot.lo == lo && slot.hi == hi {
			if !slot.seen {
				slot.seen = true
			}
			return c.arena[slot.offset : slot.offset+uint32(slot.termLen) : slot.offset+uint32(slot.termLen)], uint32(i&uint64(len(c.slots)-1)) + 1
		}
		if slot.lo == 0 {
			break
		}
		i++
	}
	var key [16]byte
	binary.LittleEndian.PutUint64(key[:], lo)
	binary.LittleEndian.PutUint64(key[8:], hi)
	c.word = append(c.word[:0], key[:k.end-k.start]...)
	return c.insert(lo, hi, c.word, false /* long */)
}

func (c *termCache) lookupLong(word []byte) (term []byte, number uint32) {
	c.word = append(c.word[:0], word...)
	if c.foldASCII {
		foldASCII(c.word)
	}
	lo, hi := xxh3.Hash(c.word)|1, longKey|uint64(len(c.word))
	i := hashKey(lo, hi) >> c.shift
	for range maxProbes {
		slot := &c.slots[i&uint64(len(c.slots)-1)]
		if slot.lo == lo && slot.hi == hi && string(c.arena[slot.offset-slot.surfaceLen():slot.offset]) == string(c.word) {
			if !slot.seen {
				slot.seen = true
			}
			return c.arena[slot.offset : slot.offset+uint32(slot.termLen) : slot.offset+uint32(slot.termLen)], uint32(i&uint64(len(c.slots)-1)) + 1
		}
		if slot.lo == 0 {
			break
		}
		i++
	}
	return c.insert(lo, hi, c.word, true /* long */)
}

// insert makes the term of a word not in the table, and stores it if there is room.
func (c *termCache) insert(lo, hi uint64, word []byte, long bool) (term []byte, number uint32) {
	if c.used >= c.capacity() && len(c.slots) < maxCacheSlots {
		c.resize(2 * len(c.slots))
	}
	slot, number := c.freeSlot(lo, hi)
	if c.used >= c.capacity() || len(c.arena)+4*windowBytes > maxArenaBytes {
		c.full = true
		slot = nil
	}
	if slot == nil {
		offset := len(c.overflow)
		c.overflow = c.maker.appendTerm(c.overflow, word)
		return c.overflow[offset:len(c.overflow):len(c.overflow)], 0
	}
	if long {
		c.arena = append(c.arena, word...)
	}
	offset := len(c.arena)
	c.arena = c.maker.appendTerm(c.arena, word)
	slot.lo, slot.hi = lo, hi
	slot.offset = uint32(offset)
	slot.termLen = uint16(len(c.arena) - offset)
	c.used++
	return c.arena[offset:len(c.arena):len(c.arena)], number
}

// The key is not in the table; nil if the probe sequence is too long.
func (c *termCache) freeSlot(lo, hi uint64) (slot *cacheSlot, number uint32) {
	i := hashKey(lo, hi) >> c.shift
	for range maxProbes {
		if slot := &c.slots[i&uint64(len(c.slots)-1)]; slot.lo == 0 {
			return slot, uint32(i&uint64(len(c.slots)-1)) + 1
		}
		i++
	}
	return nil, 0
}

// n is a power of two.
func (c *termCache) resize(n int) {
	old := c.slots
	c.slots = make([]cacheSlot, n)
	c.shift = uint(64 - bits.TrailingZeros(uint(n)))
	c.used = 0
	c.epoch++
	for _, s := range old {
		if s.lo == 0 {
			continue
		}
		if slot, _ := c.freeSlot(s.lo, s.hi); slot != nil {
			*slot = s
			c.used++
		}
	}
}

// hashKey spreads the high bits well (wyhash's multiply-and-fold step).
func hashKey(lo, hi uint64) uint64 {
	h, l := bits.Mul64(lo^0xa0761d6478bd642f, hi^0xe7037ed1a0b428db)
	return h ^ l
}

// n <= 16 bytes as two little-endian integers padded with zeros.
func loadWord(text []byte, start, n int) (lo, hi uint64) {
	if start+16 <= len(text) {
		lo = binary.LittleEndian.Uint64(text[start:])
		hi = binary.LittleEndian.Uint64(text[start+8:])
	} else {
		var padded [16]byte
		copy(padded[:], text[start:])
		lo = binary.LittleEndian.Uint64(padded[:])
		hi = binary.LittleEndian.Uint64(padded[8:])
	}
	if n <= 8 {
		return lo & (1<<(8*uint(n)) - 1), 0
	}
	return lo, hi & (1<<(8*uint(n-8)) - 1)
}

// A to Z become lower case.
func foldASCII8(x uint64) uint64 {
	const ones = 0x0101010101010101
	low7 := x & (0x7f * ones)
	fromA := low7 + (0x80-'A')*ones               // bit 7: byte >= 'A'
	pastZ := low7 + (0x80-'Z'-1)*ones             // bit 7: byte > 'Z'
	upper := (fromA ^ pastZ) &^ x & (0x80 * ones) // A to Z, and ASCII
	return x | upper>>2
}

func foldASCII(word []byte) {
	for i, c := range word {
		if 'A' <= c && c <= 'Z' {
			word[i] = c + ('a' - 'A')
		}
	}
}
