package ding09

import (
	"container/list"
	"errors"
	"sync"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// cache keeps data of the index in GPU memory: compressed lists and the tables that queries need
// with them (§5). It copies missing items to the device and evicts the least recently used items; the paper does
// not name a rule. Items of running queries are not evicted, so a query whose lists are larger than
// the limit exceeds it until it ends. Safe for concurrent use.
type cache struct {
	limit int64 // bytes

	// bus is held during a transfer, and for all work on stream. It is locked before mu.
	bus    sync.Mutex
	stream *cuda.Stream

	mu      sync.Mutex // never held while the device works
	items   map[itemKey]*item
	idle    *list.List            // of *item without users, the most recently used first
	evicted []cuda.Buffer[uint32] // to be freed on stream
	size    int64                 // of all items that are loaded
	moved   int64                 // bytes copied to the device
	speed   speed                 // of the bus
}

// itemKey identifies data of the index. owner is a *segment.Segment or *segment.Bitmap.
type itemKey struct {
	owner any
	kind  itemKind
	id    uint64
}

type itemKind uint8

const (
	listItem    itemKind = iota // id: a base.ListID
	lengthsItem                 // id: a base.FieldID
	liveItem
	globalsItem
)

// item is data in device memory. After ready, its fields do not change while it is in use.
type item struct {
	content
	buffers []cuda.Buffer[uint32] // of the parts, 16-byte aligned
	failed  bool                  // it was not loaded, and is not in the cache

	key    itemKey
	memory cuda.Buffer[uint32]
	ready  chan struct{} // closed when the transfer has ended
	users  int           // guarded by cache.mu, as the following
	place  *list.Element // in cache.idle, unless it has users
}

func newCache(d *cuda.Device, limit int64) (*cache, error) {
	stream, err := d.NewStream()
	if err != nil {
		return nil, err
	}
	return &cache{limit: limit, stream: stream, items: map[itemKey]*item{}, idle: list.New(), speed: newSpeed()}, nil
}

// close frees the items, which must have no users. A lost device has lost its memory.
func (c *cache) close() error {
	c.bus.Lock()
	defer c.bus.Unlock()
	return errors.Join(c.shrink(0), c.stream.Synchronize(), c.stream.Close())
}

// find returns an item, after its transfer, and counts a user; nil if it is missing.
func (c *cache) find(k itemKey) *item {
	c.mu.Lock()
	it := c.use(c.items[k])
	c.mu.Unlock()
	if it == nil {
		return nil
	}
	if <-it.ready; it.failed {
		return nil
	}
	return it
}

// has reports whether an item is loaded or being loaded.
func (c *cache) has(k itemKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.items[k] != nil
}

func (c *cache) use(it *item) *item {
	if it == nil {
		return nil
	}
	if it.place != nil {
		c.idle.Remove(it.place)
		it.place = nil
	}
	it.users++
	return it
}

// transfer has the bytes copied to the device, and the time, without waiting for the bus.
type transfer struct {
	bytes int64
	took  time.Duration
}

// bring copies data to the device unless it is there, and counts a user.
func (c *cache) bring(k itemKey, data content) (*item, transfer, error) {
	for {
		c.mu.Lock()
		if c.items[k] == nil {
			break
		}
		c.mu.Unlock()
		if it := c.find(k); it != nil {
			return it, transfer{}, nil
		}
	}
	it := &item{key: k, content: data, users: 1, ready: make(chan struct{})}
	c.items[k] = it
	c.mu.Unlock()
	took, err := c.load(it)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(it.ready)
	if err != nil {
		it.failed = true
		delete(c.items, k)
		return nil, transfer{}, err
	}
	moved := transfer{it.memory.SizeBytes(), took}
	c.moved += moved.bytes
	c.speed.observe(moved)
	return it, moved, nil
}

// load allocates the item's memory and waits for the transfer.
func (c *cache) load(it *item) (time.Duration, error) {
	c.bus.Lock()
	defer c.bus.Unlock()
	began := time.Now()
	words := 0
	for _, part := range it.parts {
		words += aligned(len(part))
	}
	var err error
	if it.memory, err = c.alloc(words); err != nil {
		return 0, err
	}
	at := 0
	for _, part := range it.parts {
		b := it.memory.Slice(at, at+len(part))
		it.buffers = append(it.buffers, b)
		if err == nil && len(part) > 0 {
			err = cuda.CopyToDevice(c.stream, b, part)
		}
		at += aligned(len(part))
	}
	it.parts = nil
	if err = errors.Join(err, c.stream.Synchronize()); err != nil {
		return 0, errors.Join(err, it.memory.FreeAsync(c.stream))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size += it.memory.SizeBytes()
	return time.Since(began), nil
}

// aligned rounds words up to 16 bytes.
func aligned(words int) int { return (words + 3) / 4 * 4 }

// alloc evicts idle items until the memory fits. The bus is held.
func (c *cache) alloc(words int) (cuda.Buffer[uint32], error) {
	if err := c.shrink(max(c.limit-4*int64(words), 0)); err != nil {
		return cuda.Buffer[uint32]{}, err
	}
	for {
		memory, err := cuda.AllocAsync[uint32](c.stream, words)
		if err == nil || !errors.Is(err, cuda.ErrOutOfMemory) || !c.evictOne() {
			return memory, err
		}
		if err := c.freeEvicted(); err != nil {
			return memory, err
		}
	}
}

func (c *cache) evictOne() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle.Len() == 0 {
		return false
	}
	c.evict()
	return true
}

// shrink evicts idle items, the least recently used first, until the size is at most limit, and frees their
// memory. The bus is held.
func (c *cache) shrink(limit int64) error {
	c.mu.Lock()
	c.evictTo(limit)
	c.mu.Unlock()
	return c.freeEvicted()
}

// evictTo and evict are called with mu held.
func (c *cache) evictTo(limit int64) {
	for c.size > limit && c.idle.Len() > 0 {
		c.evict()
	}
}

func (c *cache) evict() {
	it := c.idle.Remove(c.idle.Back()).(*item)
	delete(c.items, it.key)
	c.size -= it.memory.SizeBytes()
	c.evicted = append(c.evicted, it.memory)
}

// freeEvicted frees the memory of evicted items. The bus is held.
func (c *cache) freeEvicted() error {
	c.mu.Lock()
	evicted := c.evicted
	c.evicted = nil
	c.mu.Unlock()
	var errs []error
	for _, memory := range evicted {
		errs = append(errs, memory.FreeAsync(c.stream))
	}
	return errors.Join(errs...)
}

// release ends the use of items; the device must have completed the work on them. During a transfer,
// evicted memory is freed later: with the next transfer.
func (c *cache) release(items []*item) error {
	c.mu.Lock()
	for _, it := range items {
		if it.users--; it.users == 0 {
			it.place = c.idle.PushFront(it)
		}
	}
	c.evictTo(c.limit)
	free := len(c.evicted) > 0
	c.mu.Unlock()
	if !free || !c.bus.TryLock() {
		return nil
	}
	defer c.bus.Unlock()
	return c.freeEvicted()
}

// empty evicts all idle items and returns their memory to the device.
func (c *cache) empty(d *cuda.Device) error {
	c.bus.Lock()
	defer c.bus.Unlock()
	return errors.Join(c.shrink(0), c.stream.Synchronize(), d.TrimPool(0))
}

// bytesMoved returns the bytes copied to the device.
func (c *cache) bytesMoved() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.moved
}

// transferTime predicts the time to copy items of some bytes in all.
func (c *cache) transferTime(items int, bytes int64) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.speed.predict(items, bytes)
}
