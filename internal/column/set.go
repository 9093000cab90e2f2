package column

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// Set is the columns of a segment.
type Set struct {
	data    Data
	numDocs int
	columns []*Column // by name
}

// FormatVersion is the format of a file of columns. History:
//
//	1: the first.
const FormatVersion = 1

const trailerLen = 16

// Open reads the directory of a file of columns, without their values. The error wraps
// base.ErrCorrupt.
func Open(data Data, numDocs int) (*Set, error) {
	size := uint64(len(data.Bytes()))
	if size < trailerLen {
		return nil, corrupt("columns in %d bytes", size)
	}
	trailer, err := read(data, size-trailerLen, trailerLen)
	if err != nil {
		return nil, err
	}
	at, n := binary.LittleEndian.Uint64(trailer), binary.LittleEndian.Uint64(trailer[8:])
	end := size - trailerLen
	if at > end || n > end-at {
		return nil, corrupt("directory of %d columns at %d of %d bytes", n, at, size)
	}
	dir, err := read(data, at, end-at)
	if err != nil {
		return nil, err
	}
	s := &Set{data: data, numDocs: numDocs}
	for i := range n {
		c := newColumn(data, numDocs)
		if dir, err = c.decode(dir, at); err != nil {
			return nil, err
		}
		if i > 0 && c.name <= s.columns[i-1].name {
			return nil, corrupt("column %q after %q", c.name, s.columns[i-1].name)
		}
		s.columns = append(s.columns, c)
	}
	if len(dir) > 0 {
		return nil, corrupt("directory: %d bytes after the last column", len(dir))
	}
	return s, nil
}

// NumDocs counts the documents of the segment.
func (s *Set) NumDocs() int { return s.numDocs }

// Names returns the columns' names, rising.
func (s *Set) Names() []string {
	names := make([]string, len(s.columns))
	for i := range s.columns {
		names[i] = s.columns[i].name
	}
	return names
}

// Column returns a column, and whether a document has a value in it. A nil Set has none.
func (s *Set) Column(name string) (*Column, bool) {
	if s == nil {
		return nil, false
	}
	i, found := slices.BinarySearchFunc(s.columns, name, func(c *Column, name string) int { return strings.Compare(c.name, name) })
	if !found {
		return nil, false
	}
	return s.columns[i], true
}

func newColumn(data Data, numDocs int) *Column {
	return &Column{
		numDocs:  numDocs,
		values:   sequence{data: data},
		presence: presence{data: data, numDocs: numDocs},
		terms:    dictionary{data: data},
	}
}

const flagMulti = 1 << 7 // the other bits are the presenceMode

// encode appends the column's entry of the directory.
func (c *Column) encode(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(c.name)))
	dst = append(dst, c.name...)
	flags := uint8(c.presence.mode)
	if c.multi {
		flags |= flagMulti
	}
	dst = append(dst, uint8(c.kind), flags)
	dst = binary.AppendUvarint(dst, c.numValues)
	dst = binary.AppendUvarint(dst, c.presence.numWith)
	dst = binary.AppendVarint(dst, c.lo)
	dst = binary.AppendVarint(dst, c.hi)
	dst = binary.AppendUvarint(dst, c.sizeBytes)
	dst = binary.AppendUvarint(dst, c.values.table)
	switch c.presence.mode {
	case presentBitmap:
		dst = binary.AppendUvarint(dst, c.presence.words)
	case presentList:
		dst = binary.AppendUvarint(dst, c.presence.list.gaps.table)
		dst = binary.AppendUvarint(dst, c.presence.list.starts.table)
	}
	if c.multi {
		dst = binary.AppendUvarint(dst, c.ends.gaps.table)
		dst = binary.AppendUvarint(dst, c.ends.starts.table)
	}
	if c.kind == Ordinals {
		dst = binary.AppendUvarint(dst, c.terms.numTerms)
		dst = binary.AppendUvarint(dst, c.terms.terms)
		dst = binary.AppendUvarint(dst, c.terms.size)
		dst = binary.AppendUvarint(dst, c.terms.index)
	}
	return dst
}

// entry reads the numbers of an entry; after an error it reads zeros.
type entry struct {
	src []byte
	err error
}

func (e *entry) uint() (v uint64) {
	if e.err == nil {
		v, e.src, e.err = uvarint(e.src)
	}
	return v
}

func (e *entry) int() int64 {
	if e.err != nil {
		return 0
	}
	v, n := binary.Varint(e.src)
	if n <= 0 {
		e.err = corrupt("directory: number of %d bytes", len(e.src))
		return 0
	}
	e.src = e.src[n:]
	return v
}

func (e *entry) bytes(n uint64) []byte {
	if e.err == nil && n > uint64(len(e.src)) {
		e.err = corrupt("directory: %d bytes of %d", n, len(e.src))
	}
	if e.err != nil {
		return make([]byte, min(n, 2))
	}
	b := e.src[:n]
	e.src = e.src[n:]
	return b
}

// decode reads an entry, of a directory at an offset, and checks what readers rely on.
func (c *Column) decode(src []byte, at uint64) (rest []byte, err error) {
	e := &entry{src: src}
	c.name = string(e.bytes(e.uint()))
	b := e.bytes(2)
	c.kind, c.presence.mode, c.multi = Kind(b[0]), presenceMode(b[1]&^flagMulti), b[1]&flagMulti != 0
	c.numValues, c.presence.numWith = e.uint(), e.uint()
	c.lo, c.hi = e.int(), e.int()
	c.sizeBytes = e.uint()
	c.values.table = e.uint()
	var gaps, starts uint64
	switch c.presence.mode {
	case presentBitmap:
		c.presence.words = e.uint()
	case presentList:
		gaps, starts = e.uint(), e.uint()
		c.presence.list = newRising(c.values.data, gaps, starts, c.presence.numWith, uint64(c.numDocs))
	}
	if c.multi {
		gaps, starts = e.uint(), e.uint()
		c.ends = newRising(c.values.data, gaps, starts, c.presence.numWith, c.numValues)
	}
	if c.kind == Ordinals {
		c.terms.numTerms, c.terms.terms, c.terms.size, c.terms.index = e.uint(), e.uint(), e.uint(), e.uint()
	}
	if e.err != nil {
		return nil, e.err
	}
	c.values.n, c.values.lo, c.values.hi, c.values.strict = c.numValues, c.lo, c.hi, c.kind == Ordinals
	return e.src, c.fail(c.validate(at))
}

// validate checks the counts and that all parts lie before end, without overflows.
func (c *Column) validate(end uint64) error {
	p := &c.presence
	with := p.numWith
	switch {
	case c.kind != Numbers && c.kind != Ordinals || p.mode >= numPresenceModes:
		return corrupt("kind %d, presence %d", c.kind, p.mode)
	case with == 0 || with > uint64(c.numDocs) || c.numValues < with || c.multi != (c.numValues > with) || c.lo > c.hi:
		return corrupt("%d values of %d documents of %d, from %d to %d", c.numValues, with, c.numDocs, c.lo, c.hi)
	case p.mode != presenceFor(with, c.numDocs):
		return corrupt("%d documents of %d in presence %d", with, c.numDocs, p.mode)
	case c.kind == Ordinals && (c.lo != 0 || c.terms.numTerms > math.MaxUint32 || uint64(c.hi) != c.terms.numTerms-1):
		return corrupt("ordinals from %d to %d of %d terms", c.lo, c.hi, c.terms.numTerms)
	case c.numValues > end/entryLen*groupLen: // bounds memory
		return corrupt("%d values in %d bytes", c.numValues, end)
	case c.sizeBytes > end:
		return corrupt("%d bytes of %d", c.sizeBytes, end)
	}
	type part struct{ offset, size uint64 }
	parts := []part{
		{c.values.table, entryLen * uint64(c.values.numGroups())},
		{c.terms.terms, c.terms.size},
		{c.terms.index, 8 * c.terms.numBlocks()},
	}
	if p.mode == presentBitmap {
		words, ranks := p.sizes()
		parts = append(parts, part{p.words, words + ranks})
	}
	for _, r := range []*rising{&p.list, &c.ends} {
		for _, s := range []*sequence{&r.gaps, &r.starts} {
			parts = append(parts, part{s.table, entryLen * uint64(s.numGroups())})
		}
	}
	for _, part := range parts {
		if part.offset > end || part.size > end-part.offset {
			return corrupt("part at %d of %d bytes, the directory begins at %d", part.offset, part.size, end)
		}
	}
	return nil
}

// SizeBytes is the size of the column in the file, without its entry in the directory.
func (c *Column) SizeBytes() int64 { return int64(c.sizeBytes) }
