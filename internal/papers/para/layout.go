package para

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// content is a batch in 64-bit words, little endian, in three sections:
//
//	lists    ListView or RegressionList of each list: the lists of a query
//	         are adjacent, the shortest first
//	queries  {first list u32, lists u32, first tile u32, 0} of each query
//	tiles    {query u32, first element u32} of each tile of 128 elements
type content struct {
	lists   []uint64
	queries []uint64
	tiles   []uint64

	numLists int
	elements int
	order    []int32 // of the lists of the current query
}

const queryWords = 2

func (c *content) numQueries() int { return len(c.queries) / queryWords }

func (c *content) numBlocks() int { return (len(c.tiles) + blockWarps - 1) / blockWarps }

func (c *content) words() int { return len(c.lists) + len(c.queries) + len(c.tiles) }

func (c *content) reset() {
	c.lists, c.queries, c.tiles = c.lists[:0], c.queries[:0], c.tiles[:0]
	c.numLists, c.elements = 0, 0
}

// sections returns the parts of buf for the sections.
func (c *content) sections(buf cuda.Buffer[uint64]) (lists, queries, tiles cuda.Buffer[uint64]) {
	l, q, t := len(c.lists), len(c.queries), len(c.tiles)
	return buf.Slice(0, l), buf.Slice(l, l+q), buf.Slice(l+q, l+q+t)
}

type sized interface{ Len() int }

// add adds a query; put appends the words of a list.
func add[V sized](b *Batch, lists []V, put func(c *content, v *V)) error {
	if b.started {
		return fmt.Errorf("para: query added to a started batch: %w", base.ErrBadInput)
	}
	c := &b.content
	c.order = c.order[:0]
	for i := range lists {
		at := i
		c.order = append(c.order, 0)
		for ; at > 0 && lists[c.order[at-1]].Len() > lists[i].Len(); at-- {
			c.order[at] = c.order[at-1]
		}
		c.order[at] = int32(i)
	}
	n := lists[c.order[0]].Len()
	if c.elements+n > MaxElements {
		return fmt.Errorf("para: batch of %d elements and a query of %d more: %w", c.elements, n, base.ErrBadInput)
	}
	query := uint64(c.numQueries())
	c.queries = append(c.queries, uint64(c.numLists)|uint64(len(lists))<<32, uint64(len(c.tiles)))
	for _, i := range c.order {
		put(c, &lists[i])
	}
	c.numLists += len(lists)
	for from := 0; from < n; from += tileElements {
		c.tiles = append(c.tiles, query|uint64(from)<<32)
	}
	c.elements += n
	return nil
}
