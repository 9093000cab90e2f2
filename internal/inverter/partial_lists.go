package inverter

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/segment"
)

type partialLists struct {
	r         *partial
	lists     stream
	positions stream
	plain     plainCursor // of the current field, if isPlain
	isPlain   bool
	field     int // current; -1 before the first Next
	terms     int // left in the field
	term      []byte
	docFreq   int
	unread    int   // postings of the list
	docBytes  int64 // unread bytes of the list
	posBytes  int64
	nextDoc   uint32 // one past the last DocID read
	err       error
}

func (r *partial) Lists() (segment.ListIterator, error) { return &partialLists{r: r, field: -1}, nil }

var _ segment.ListIterator = (*partialLists)(nil)

func (it *partialLists) Next() bool {
	if it.err != nil {
		return false
	}
	if it.err = it.skipList(); it.err != nil {
		return false
	}
	for it.terms == 0 {
		if it.field+1 >= len(it.r.fields) {
			return false
		}
		it.field++
		f := &it.r.fields[it.field]
		it.terms = f.numTerms
		if _, it.isPlain = it.r.plain.numTermsOf(it.Field()); it.isPlain {
			it.plain.open(it.r.plain, it.Field(), f.withPositions)
			continue
		}
		it.lists.open(&f.lists, it.r.streamBuf)
		it.positions.open(&f.positions, it.r.streamBuf)
		it.term = it.term[:0]
	}
	it.terms--
	if it.isPlain {
		it.plain.next()
		return true
	}
	it.err = it.readHeader()
	return it.err == nil
}

func (it *partialLists) skipList() error {
	if it.docBytes > 0 {
		if err := it.lists.skip(it.docBytes); err != nil {
			return err
		}
	}
	if it.posBytes > 0 {
		if err := it.positions.skip(it.posBytes); err != nil {
			return err
		}
	}
	it.docBytes, it.posBytes = 0, 0
	return nil
}

func (it *partialLists) readHeader() error {
	shared, err := it.lists.uvarint()
	if err != nil {
		return err
	}
	suffix, err := it.lists.uvarint()
	if err != nil {
		return err
	}
	if shared > uint64(len(it.term)) || suffix > math.MaxInt32 {
		return errPartial
	}
	b, err := it.lists.take(int(suffix))
	if err != nil {
		return err
	}
	it.term = append(it.term[:shared], b...)
	df, err := it.lists.uvarint()
	if err != nil {
		return err
	}
	size, err := it.lists.uvarint()
	if err != nil {
		return err
	}
	if df == 0 || df > uint64(it.r.numDocs) || size > math.MaxInt64 {
		return errPartial
	}
	it.docFreq, it.unread, it.docBytes, it.nextDoc = int(df), int(df), int64(size), 0
	if it.r.fields[it.field].withPositions {
		if size, err = it.positions.uvarint(); err != nil {
			return err
		}
		if size > math.MaxInt64 {
			return errPartial
		}
		it.posBytes = int64(size)
	}
	return nil
}

func (it *partialLists) Field() base.FieldID { return base.FieldID(it.field) }

func (it *partialLists) Term() []byte {
	if it.isPlain {
		return it.plain.term()
	}
	return it.term
}

func (it *partialLists) DocFreq() int {
	if it.isPlain {
		return it.plain.docFreq()
	}
	return it.docFreq
}

func (it *partialLists) Err() error {
	if it.err != nil {
		return fmt.Errorf("field %d: term %q: %w", it.field, it.Term(), it.err)
	}
	return nil
}

func (it *partialLists) Close() error { return nil }

// Bounds a block's postings.
const maxBlockBytes = codec.BlockLen * 2 * maxVarintBytes

func (it *partialLists) ReadBlock(b *segment.PostingBlock) error {
	b.N, b.Positions = 0, nil
	if it.isPlain {
		it.plain.readBlock(b)
		return nil
	}
	if it.unread == 0 || it.err != nil {
		return it.err
	}
	n := min(it.unread, codec.BlockLen)
	if it.err = it.readPostings(b, n); it.err != nil {
		return it.Err()
	}
	if it.r.fields[it.field].withPositions {
		if b.Positions, it.err = it.readPositions(b); it.err != nil {
			return it.Err()
		}
	}
	return nil
}

func (it *partialLists) readPostings(b *segment.PostingBlock, n int) error {
	if err := it.lists.fill(maxBlockBytes); err != nil {
		return err
	}
	src, next := it.lists.window, uint64(it.nextDoc)
	at := 0
	for i := range n {
		head, size := uvarint32(src[at:])
		if size <= 0 {
			return errPartial
		}
		at += size
		doc := next + uint64(head>>1)
		b.DocIDs[i], b.Freqs[i] = uint32(doc), 1
		next = doc + 1
		if head&1 == 0 {
			if b.Freqs[i], size = uvarint32(src[at:]); size <= 0 {
				return errPartial
			}
			at += size
		}
	}
	if int64(at) > it.docBytes || next > uint64(it.r.numDocs) {
		return errPartial
	}
	it.lists.window = src[at:]
	it.docBytes -= int64(at)
	it.unread -= n
	it.nextDoc = uint32(next)
	b.N = n
	return nil
}

// The positions of b's postings, valid until the next read.
func (it *partialLists) readPositions(b *segment.PostingBlock) ([]byte, error) {
	var count uint64
	for _, f := range b.Freqs[:b.N] {
		count += uint64(f)
	}
	at := 0
	for want := min(it.posBytes, int64(count)*maxVarintBytes); ; {
		if err := it.positions.fill(int(min(want, int64(at)+1<<12))); err != nil {
			return nil, err
		}
		for end := int(min(want, int64(len(it.positions.window)))); count > 0 && at < end; at++ {
			count -= uint64(^it.positions.window[at] >> 7) // a byte without the high bit ends a number
		}
		if count == 0 {
			break
		}
		if int64(at) >= want || it.positions.left == 0 {
			return nil, errPartial
		}
	}
	it.posBytes -= int64(at)
	return it.positions.take(at)
}

// binary.Uvarint for 32 bits, fast for one byte.
func uvarint32(src []byte) (v uint32, n int) {
	if len(src) > 0 && src[0] < 0x80 {
		return uint32(src[0]), 1
	}
	long, n := binary.Uvarint(src)
	if long > math.MaxUint32 {
		return 0, -1
	}
	return uint32(long), n
}
