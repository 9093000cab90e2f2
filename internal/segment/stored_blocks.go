package segment

import (
	"slices"
	"sync/atomic"
)

// blockCache keeps decompressed blocks of stored documents that several searches read: about 16 MiB, for all segments
// of the process. A block has one slot, and takes it if it was asked for twice while no other block of the slot was. So a
// scan of all documents keeps little, and a block that is not kept costs no memory.
type blockCache struct {
	slots [1 << 11]struct {
		kept  atomic.Pointer[keptBlock]
		asked atomic.Uint64 // hash of the block that was asked for last and not kept
	}
}

type keptBlock struct {
	reader uint64
	number int
	raw    []byte // never changed
}

// Larger blocks have one large document. Most have 8 to 9 KiB.
const maxKeptBlock = 16 << 10

var (
	storedBlocks  blockCache
	storedReaders atomic.Uint64 // the serial of the last StoredReader
)

func hashBlock(reader uint64, number int) uint64 {
	h := (reader*0x9e3779b97f4a7c15 ^ uint64(number)) * 0xff51afd7ed558ccd
	return h ^ h>>32
}

// find returns nil if the block is not kept.
func (c *blockCache) find(reader uint64, number int) []byte {
	b := c.slots[hashBlock(reader, number)%uint64(len(c.slots))].kept.Load()
	if b == nil || b.reader != reader || b.number != number {
		return nil
	}
	return b.raw
}

// offer keeps a copy of a block that was not found, or notes that it was asked for.
func (c *blockCache) offer(reader uint64, number int, raw []byte) {
	if len(raw) > maxKeptBlock {
		return
	}
	hash := hashBlock(reader, number)
	slot := &c.slots[hash%uint64(len(c.slots))]
	if slot.asked.Swap(hash) == hash {
		slot.kept.Store(&keptBlock{reader, number, slices.Clone(raw)})
	}
}
