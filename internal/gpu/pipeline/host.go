package pipeline

import (
	"errors"
	"sync/atomic"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/postings"
)

// packed is where a compressed list lies, or its directory alone: its payload, zeros up to
// a multiple of 16 bytes, and its directory as it lies in the index's file.
type packed struct {
	payload, directory cuda.Ptr[uint32] // device addresses
	words              []uint32         // of kindHost: the memory
}

// packedShape is the size of a compressed list: words of the payload with its padding,
// and all words.
type packedShape struct{ payload, words int }

// shapeOf returns the shape of a compressed list of so many bytes and blocks.
func shapeOf(payloadBytes, numBlocks int) packedShape {
	payload := (payloadBytes + 15) / 16 * 4
	return packedShape{payload, payload + numBlocks*decode.EntryWords}
}

// directoryLen returns the number of words of a directory.
func directoryLen(docFreq uint32) int {
	return int((uint64(docFreq)+codec.BlockLen-1)/codec.BlockLen) * decode.EntryWords
}

func (s packedShape) sizeBytes() int64 { return int64(s.words) * 4 }

// hostMemory keeps compressed lists in page-locked memory of the host, from where kernels
// read them over the bus, and the device copies them at the speed of the bus without the
// CPU: those that a direct run asked for, those that are brought again, those of Warm.
// What is in it is a cache's choice as on the device. It is safe for concurrent use.
type hostMemory struct {
	device *cuda.Device
	note   func(error) error // counts errors of the driver
	cache  *cache
	limit  atomic.Int64 // bytes of all slabs

	filled, filledBytes atomic.Int64 // lists that were copied there

	// slabs grow with cache.mu held.
	slabs     []cuda.HostBuffer[uint32]
	slabBytes int64
}

// hostSlab is how much is page-locked at a time, in some 4 ms.
const hostSlab = 16 << 20

func newHostMemory(d *cuda.Device, r *records, limit int64, note func(error) error, settle func(*entry)) *hostMemory {
	h := &hostMemory{device: d, note: note}
	h.limit.Store(limit)
	h.cache = newCache(r, h.grow, settle)
	return h
}

// grow page-locks a slab of at least size bytes.
func (h *hostMemory) grow(size int64, reserve bool) (slab int, n int64, ok bool) {
	n = min(max(size, hostSlab), h.limit.Load()-h.slabBytes) &^ (spaceAlign - 1)
	if n < size || reserve {
		return 0, 0, false
	}
	b, err := cuda.AllocHost[uint32](h.device, int(n/4))
	if err != nil {
		_ = h.note(err)
		h.limit.Store(h.slabBytes) // the system has no more: make do with what there is
		return 0, 0, false
	}
	h.slabs = append(h.slabs, b)
	h.slabBytes += n
	return len(h.slabs) - 1, n, true
}

// acquire is cache.acquire for a compressed list, with its memory in entry.packed.
func (h *hostMemory) acquire(k listKey, shape packedShape, a admission) *entry {
	e := h.cache.acquire(k, shape.sizeBytes(), 1, hostGain(shape.sizeBytes()), a)
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

// bytes returns the memory of an acquired entry as bytes.
func (h *hostMemory) bytes(e *entry) []byte {
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

// fillPacked writes a compressed list to page-locked memory, which bytes are the same
// as. Several goroutines copy long ones: one reads memory at a fifth of the speed of
// the bus.
func fillPacked(words []uint32, bytes, payload []byte, directory []postings.BlockEntry) {
	shape := shapeOf(len(payload), len(directory))
	copyWide(bytes, payload)
	clear(bytes[len(payload):][:4*shape.payload-len(payload)])
	directoryWords(words[shape.payload:], directory)
}

// copyWide copies src to dst, with several goroutines if it is long.
func copyWide(dst, src []byte) {
	const most = 1 << 20 // bytes that one goroutine copies
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
