package column

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
)

// Kind is the meaning of a column's integers.
type Kind uint8

const (
	// Numbers are values themselves.
	Numbers Kind = 1 + iota
	// Ordinals are positions in the column's dictionary, whose byte strings rise; a document
	// has each at most once.
	Ordinals
)

// String returns the kind's name.
func (k Kind) String() string {
	switch k {
	case Numbers:
		return "numbers"
	case Ordinals:
		return "ordinals"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Column is the values of one field. All methods are safe for concurrent use; errors wrap
// base.ErrCorrupt for damaged data, and base.ErrBadInput for arguments.
type Column struct {
	name      string
	kind      Kind
	numDocs   int
	numValues uint64
	lo, hi    int64
	values    sequence
	presence  presence
	multi     bool
	ends      rising // multi: position of the last value of each rank
	terms     dictionary
	sizeBytes uint64
}

// Kind is the meaning of the values.
func (c *Column) Kind() Kind { return c.kind }

// NumDocs counts the documents of the segment.
func (c *Column) NumDocs() int { return c.numDocs }

// NumValues counts the values of all documents.
func (c *Column) NumValues() int { return int(c.numValues) }

// MultiValued reports whether a document has several values.
func (c *Column) MultiValued() bool { return c.multi }

// NumWith counts the documents with a value, at least 1.
func (c *Column) NumWith() int { return int(c.presence.numWith) }

// Bounds returns the least and the greatest value.
func (c *Column) Bounds() (lo, hi int64) { return c.lo, c.hi }

// direct reports whether value i is of document i.
func (c *Column) direct() bool { return !c.multi && c.presence.mode == presentAll }

func (c *Column) fail(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("column %q: %w", c.name, err)
}

func (c *Column) checkWords(words []uint64) error {
	if len(words) < numWords(uint64(c.numDocs)) {
		return fmt.Errorf("set of %d words for %d documents: %w", len(words), c.numDocs, base.ErrBadInput)
	}
	return nil
}

// Exists ORs the documents with a value into words.
func (c *Column) Exists(words []uint64) error {
	if err := c.checkWords(words); err != nil {
		return c.fail(err)
	}
	return c.fail(c.presence.exists(words))
}

// match ORs the documents into words that have one of the values whose positions find adds to an
// empty set, or to one of documents.
func (c *Column) match(words []uint64, find func(set []uint64) error) error {
	if c.direct() {
		return find(words)
	}
	values := borrow(c.numValues)
	defer giveBack(values)
	if err := find(values); err != nil {
		return err
	}
	ranks := values
	if c.multi {
		ranks = borrow(c.presence.numWith)
		defer giveBack(ranks)
		if err := c.ranksOf(values, ranks); err != nil {
			return err
		}
	}
	return c.presence.deposit(ranks, words)
}

// ranksOf adds the ranks that have one of the values.
func (c *Column) ranksOf(values, ranks rankBits) error {
	x := newRisingReader(&c.ends)
	from := uint64(0)
	for block := range c.ends.gaps.numBlocks() {
		to, err := x.start(block + 1)
		if err != nil {
			return err
		}
		if !values.any(from, to) {
			from = to
			continue
		}
		if err := x.load(block); err != nil {
			return err
		}
		for i, last := range x.values {
			if values.any(from, last+1) {
				rank := uint64(block)*blockLen + uint64(i)
				ranks[rank/64] |= 1 << (rank % 64)
			}
			from = last + 1
		}
	}
	return nil
}

// valuesOf returns the positions of the values of all ranks, borrowed.
func (c *Column) valuesOf(ranks rankBits) (values rankBits, err error) {
	values = borrow(c.numValues)
	x := newRisingReader(&c.ends)
	for block := range c.ends.gaps.numBlocks() {
		first := uint64(block) * blockLen
		if ranks[first/64]|ranks[first/64+1] == 0 {
			continue
		}
		if err := x.load(block); err != nil {
			giveBack(values)
			return nil, err
		}
		from := x.first
		for i, last := range x.values {
			if ranks[first/64+uint64(i)/64]>>(i%64)&1 != 0 {
				setBits(values, from, last+1)
			}
			from = last + 1
		}
	}
	return values, nil
}
