package ding09

import (
	"container/list"
	"errors"
	"sync"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// cache keeps data of the index in GPU memory: compressed lists and the tables that queries need
// with them (§5). It copies missing items to the device and evicts the least recently used items; the paper does
// not name a rule. Items of running queries are not evicted, so a query whose lists are larger than
// the limit exceeds it until it ends. Safe for concurrent use.
type cache struct {
	limit int64 // bytes

	mu     sync.Mutex // held during a transfer: the bus has one
	stream *cuda.Stream
	items  map[itemKey]*item
	idle   *list.List // of *item without users, the most recently used first
	size   int64      // of all items
	moved  int64      // bytes copied to the device
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
)

// item is data in device memory. Its fields do not change while it is in use.
type item struct {
	content
	buffers []cuda.Buffer[uint32] // of the parts, 16-byte aligned

	key    itemKey
	memory cuda.Buffer[uint32]
	users  int           // guarded by cache.mu, as the following
	place  *list.Element // in cache.idle, unless it has users
}

func newCache(d *cuda.Device, limit int64) (*cache, error) {
	stream, err := d.NewStream()
	if err != nil {
		return nil, err
	}
	return &cache{limit: limit, stream: stream, items: map[itemKey]*item{}, idle: list.New()}, nil
}

// close frees the items, which must have no users. A lost device has lost its memory.
func (c *cache) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.shrink(0)
	return errors.Join(err, c.stream.Synchronize(), c.stream.Close())
}

// find returns an item and counts a user; nil if it is missing.
func (c *cache) find(k itemKey) *item {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.use(c.items[k])
}

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

// bring copies data to the device unless it is there, and counts a user. It returns the bytes moved.
func (c *cache) bring(k itemKey, data content) (it *item, bytes int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if it := c.use(c.items[k]); it != nil {
		return it, 0, nil
	}
	it = &item{key: k, content: data, users: 1}
	if err := c.copy(it); err != nil {
		return nil, 0, err
	}
	bytes = it.memory.SizeBytes()
	c.items[k] = it
	c.size += bytes
	c.moved += bytes
	return it, bytes, nil
}

// copy allocates the item's memory and waits for the transfer.
func (c *cache) copy(it *item) error {
	words := 0
	for _, part := range it.parts {
		words += aligned(len(part))
	}
	var err error
	if it.memory, err = c.alloc(words); err != nil {
		return err
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
		return errors.Join(err, it.memory.FreeAsync(c.stream))
	}
	return nil
}

// aligned rounds words up to 16 bytes.
func aligned(words int) int { return (words + 3) / 4 * 4 }

// alloc evicts idle items until the memory fits.
func (c *cache) alloc(words int) (cuda.Buffer[uint32], error) {
	if err := c.shrink(max(c.limit-4*int64(words), 0)); err != nil {
		return cuda.Buffer[uint32]{}, err
	}
	for {
		memory, err := cuda.AllocAsync[uint32](c.stream, words)
		if err == nil || !errors.Is(err, cuda.ErrOutOfMemory) || c.idle.Len() == 0 {
			return memory, err
		}
		if err := c.evict(); err != nil {
			return memory, err
		}
	}
}

// shrink evicts idle items, the least recently used first, until the size is at most limit.
func (c *cache) shrink(limit int64) error {
	for c.size > limit && c.idle.Len() > 0 {
		if err := c.evict(); err != nil {
			return err
		}
	}
	return nil
}

func (c *cache) evict() error {
	it := c.idle.Remove(c.idle.Back()).(*item)
	delete(c.items, it.key)
	c.size -= it.memory.SizeBytes()
	return it.memory.FreeAsync(c.stream)
}

// release ends the use of items; the device must have completed the work on them.
func (c *cache) release(items []*item) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, it := range items {
		if it.users--; it.users == 0 {
			it.place = c.idle.PushFront(it)
		}
	}
	return c.shrink(c.limit)
}

// empty evicts all idle items and returns their memory to the device.
func (c *cache) empty(d *cuda.Device) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.shrink(0), c.stream.Synchronize(), d.TrimPool(0))
}

// bytesMoved returns the bytes copied to the device.
func (c *cache) bytesMoved() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.moved
}
