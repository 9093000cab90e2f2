package impact

import (
	"bytes"
	"sync"

	"github.com/griffin-search/griffin/codec"
)

// Compute appends a term's postings to dst, as for Writer.Add; none if no document has the term.
type Compute func(term []byte, dst []Posting) ([]Posting, error)

// NewComputed returns an Index whose lists compute makes when Find asks for them, encoded as a
// Writer encodes them. It keeps some for further queries. The error wraps base.ErrBadInput if an
// option is invalid.
func NewComputed(o Options, compute Compute) (*Index, error) {
	e, err := newEncoder(o)
	if err != nil {
		return nil, err
	}
	x := &Index{computed: &computed{compute: compute, options: o, lists: map[string]*computedList{}}, meta: e.meta, codec: e.codec}
	x.listCodec, _ = e.codec.(codec.ListCodec)
	return x, nil
}

// IsComputed reports whether lists are computed, not read from a file.
func (x *Index) IsComputed() bool { return x.computed != nil }

// keptBytes bounds the memory of the lists that an Index keeps.
const keptBytes = 64 << 20

// What a kept list takes besides its encoding.
const entryBytes = 256

type computed struct {
	compute Compute
	options Options

	mu    sync.Mutex
	lists map[string]*computedList
	bytes int
	last  uint64 // number of a list
}

// computedList is computed once, while others that want it wait.
type computedList struct {
	mu    sync.Mutex
	done  bool
	found bool
	list  List
	bytes int // of memory, while it is kept; computed.mu guards it
}

func (c *computed) find(x *Index, term []byte, l *List) (found bool, err error) {
	entry := c.entry(term)
	entry.mu.Lock()
	defer entry.mu.Unlock()
	if !entry.done { // after an error or a panic, the next query computes it again
		if err := c.fill(x, entry, term); err != nil {
			return false, err
		}
		entry.done = true
	}
	*l = entry.list
	return entry.found, nil
}

func (c *computed) entry(term []byte) *computedList {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := c.lists[string(term)]
	if entry == nil {
		entry = new(computedList)
		c.lists[string(term)] = entry
		c.grow(entry, len(term)+entryBytes)
	}
	return entry
}

// grow counts more bytes of a kept list, and forgets others, any, while all take too much. c.mu is held.
func (c *computed) grow(entry *computedList, bytes int) {
	entry.bytes += bytes
	c.bytes += bytes
	for term, other := range c.lists {
		if c.bytes <= keptBytes {
			return
		}
		if other != entry {
			delete(c.lists, term)
			c.bytes -= other.bytes
		}
	}
}

func (c *computed) fill(x *Index, entry *computedList, term []byte) error {
	postings, err := c.compute(bytes.Clone(term), nil) // term does not escape, so that Find of a file does not allocate
	if err != nil || len(postings) == 0 {
		return err
	}
	e, err := newEncoder(c.options)
	if err == nil {
		err = e.sort(postings)
	}
	if err != nil {
		return err
	}
	numSegments, maxImpact := e.encode()
	encoded := make([]byte, len(e.dir)+len(e.data)+Slack)
	copy(encoded[copy(encoded, e.dir):], e.data)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	entry.found = true
	entry.list = List{
		DocFreq: uint32(len(postings)), Max: maxImpact, numSegments: numSegments,
		directory: encoded[:len(e.dir)], dataLen: uint64(len(e.data)), offset: c.last, index: x,
	}
	if c.lists[string(term)] == entry {
		c.grow(entry, len(encoded))
	}
	return nil
}

func (c *computed) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists, c.bytes = map[string]*computedList{}, 0
}
