package experiments

import (
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/codec"
)

type coded struct {
	c      codec.Codec
	n      int
	data   []byte // the whole list if whole is set, otherwise its blocks
	whole  codec.ListCodec
	blocks []codedBlock
}

type codedBlock struct {
	base, offset uint32
	width        uint8
}

// encode encodes a list as an index would: as a whole, if the codec does so,
// otherwise in blocks.
func encode(c codec.Codec, docIDs []uint32) *coded {
	e := &coded{c: c, n: len(docIDs)}
	if whole, ok := c.(codec.ListCodec); ok && len(docIDs) > codec.BlockLen {
		e.whole = whole
		e.data = whole.AppendList(nil, docIDs)
		return e
	}
	base := codec.NoBase
	for block := range slices.Chunk(docIDs, codec.BlockLen) {
		b := codedBlock{base: base, offset: uint32(len(e.data))}
		e.data, b.width = c.AppendDocIDs(e.data, base, block)
		e.blocks = append(e.blocks, b)
		base = block[len(block)-1]
	}
	e.data = append(e.data, make([]byte, 64)...) // in an index, other lists follow
	return e
}

func (e *coded) decode() error {
	var dst [codec.BlockLen]uint32
	if e.whole != nil {
		for i := 0; i*codec.BlockLen < e.n; i++ {
			if _, err := e.whole.DecodeBlock(&dst, e.data, e.n, i); err != nil {
				return fmt.Errorf("%s: block %d: %w", e.c.Name(), i, err)
			}
		}
		return nil
	}
	for i := range e.blocks {
		b := &e.blocks[i]
		n := min(codec.BlockLen, e.n-i*codec.BlockLen)
		if _, err := e.c.DecodeDocIDs(&dst, e.data[b.offset:], b.base, n, b.width); err != nil {
			return fmt.Errorf("%s: block %d: %w", e.c.Name(), i, err)
		}
	}
	return nil
}

func encodeAll(spec string, lists [][]uint32) ([]*coded, error) {
	c, err := codec.Lookup(spec)
	if err != nil {
		return nil, err
	}
	all := make([]*coded, len(lists))
	for i, l := range lists {
		all[i] = encode(c, l)
	}
	return all, nil
}

func decodeAll(lists []*coded) error {
	for _, l := range lists {
		if err := l.decode(); err != nil {
			return err
		}
	}
	return nil
}
