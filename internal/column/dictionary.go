package column

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/griffin-search/griffin/internal/base"
)

// MaxTermLen is the most bytes of a byte string of ordinals.
const MaxTermLen = 32768

// dictBlock is the number of terms that share prefixes with the term before.
const dictBlock = 16

// dictionary is distinct byte strings in byte order.
type dictionary struct {
	data        Data
	numTerms    uint64
	terms, size uint64 // offset and size of the terms
	index       uint64 // offset of the blocks' offsets in terms, 8 bytes each
}

func (d *dictionary) numBlocks() uint64 { return (d.numTerms + dictBlock - 1) / dictBlock }

// block returns the checked bytes of a block.
func (d *dictionary) block(i uint64) ([]byte, error) {
	b, err := read(d.data, d.index+8*i, 8)
	if err != nil {
		return nil, err
	}
	offset := binary.LittleEndian.Uint64(b)
	if offset >= d.size {
		return nil, corrupt("dictionary: block %d at %d of %d bytes", i, offset, d.size)
	}
	end := d.size
	if i+1 < d.numBlocks() {
		if b, err = read(d.data, d.index+8*(i+1), 8); err != nil {
			return nil, err
		}
		if end = binary.LittleEndian.Uint64(b); end <= offset || end > d.size {
			return nil, corrupt("dictionary: block %d from %d to %d of %d bytes", i, offset, end, d.size)
		}
	}
	return read(d.data, d.terms+offset, end-offset)
}

// nextTerm reads the term after last, which it changes, and returns the rest of the block. The
// first of a block has no prefix.
func nextTerm(block, last []byte, first bool) (term, rest []byte, err error) {
	shared := uint64(0)
	if !first {
		if shared, block, err = uvarint(block); err != nil {
			return nil, nil, err
		}
	}
	size, block, err := uvarint(block)
	if err != nil {
		return nil, nil, err
	}
	if shared > uint64(len(last)) || size > uint64(len(block)) || shared+size > MaxTermLen {
		return nil, nil, corrupt("dictionary: term of %d and %d bytes", shared, size)
	}
	return append(last[:shared], block[:size]...), block[size:], nil
}

func uvarint(b []byte) (v uint64, rest []byte, err error) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, corrupt("number of %d bytes", len(b))
	}
	return v, b[n:], nil
}

func (d *dictionary) term(ord uint64) (term []byte, err error) {
	block, err := d.block(ord / dictBlock)
	for i := uint64(0); i <= ord%dictBlock && err == nil; i++ {
		term, block, err = nextTerm(block, term, i == 0)
	}
	return term, err
}

func (d *dictionary) lookup(term []byte) (ord uint64, found bool, err error) {
	low, high := uint64(0), d.numBlocks() // the first block that begins after term
	var first []byte
	for low < high {
		middle := (low + high) / 2
		block, err := d.block(middle)
		if err == nil {
			first, _, err = nextTerm(block, first[:0], true)
		}
		if err != nil {
			return 0, false, err
		}
		if bytes.Compare(first, term) > 0 {
			high = middle
		} else {
			low = middle + 1
		}
	}
	if low == 0 {
		return 0, false, nil
	}
	block, err := d.block(low - 1)
	if err != nil {
		return 0, false, err
	}
	var t []byte
	end := min(d.numTerms, low*dictBlock)
	for ord = (low - 1) * dictBlock; ord < end; ord++ {
		if t, block, err = nextTerm(block, t, ord%dictBlock == 0); err != nil {
			return 0, false, err
		}
		if c := bytes.Compare(t, term); c >= 0 {
			return ord, c == 0, nil
		}
	}
	return end, false, nil
}

// termIterator iterates over a dictionary.
type termIterator struct {
	d     *dictionary
	ord   uint64 // of the next term
	block []byte
	term  []byte
}

// next returns a term, valid until the next call; false at the end.
func (it *termIterator) next() (term []byte, ok bool, err error) {
	if it.ord == it.d.numTerms {
		if len(it.block) > 0 {
			err = corrupt("dictionary: %d bytes after the last term", len(it.block))
		}
		return nil, false, err
	}
	first := it.ord%dictBlock == 0
	if first {
		if len(it.block) > 0 {
			return nil, false, corrupt("dictionary: %d bytes after a block", len(it.block))
		}
		if it.block, err = it.d.block(it.ord / dictBlock); err != nil {
			return nil, false, err
		}
	}
	if it.term, it.block, err = nextTerm(it.block, it.term, first); err != nil {
		return nil, false, err
	}
	it.ord++
	return it.term, true, nil
}

// NumTerms counts the dictionary of a column of ordinals; 0 for numbers.
func (c *Column) NumTerms() int { return int(c.terms.numTerms) }

// Term returns the byte string of an ordinal, for the caller to keep.
func (c *Column) Term(ord int64) ([]byte, error) {
	if ord < 0 || ord >= int64(c.terms.numTerms) {
		return nil, c.fail(fmt.Errorf("ordinal %d of %d: %w", ord, c.terms.numTerms, base.ErrBadInput))
	}
	term, err := c.terms.term(uint64(ord))
	return term, c.fail(err)
}

// Lookup returns the ordinal of a byte string, or the one that it would have if it were not
// found.
func (c *Column) Lookup(term []byte) (ord int64, found bool, err error) {
	at, found, err := c.terms.lookup(term)
	return int64(at), found, c.fail(err)
}

// Terms iterates over the dictionary in order; a term is valid until the next. After an error it
// ends.
func (c *Column) Terms() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		it := termIterator{d: &c.terms}
		for {
			term, ok, err := it.next()
			if !ok && err == nil || !yield(term, c.fail(err)) || err != nil {
				return
			}
		}
	}
}

// dictionaryWriter holds half a byte a term in memory.
type dictionaryWriter struct {
	out   *output
	start uint64
	n     uint64
	last  []byte
	index []byte
	buf   []byte
}

func (w *dictionaryWriter) add(term []byte) error {
	if len(term) > MaxTermLen {
		return fmt.Errorf("value of %d bytes, more than %d: %w", len(term), MaxTermLen, base.ErrBadInput)
	}
	if w.n > 0 && bytes.Compare(term, w.last) <= 0 {
		return fmt.Errorf("term %q after %q: %w", term, w.last, base.ErrBadInput)
	}
	w.buf = w.buf[:0]
	shared := 0
	if w.n%dictBlock == 0 {
		w.index = binary.LittleEndian.AppendUint64(w.index, w.out.offset-w.start)
	} else {
		for shared < min(len(term), len(w.last)) && term[shared] == w.last[shared] {
			shared++
		}
		w.buf = binary.AppendUvarint(w.buf, uint64(shared))
	}
	w.buf = binary.AppendUvarint(w.buf, uint64(len(term)-shared))
	w.buf = append(w.buf, term[shared:]...)
	w.last = append(w.last[:0], term...)
	w.n++
	return w.out.write(w.buf)
}

func (w *dictionaryWriter) finish() (d dictionary, err error) {
	d = dictionary{numTerms: w.n, terms: w.start, size: w.out.offset - w.start}
	if err := w.out.align(8); err != nil {
		return d, err
	}
	d.index = w.out.offset
	return d, w.out.write(w.index)
}
