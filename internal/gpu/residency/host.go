package residency

import (
	"errors"
	"sync/atomic"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/postings"
)

// packed locates a compressed list, or its directory alone, or is a bitmap. The payload is zero-padded to a
// multiple of 16 bytes; the directory has the index file's format.
type packed struct {
	bits               cuda.Buffer[uint32] // kindFilter and kindColumn only
	once               bool                // Filter.Once
	guesses            *filterGuesses      // kindFilter only
	payload, directory cuda.Ptr[uint32]    // device addresses
	words              []uint32            // kindHost only: the memory
}

// packedShape has sizes in words: of the padded payload and in total.
type packedShape struct{ payload, words int }

func shapeOf(payloadBytes, numBlocks int) packedShape {
	payload := (payloadBytes + 15) / 16 * 4
	return packedShape{payload, payload + numBlocks*decode.EntryWords}
}

// directoryLen is in words.
func directoryLen(docFreq uint32) int {
	return int((uint64(docFreq)+codec.BlockLen-1)/codec.BlockLen) * decode.EntryWords
}

func (s packedShape) sizeBytes() int64 { return int64(s.words) * 4 }

// hostMemory keeps compressed lists in page-locked host memory, where kernels read them over
// the bus, and the device copies them at bus speed without the CPU. Packed runs, repeated
// uploads and Warm add lists; a cache selects them. It is safe for concurrent use.
type hostMemory struct {
	device *cuda.Device
	note   func(error) error // counts driver errors
	cache  *cache
	limit  atomic.Int64 // total size of all slabs in bytes

	filled, filledBytes atomic.Int64 // lists copied from the index's file

	// slabs grow with cache.mu held.
	slabs     []cuda.HostBuffer[uint32]
	slabBytes int64
}

// hostSlab is the minimum size of a slab, which takes about 4 ms to page-lock.
const hostSlab = 16 << 20

func newHostMemory(d *cuda.Device, r *records, limit int64, note func(error) error, settle func(*Entry)) *hostMemory {
	h := &hostMemory{device: d, note: note}
	h.limit.Store(limit)
	h.cache = newCache(r, h.grow, settle)
	return h
}

func (h *hostMemory) grow(size int64, reserve bool) (slab int, n int64, ok bool) {
	n = min(max(size, hostSlab), h.limit.Load()-h.slabBytes) &^ (spaceAlign - 1)
	if n < size || reserve {
		return 0, 0, false
	}
	b, err := cuda.AllocHost[uint32](h.device, int(n/4))
	if err != nil {
		_ = h.note(err)
		h.limit.Store(h.slabBytes) // the system has no more page-locked memory
		return 0, 0, false
	}
	h.slabs = append(h.slabs, b)
	h.slabBytes += n
	return len(h.slabs) - 1, n, true
}

// acquire is cache.acquire for a compressed list, and sets Entry.packed.
func (h *hostMemory) acquire(k listKey, of term, shape packedShape, a admission) *Entry {
	e := h.cache.acquire(k, of, shape.sizeBytes(), 1, hostGain(shape.sizeBytes()), a)
	if e == nil {
		return nil
	}
	h.cache.mu.Lock()
	slab := h.slabs[e.extent.slab]
	h.cache.mu.Unlock()
	at := int(e.extent.offset / 4)
	address := slab.DevicePtr() + cuda.Ptr[uint32](e.extent.offset)
	e.packed = packed{payload: address, directory: address + cuda.Ptr[uint32](4*shape.payload), words: slab.Data()[at:][:shape.words:shape.words]}
	e.loaded.Store(true)
	return e
}

func (h *hostMemory) bytes(e *Entry) []byte {
	h.cache.mu.Lock()
	defer h.cache.mu.Unlock()
	return h.slabs[e.extent.slab].Bytes()[e.extent.offset:][:4*len(e.packed.words)]
}

func (h *hostMemory) close() error {
	var errs []error
	for _, b := range h.slabs {
		errs = append(errs, b.Free())
	}
	return errors.Join(errs...)
}

// words and bytes are the same memory.
func fillPacked(words []uint32, bytes, payload []byte, directory []postings.BlockEntry) {
	shape := shapeOf(len(payload), len(directory))
	copyParallel(bytes, payload)
	clear(bytes[len(payload):][:4*shape.payload-len(payload)])
	directoryWords(words[shape.payload:], directory)
}

// copyParallel copies long ranges with several goroutines: one reads memory at a fifth of the
// bus speed.
func copyParallel(dst, src []byte) {
	const most = 1 << 20 // bytes per goroutine
	if len(src) <= most {
		copy(dst, src)
		return
	}
	share := max((len(src)+copiers-1)/copiers, most)
	var group invariant.Group
	for at := 0; at < len(src); at += share {
		part := src[at:min(at+share, len(src))]
		group.Go(func() { copy(dst[at:], part) })
	}
	group.Wait()
}

// lockList returns the pinned page-locked copy of a list, created if necessary, or nil if there
// is no room. The caller has checked the directory.
func (d *Device) lockList(k listKey, of term, payload []byte, directory []postings.BlockEntry, a admission) *Entry {
	c := d.host.cache
	if e := c.claim(k); e != nil {
		return e
	}
	defer c.unclaim(k)
	e := d.host.acquire(k, of, shapeOf(len(payload), len(directory)), a)
	if e == nil {
		return nil
	}
	filled := false
	defer func() {
		if !filled { // panic
			c.abandon(e)
		}
	}()
	fillPacked(e.packed.words, d.host.bytes(e), payload, directory)
	filled = true
	c.publish(e)
	d.host.filled.Add(1)
	d.host.filledBytes.Add(int64(len(e.packed.words)) * 4)
	return e
}

// DirectoryBytes is the size on a device of the directory of docFreq postings.
func DirectoryBytes(docFreq uint32) int64 { return roundUp(4 * int64(directoryLen(docFreq))) }

// PackedBytes is the approximate size on a device of a compressed list of length bytes.
func PackedBytes(length int64) int64 { return roundUp(length + 16) }
